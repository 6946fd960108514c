"""Killed at any moment, even within a save, and resumed: to the bit what it would have been."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import nursery
import pytest
from safetensors.torch import load_file
from toy_run import same

from regard.train.checkpoint import read

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
RUNS = ["moments", "saving", "asked"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[int]]]:
    folder = tmp_path_factory.mktemp("runs")
    done = subprocess.run(
        [sys.executable, nursery.__file__, folder], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_they_were_killed(runs: tuple[Path, dict[str, list[int]]]) -> None:
    """And in the end came to their end."""
    _, ends = runs
    assert ends["whole"] == [0]
    assert ends["moments"] == [-signal.SIGKILL] * nursery.LIVES + [0]
    assert ends["saving"] == [-signal.SIGKILL] * nursery.STEPS + [0]
    stopped = [128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGTERM, 128 + signal.SIGTERM]
    assert ends["asked"] == [*stopped, 0]  # the third was asked twice


@pytest.mark.parametrize("name", RUNS)
def test_the_weights_are_the_same(name: str, runs: tuple[Path, dict[str, list[int]]]) -> None:
    folder, _ = runs
    assert same(load_file(folder / name / "shipped.safetensors"), load_file(folder / "whole" / "shipped.safetensors"))
    last = f"checkpoints/{nursery.UPDATES:08d}"
    found, wanted = read(folder / name / last), read(folder / "whole" / last)
    assert same(found.tensors, wanted.tensors)
    for key in ("updates", "why", "feed", "best", "meter", "random"):
        assert found.state[key] == wanted.state[key]


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_left_behind(name: str, runs: tuple[Path, dict[str, list[int]]]) -> None:
    folder, _ = runs
    left, wanted = ({path.name for path in (folder / one / "checkpoints").iterdir()} for one in (name, "whole"))
    assert left == wanted


@pytest.mark.parametrize("name", RUNS)
def test_each_measurement_is_written_once(name: str, runs: tuple[Path, dict[str, list[int]]]) -> None:
    folder, _ = runs
    assert measured(folder / name) == measured(folder / "whole")
    assert len(measured(folder / "whole")) == nursery.UPDATES // nursery.EVERY


def measured(folder: Path) -> list[tuple[Any, ...]]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(row["update"], row["dev"], row["best"]) for row in rows if "dev" in row]
