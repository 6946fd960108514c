"""The machine of a measurement, and its clock. A GPU works behind its caller's back: it is waited for on both sides."""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def seconds(call: Callable[[], object], times: int) -> float:
    """What one call takes, of so many in a row."""
    wait()
    began = time.perf_counter()
    for _ in range(times):
        call()
    wait()
    return (time.perf_counter() - began) / times


def alternating(calls: dict[str, Callable[[], object]], rounds: int, budget: float) -> dict[str, list[float]]:
    """Seconds a call takes, round after round, each in its turn; about `budget` seconds of each in every round."""
    times = {}
    for name, call in calls.items():
        seconds(call, 5)  # what is recorded is recorded after a few
        times[name] = max(2, min(200, round(budget / max(seconds(call, 2), 1e-6))))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(seconds(call, times[name]))
    return found


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def machine() -> str:
    """Named with every version that a figure may depend on, and the day."""
    name = torch.cuda.get_device_name() if DEVICE.type == "cuda" else platform.processor() or platform.machine()
    try:
        triton = f", triton {version('triton')}"
    except PackageNotFoundError:
        triton = ""
    python = ".".join(map(str, sys.version_info[:3]))
    date = datetime.now(UTC).date().isoformat()
    return f"{name}, torch {torch.__version__}{triton}, python {python}, {date}"


def peak(call: Callable[[], object]) -> float:
    """MiB that a call takes beside what was there."""
    if DEVICE.type != "cuda":
        return 0.0
    wait()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    wait()
    return (torch.cuda.max_memory_allocated() - before) / 2**20
