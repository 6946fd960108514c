"""Every kernel compiles for the GPU it is meant for, whether there is one or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

KERNELS = {"_affine", "_spread", "_uncurve", "advance", "retreat", "_read", "_unread", "_keys"}
SHARED = 227 * 1024  # bytes of a multiprocessor that a launch can have


@pytest.mark.slow
def test_every_kernel_compiles_and_fits() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    script = Path(__file__).with_name("ahead_of_time.py")
    ended = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert {name for name, _, _ in lines} == KERNELS
    assert all(int(shared) <= SHARED and int(size) > 0 for _, shared, size in lines)
