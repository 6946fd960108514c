"""`make reproduce` as it stands, on eighteen pairs and for two updates: its steps fit together, and it goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = "--set train.epochs=0 --set train.updates=2 --set model.width=40"


def make(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", "-o", "setup", "reproduce", f"BIN={Path(sys.executable).parent}"]
    outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}  # these tests are themselves run by make
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(
        [*command, *map(str, words)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_steps_of_reproduction_fit_together(tmp_path: Path) -> None:
    data, runs = tmp_path / "data", tmp_path / "runs"
    data.mkdir()
    rows = (ROOT / "examples" / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    named = [row for row in rows if row.startswith("Tom ") and "टॉम" in row]
    assert len(named) >= 6
    for name, some in (("train", [*rows[:12], *named[:6]]), ("dev", rows[12:15])):
        (data / f"{name}.tsv").write_text("".join(f"{row}\n" for row in some), encoding="utf-8")
    done = make(f"DATA={data}", f"R={runs}", f"SET={SMALL}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["sentences"] == len({row.split("\t")[0] for row in rows[12:15]})
    assert (runs / "bundle" / "regard.json").is_file()
    most = (runs / "most.tsv").read_text(encoding="utf-8").splitlines()
    assert len(most) > len((runs / "more.tsv").read_text(encoding="utf-8").splitlines())
    (runs / "bundle.done").unlink()
    again = make(f"DATA={data}", f"R={runs}", f"SET={SMALL}")  # the last step alone is done again
    assert again.returncode == 0, again.stderr
    assert "distil" not in again.stdout


def test_reproduction_asks_for_its_data(tmp_path: Path) -> None:
    done = make(f"DATA={tmp_path / 'nowhere'}", f"R={tmp_path / 'runs'}")
    assert done.returncode == 2
    assert "say where the data is" in done.stderr
    assert not (tmp_path / "runs").exists()
