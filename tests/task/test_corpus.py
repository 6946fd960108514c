"""A corpus is the same each time, and nothing of a table goes in silence."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from regard.config import Data, Vocabulary
from regard.fault import Fault
from regard.source.hold import plain
from regard.task.corpus import PAIRS, PREPARED, SOURCE, STORE, TARGET, Asked, Corpus, Table, prepare, references

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = Data(Vocabulary(size=200), Vocabulary(size=200))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = (EXAMPLES / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "pairs.tsv").write_text("".join(lines[:300]), encoding="utf-8")
    return tmp_path / "pairs.tsv"


def asked(source: Path | str, target: Path | str | None = None, **more: Any) -> Asked:
    with_defaults: dict[str, Any] = {"dev": None, "data": SMALL, "held": 30, "seed": 1} | more
    return Asked(Table(str(source), None if target is None else str(target)), **with_defaults)


def made(wish: Asked, folder: Path, resume: bool = False) -> tuple[Corpus, list[str]]:
    folder.mkdir(parents=True, exist_ok=True)
    told: list[str] = []
    return prepare(wish, folder, resume, told.append), told


def ids(corpus: Corpus) -> list[list[int]]:
    every = np.arange(len(corpus.train))
    return [each.tolist() for side in (corpus.train.sources(every), corpus.train.targets(every)) for each in side]


def texts(corpus: Corpus) -> list[tuple[str, str]]:
    """The pairs to learn from, decoded."""
    every = np.arange(len(corpus.train))
    sides: list[list[str]] = []
    for vocabulary, (flat, lengths) in (
        (corpus.source, corpus.train.sources(every)),
        (corpus.target, corpus.train.targets(every)),
    ):
        rows = np.split(flat, np.cumsum(lengths)[:-1])
        sides.append([vocabulary.decode(row.tolist()) for row in rows])
    return list(zip(*sides, strict=True))


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content))))


def test_the_same_table_gives_the_same_corpus_twice(table: Path, tmp_path: Path) -> None:
    one, _ = made(asked(table), tmp_path / "a")
    other, _ = made(asked(table), tmp_path / "b")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted([STORE, PREPARED, SOURCE, TARGET])
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert one.dev == other.dev
    assert ids(one) == ids(other)
    assert one.about == other.about
    another, _ = made(asked(table, seed=2), tmp_path / "c")
    assert another.dev != one.dev


def test_what_is_held_out_was_not_learned(table: Path, tmp_path: Path) -> None:
    corpus, told = made(asked(table), tmp_path / "data")
    learned = texts(corpus)
    for side in (0, 1):
        held = {plain(text) for each in corpus.dev for text in ([each.source], each.targets)[side]}
        assert len(held) > 5
        assert held.isdisjoint(plain(pair[side]) for pair in learned)
    assert sum(len(each.targets) for each in corpus.dev) + len(learned) == 300
    assert corpus.about["dev_pairs"] == sum(len(each.targets) for each in corpus.dev)
    assert any("held out" in line for line in told)


def test_with_a_dev_table_nothing_is_held_out(table: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text("Go.\tजा.\nGo.\tचल.\nWho?\tकोण?\n", encoding="utf-8")
    corpus, _ = made(asked(table, dev=Table(str(dev))), tmp_path / "data")
    assert [(each.source, each.targets) for each in corpus.dev] == [("Go.", ("जा.", "चल.")), ("Who?", ("कोण?",))]
    assert len(corpus.train) == 300
    assert corpus.about["files"] == [str(table), str(dev)]


def test_a_resumed_run_has_what_it_began_with(table: Path, tmp_path: Path) -> None:
    before, _ = made(asked(table), tmp_path / "data")
    bytes_before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    after, told = made(asked(table), tmp_path / "data", resume=True)
    assert told == []  # nothing was read again
    assert ids(after) == ids(before)
    assert (after.dev, after.about, after.fingerprint) == (before.dev, before.about, before.fingerprint)
    (tmp_path / "data" / STORE).unlink()  # what was lost is made again, and is the same
    again, _ = made(asked(table), tmp_path / "data", resume=True)
    assert ids(again) == ids(before)
    assert {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()} == bytes_before


@pytest.mark.parametrize(
    "change",
    [{"seed": 2}, {"held": 20}, {"data": Data(Vocabulary(size=201), Vocabulary(size=200))}, {"strict": True}],
)
def test_a_resumed_run_finds_what_has_changed(change: dict[str, Any], table: Path, tmp_path: Path) -> None:
    made(asked(table), tmp_path / "data")
    with pytest.raises(Fault, match="have changed since"):
        made(asked(table, **change), tmp_path / "data", resume=True)


def test_a_resumed_run_finds_changed_data(table: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text("Go.\tजा.\n", encoding="utf-8")
    wish = asked(table, dev=Table(str(dev)))
    made(wish, tmp_path / "data")
    dev.write_text("Go.\tचल.\n", encoding="utf-8")
    with pytest.raises(Fault, match=r"pairs\.tsv: the data"):
        made(wish, tmp_path / "data", resume=True)
    dev.write_text("Go.\tजा.\n", encoding="utf-8")
    table.write_text(table.read_text(encoding="utf-8").replace("a", "e", 1), encoding="utf-8")
    with pytest.raises(Fault, match=r"pairs\.tsv: the data"):
        made(wish, tmp_path / "data", resume=True)


def test_a_half_made_corpus_is_made_anew(table: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / PREPARED).write_text('{"identity": 3}', encoding="utf-8")
    (tmp_path / "data" / PAIRS).write_text("half a li", encoding="utf-8")
    corpus, _ = made(asked(table), tmp_path / "data", resume=True)
    assert len(corpus.train) > 200


def test_standard_input_is_read_once_and_gives_the_same(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_file, _ = made(asked(table), tmp_path / "file")
    stdin(monkeypatch, table.read_bytes())
    from_stdin, told = made(asked("-"), tmp_path / "stdin")
    assert ids(from_stdin) == ids(from_file)
    assert from_stdin.fingerprint == from_file.fingerprint
    assert [(each.source, each.targets) for each in from_stdin.dev] == [
        (each.source, each.targets) for each in from_file.dev
    ]
    assert told[0].startswith("stdin: 300 pairs read")
    stdin(monkeypatch, b"")  # gone, and not needed any more
    assert ids(made(asked("-"), tmp_path / "stdin", resume=True)[0]) == ids(from_file)


def test_two_files_are_one_table(table: Path, tmp_path: Path) -> None:
    rows = [line.split("\t")[:2] for line in table.read_text(encoding="utf-8").splitlines()]
    for name, side in (("a.txt", 0), ("b.txt", 1)):
        (tmp_path / name).write_text("".join(row[side] + "\n" for row in rows), encoding="utf-8")
    one, _ = made(asked(table), tmp_path / "one")
    two, told = made(asked(tmp_path / "a.txt", tmp_path / "b.txt"), tmp_path / "two")
    assert ids(one) == ids(two)
    assert one.fingerprint == two.fingerprint
    assert told[0].startswith(f"{tmp_path / 'a.txt'} + {tmp_path / 'b.txt'}: 300 pairs read")
    (tmp_path / "b.txt").write_text("एक\n", encoding="utf-8")
    with pytest.raises(Fault, match="line n of one"):
        made(asked(tmp_path / "a.txt", tmp_path / "b.txt"), tmp_path / "short")


FAULTY: Sequence[tuple[bytes, str]] = [
    (b"no tab here\n", "1 without a tab (first: {}:301)"),
    (b"\xff\xfe\tx\n", "1 not UTF-8 (first: {}:302)"),
    (b"one side\t \n", "with an empty side (first: {}:303)"),
    (b"a\0b\tc\n", "1 with a NUL character (first: {}:304)"),
    (
        "New?\tएक दोन तीन चार पाच सहा सात आठ नऊ दहा अकरा बारा\n".encode() * 1,
        "1 with sides of too different lengths (first: {}:305)",
    ),
    ("Twice\tदोनदा\nTwice\tदोनदा\n".encode(), "repeated (first: {}:307)"),
    ("\u200b\u200b\tकाही\n".encode(), "2 with an empty side"),  # only cleaning tells
]


def test_faulty_lines_are_counted_with_their_places(table: Path, tmp_path: Path) -> None:
    with table.open("ab") as file:
        file.write(b"".join(line for line, _ in FAULTY))
        file.write("bell\a\tघंटा\n".encode())
    corpus, told = made(asked(table), tmp_path / "data")
    for _, reason in FAULTY:
        assert reason.format(table) in told[0]
    assert told[0].startswith(f"{table}: 302 pairs read, 7 skipped")
    assert f"repaired: 1 with control characters (first: {table}:309)" in told
    assert len(corpus.train) + corpus.about["dev_pairs"] == 302
    report = corpus.about["report"]
    assert (report["pairs"], report["skipped"]) == (302, 7)
    assert report["faults"]["nul"] == {"count": 1, "first": f"{table}:304", "kept": False}
    with pytest.raises(Fault, match=r"pairs\.tsv:301: without a tab"):
        made(asked(table, strict=True), tmp_path / "strict")


def test_pairs_of_too_many_tokens_are_told_of(table: Path, tmp_path: Path) -> None:
    short = Data(Vocabulary(size=200), Vocabulary(size=200), longest=8)
    corpus, told = made(asked(table, data=short), tmp_path / "data")
    (line,) = (line for line in told if "over 8 tokens" in line)
    skipped = int(line.split()[0])
    assert skipped > 0
    assert len(corpus.train) + corpus.about["dev_pairs"] + skipped == 300
    assert max(map(int, corpus.train.lengths[0])) <= 8


def test_the_fingerprint_is_of_the_clean_text(table: Path, tmp_path: Path) -> None:
    before, _ = made(asked(table), tmp_path / "before")
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace(" ", "  "), encoding="utf-8")
    assert made(asked(table), tmp_path / "spaces")[0].fingerprint == before.fingerprint
    table.write_text(text.replace("ण", "न", 1), encoding="utf-8")
    assert made(asked(table), tmp_path / "letter")[0].fingerprint != before.fingerprint


def test_a_shared_vocabulary_is_one(table: Path, tmp_path: Path) -> None:
    both = Data(Vocabulary(size=300), Vocabulary(size=300), shared_vocabulary=True)
    corpus, _ = made(asked(table, data=both), tmp_path / "data")
    assert corpus.source is corpus.target
    assert corpus.source.decode(corpus.source.encode("Who? कोण?").ids) == "Who? कोण?"
    assert made(asked(table, data=both), tmp_path / "data", resume=True)[0].source is not None


@pytest.mark.parametrize("name", ["a\tb\n.tsv", "\udcff.tsv", "कोण.tsv"])
def test_any_name_of_a_file_does(name: str, table: Path, tmp_path: Path) -> None:
    path = table.rename(tmp_path / name)
    corpus, _ = made(asked(path), tmp_path / "data")
    assert corpus.dev[0].place.startswith(str(path))
    assert made(asked(path), tmp_path / "data", resume=True)[0].dev == corpus.dev


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").touch()
    (tmp_path / "bad.tsv").write_text("no tab\n" * 3, encoding="utf-8")
    for name, told in (
        ("gone.tsv", "no such file"),
        (".", "is a folder"),
        ("empty.tsv", "no pairs"),
        ("bad.tsv", "no pairs"),
    ):
        with pytest.raises(Fault, match=told):
            made(asked(tmp_path / name), tmp_path / "data")


def test_references_keep_every_translation(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text(
        "Go.\tजा.\nbad\nGo.\tचल.\nGo.\tजा.\n" + "a\t" + "अ" * 500 + "\n", encoding="utf-8"
    )
    told: list[str] = []
    found = references(Table(str(tmp_path / "dev.tsv")), told.append)
    assert [(each.source, len(each.targets)) for each in found] == [("Go.", 2), ("a", 1)]
    assert "1 without a tab" in told[0]
    with pytest.raises(Fault, match=r"dev\.tsv:2: without a tab"):
        references(Table(str(tmp_path / "dev.tsv")), told.append, strict=True)
    assert json.loads(json.dumps([each.place for each in found])) == [f"{tmp_path}/dev.tsv:1", f"{tmp_path}/dev.tsv:5"]
