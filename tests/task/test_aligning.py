"""Aligning gives a line for every row, and its error rate is what the counts say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.fault import Fault
from regard.task.aligning import aligned, judged
from regard.task.corpus import Table
from regard.task.translator import CHARACTERS, Translator

Known = Callable[[str], Translator]
ROWS = [
    "We live here.\tआम्ही इथे राहतो.",
    "no tab",
    "Go.\tजा.\tthe rest",
    "\t",
    "",
    "\u200b\tजा.",
    "Who are you?\tतू  कोण आहेस?",
    "a" * (CHARACTERS + 1) + "\tजा.",
]
GOOD = [0, 2, 6]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "pairs.tsv").write_bytes("\n".join(ROWS).encode() + b"\nbad \xff\tx\n")
    return tmp_path / "pairs.tsv"


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_a_line_for_every_row(name: str, table: Path, known: Known) -> None:
    told: list[str] = []
    lines = list(aligned(known(name), Table(str(table)), "pharaoh", told.append))
    assert len(lines) == len(ROWS) + 1
    assert [at for at, line in enumerate(lines) if line] <= GOOD
    for at in GOOD:
        source, target = (len(side.split()) for side in ROWS[at].split("\t")[:2])
        links = [tuple(map(int, link.split("-"))) for link in lines[at].split()]
        assert all(0 <= one < source and 0 <= other < target for one, other in links)
    assert told[0].startswith(f"{table}: 3 pairs read, 6 skipped: 1 not UTF-8 (first: {table}:9)")
    for reason in (f"1 without a tab (first: {table}:2)", f"3 with an empty side (first: {table}:4)", "1 too long"):
        assert reason in told[0]


def test_json_has_words_spans_and_links(table: Path, known: Known) -> None:
    model = known("bahdanau")
    lines = [json.loads(line) for line in aligned(model, Table(str(table)), "json", lambda _: None)]
    assert [at for at, line in enumerate(lines) if line is not None] == GOOD
    for at in GOOD:
        source, target = ROWS[at].split("\t")[:2]
        found = model.given(source, target)
        assert [word["text"] for word in lines[at]["source"]["words"]] == source.split()
        assert [word["text"] for word in lines[at]["target"]["words"]] == target.split()
        links = [(link["source"], link["target"]) for link in lines[at]["links"]]
        assert links == [(link.source, link.target) for link in found.alignment]


def test_the_error_rate_is_that_of_the_counts(tmp_path: Path, known: Known) -> None:
    """Gold links made from what was found: the first half right, one possible, one missing, one line of nothing."""
    model = known("bahdanau")
    (tmp_path / "pairs.tsv").write_text(
        "We live here.\tआम्ही इथे राहतो.\nWho are you?\tतू कोण आहेस?\nbad\n", encoding="utf-8"
    )
    table = Table(str(tmp_path / "pairs.tsv"))
    one, other, empty = aligned(model, table, "pharaoh", lambda _: None)
    assert empty == ""
    found = [[tuple(map(int, link.split("-"))) for link in line.split()] for line in (one, other)]
    count = len(found[0]) + len(found[1])
    assert count
    right = " ".join(f"{a + 1}-{b + 1}" for a, b in found[0])
    possible = " ".join(f"{a + 1}p{b + 1}" for a, b in found[1])
    gold = tmp_path / "gold.txt"

    def told(text: str) -> list[str]:
        gold.write_text(text, encoding="utf-8")
        return list(judged(model, table, gold, lambda _: None))

    sure = len(found[0])
    assert told(f"{right}\n{possible}\n\n") == [
        "AER          0.0%    of 3 pairs",
        "precision  100.0%",
        "recall     100.0%",
    ]
    aer = 1 - (sure + sure) / (count + sure + 3)
    assert told(f"{right} 90-90\n91-91\n1-1\n") == [
        f"AER        {aer:6.1%}    of 3 pairs",
        f"precision  {sure / count:6.1%}",
        f"recall     {sure / (sure + 3):6.1%}",
    ]
    with pytest.raises(Fault, match=r"gold\.txt has 1 lines and .* has 3"):
        told("1-1\n")
    with pytest.raises(Fault, match=r"gold\.txt, line 2: '0-0' counts from 0"):
        told("1-1\n0-0\n\n")


def test_a_model_without_attention_cannot_align(table: Path, known: Known) -> None:
    with pytest.raises(Fault, match="has no attention"):
        list(aligned(known("blind"), Table(str(table)), "pharaoh", lambda _: None))


def test_two_files_and_many_rows(tmp_path: Path, known: Known) -> None:
    (tmp_path / "a.txt").write_text("Go.\n" * 300, encoding="utf-8")
    (tmp_path / "b.txt").write_text("जा.\n\n" * 150, encoding="utf-8")
    lines = list(
        aligned(known("bahdanau"), Table(str(tmp_path / "a.txt"), str(tmp_path / "b.txt")), "json", lambda _: None)
    )
    assert [line == "null" for line in lines] == [False, True] * 150
