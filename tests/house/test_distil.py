"""The tool that made what the shipped bundle learned from: a table, and what models make of it, as one table."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def distil(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "distil.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_own_pairs_stand_twice_and_new_ones_once(learned: Callable[[str], Path], tmp_path: Path) -> None:
    rows = (ROOT / "examples" / "dev.tsv").read_text(encoding="utf-8").splitlines()[:12]
    pairs = ["\t".join(row.split("\t")[:2]) for row in rows]
    table, out = tmp_path / "table.tsv", tmp_path / "more.tsv"
    table.write_text("\n".join(pairs) + "\n", encoding="utf-8")
    model = learned("bahdanau")
    done = distil(table, "--forward", model, model, "--out", out)
    assert done.returncode == 0, done.stderr
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[:12] == lines[12:24] == pairs
    new = lines[24:]
    assert new
    assert len(set(new)) == len(new)
    assert set(new).isdisjoint(pairs)
    assert {line.split("\t")[0] for line in new} <= {pair.split("\t")[0] for pair in pairs}


def test_models_of_different_vocabularies_do_not_vote(learned: Callable[[str], Path], tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("We live here.\tआम्ही इथे राहतो.\n", encoding="utf-8")
    done = distil(table, "--forward", learned("bahdanau"), learned("words"), "--out", tmp_path / "more.tsv")
    assert done.returncode == 1
    assert "same vocabularies" in done.stderr
    assert not (tmp_path / "more.tsv").exists()


def test_further_sentences_are_drawn_and_made_up_names_go_over_as_they_are(
    learned: Callable[[str], Path], tmp_path: Path
) -> None:
    table, beside, out = tmp_path / "table.tsv", tmp_path / "beside.tsv", tmp_path / "most.tsv"
    table.write_text("Tom lives here.\tटॉम इथे राहतो.\nTom knows Tom.\tटॉम टॉमला ओळखतो.\n", encoding="utf-8")
    beside.write_text("Hello.\tनमस्कार.\n", encoding="utf-8")
    model = learned("bahdanau")  # of the other direction, so that what it draws is new
    words = ("--backward", model, "--draws", "2", "--beside", beside, "--names", "Tom=टॉम", "--own", "3")
    done = distil(table, "--forward", model, *words, "--out", out)
    assert done.returncode == 0, done.stderr
    pairs = [tuple(line.split("\t")) for line in out.read_text(encoding="utf-8").splitlines()]
    assert pairs.count(("Tom lives here.", "टॉम इथे राहतो.")) == 3
    assert pairs.count(("Hello.", "नमस्कार.")) == 1
    named = [(source, target) for source, target in pairs if target.endswith(" इथे राहतो.") and "टॉम" not in target]
    assert len(named) == 3
    assert all(source.split()[0] == target.split()[0] for source, target in named)
    assert not any("टॉम" not in target and target.endswith("ओळखतो.") for _, target in pairs)  # which Tom is whose?
