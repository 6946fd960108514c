"""The measurements for a GPU run to their end on a processor, small, and print their tables."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

ROOT = Path(__file__).parents[2]
PAIRS = ROOT / "examples" / "pairs.tsv"


def ran(script: str, *words: str) -> str:
    call = [sys.executable, str(ROOT / "benchmarks" / "gpu" / script), "--smoke", *words]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "1"}
    ended = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


@pytest.mark.slow
def test_train_prints_speeds_parts_and_gradients() -> None:
    found = ran("train.py")
    for row in ("Regard, as it trains: kernels, replayed", "| 3 | decoder |", "attention.score.query.bias"):
        assert row in found


@pytest.mark.slow
def test_real_prints_what_a_table_costs() -> None:
    assert "| padding, of the symbols of both sides |" in ran("real.py", "--data", str(PAIRS), "--tokens", "300")


@pytest.mark.slow
def test_quality_prints_a_score(tmp_path: Path) -> None:
    pairs = [line.split("\t")[:2] for line in PAIRS.read_text(encoding="utf-8").splitlines()[:300]]
    for part in ("train", "val", "test_2016_flickr"):
        for at, side in enumerate(("de", "en")):
            text = "\n".join(pair[at] for pair in pairs[: 300 if part == "train" else 30])
            (tmp_path / f"{part}.{side}.gz").write_bytes(gzip.compress(text.encode()))
    found = ran("quality.py", "--data", str(tmp_path), "--also", "train.rate=0.001")
    for row in ("| as it is | 1 | ", "| train.rate=0.001 | 1 | ", "Median BLEU of 1, as it is: "):
        assert row in found
