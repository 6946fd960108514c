"""The sample that README trains on is whole, split fairly, and says whose it is."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def rows(name: str) -> list[list[str]]:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.removesuffix("\n").split("\n")]


def plain(sentence: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[\w']+", sentence.lower()))


def test_sizes() -> None:
    assert 1900 <= len(rows("pairs.tsv")) <= 2100
    assert 190 <= len(rows("dev.tsv")) <= 220


def test_no_sentence_stands_on_both_sides() -> None:
    assert {plain(row[0]) for row in rows("pairs.tsv")}.isdisjoint(plain(row[0]) for row in rows("dev.tsv"))


def test_every_line_names_its_authors() -> None:
    for name in ("pairs.tsv", "dev.tsv"):
        for source, target, attribution in rows(name):
            assert source.strip()
            assert target.strip()
            assert re.fullmatch(
                r"CC-BY 2\.0 \(France\) Attribution: tatoeba\.org #\d+ \(.+\) & #\d+ \(.+\)", attribution
            )
    said = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for word in ("CC BY 2.0 FR", "tatoeba.org", "manythings.org"):
        assert word in said


def test_the_sample_is_a_function_of_table_and_seed(tmp_path: Path) -> None:
    """Made twice from the sample itself: the same; with another seed, another."""
    made = []
    for seed in ("3", "3", "4"):
        command = [
            sys.executable,
            str(ROOT / "tools" / "sample.py"),
            str(EXAMPLES / "pairs.tsv"),
            "--out",
            str(tmp_path),
        ]
        numbers = ["--seed", seed, "--pairs", "100", "--dev", "20", "--common", "100"]
        subprocess.run([*command, *numbers], check=True, capture_output=True)
        made.append([(tmp_path / name).read_text(encoding="utf-8") for name in ("pairs.tsv", "dev.tsv")])
    assert made[0] == made[1]
    assert made[0] != made[2]
    pairs, dev = ({plain(line.partition("\t")[0]) for line in part.splitlines()} for part in made[0])
    assert pairs.isdisjoint(dev)
    known = (EXAMPLES / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    assert set(made[0][0].splitlines()) <= set(known)
