"""Watchers: what a run tells while it goes on. They change nothing, and a run goes the same without them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO, final, runtime_checkable

from regard.fault import Fault


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is. `progress` is the share of the budget that is spent; `left` the seconds to its end."""

    update: int
    epoch: float
    progress: float
    seconds: float
    left: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Report:
    """Means over the updates since the report before."""

    place: Place
    losses: Mapping[str, float]
    rate: float
    norm: float
    tokens_per_second: float
    skipped: int  # updates whose gradients were no numbers


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """Scores of the dev part, empty where there is none: then this is a checkpoint alone."""

    place: Place
    scores: Mapping[str, float]
    best: bool
    report: Report | None  # the last one


@runtime_checkable
class Watcher(Protocol):
    """Called in the order of the run. `updated` is called after each update: it must cost nothing."""

    def began(self, place: Place) -> None: ...
    def updated(self, place: Place) -> None: ...
    def reported(self, report: Report) -> None: ...
    def measured(self, measured: Measured) -> None: ...
    def told(self, line: str) -> None: ...
    def ended(self, why: str) -> None: ...


@final
class Watchers:
    """Several as one."""

    def __init__(self, each: Sequence[Watcher]) -> None:
        self._each = each

    def began(self, place: Place) -> None:
        for watcher in self._each:
            watcher.began(place)

    def updated(self, place: Place) -> None:
        for watcher in self._each:
            watcher.updated(place)

    def reported(self, report: Report) -> None:
        for watcher in self._each:
            watcher.reported(report)

    def measured(self, measured: Measured) -> None:
        for watcher in self._each:
            watcher.measured(measured)

    def told(self, line: str) -> None:
        for watcher in self._each:
            watcher.told(line)

    def ended(self, why: str) -> None:
        """Each is told, even if another one fails."""
        with ExitStack() as stack:
            for watcher in reversed(self._each):
                stack.callback(watcher.ended, why)


@final
class MetricsFile:
    """One JSON object a line: a report, or the scores of a checkpoint under `dev`.

    A run that goes on from a checkpoint first takes away what was written after it, and a line half written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def began(self, place: Place) -> None:
        with _writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab+") as file:
                file.seek(0)
                file.truncate(_good(file.readlines(), place.update))
            self._file = self._path.open("a", encoding="utf-8")

    def updated(self, place: Place) -> None:
        pass

    def reported(self, report: Report) -> None:
        counts = {"rate": report.rate, "norm": report.norm, "skipped": report.skipped}
        speed = {"tokens_per_second": report.tokens_per_second}
        self._write(_of(report.place) | dict(report.losses) | counts | speed)

    def measured(self, measured: Measured) -> None:
        if measured.scores:
            self._write(_of(measured.place) | {"dev": dict(measured.scores), "best": measured.best})

    def told(self, line: str) -> None:
        pass

    def ended(self, why: str) -> None:
        file, self._file = self._file, None
        if file is not None:
            with _writing(self._path):  # what could not be written is tried once more
                file.close()

    def _write(self, row: dict[str, Any]) -> None:
        """Handed to the system at once: what was written stays even if the process is killed right after."""
        if self._file is None:
            return
        with _writing(self._path):
            self._file.write(json.dumps(_finite(row), allow_nan=False) + "\n")
            self._file.flush()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Fault(f"{path}: cannot be written: {error.strerror or error}") from error


def _of(place: Place) -> dict[str, Any]:
    return {
        "update": place.update,
        "epoch": round(place.epoch, 4),
        "progress": place.progress,
        "seconds": round(place.seconds, 3),
    }


def _finite(value: Any) -> Any:
    """JSON has no NaN: null stands for it."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _good(lines: Sequence[bytes], update: int) -> int:
    """How many bytes of it were written up to that update."""
    size = 0
    for line in lines:
        try:
            if not line.endswith(b"\n") or json.loads(line)["update"] > update:
                break
        except (ValueError, KeyError, TypeError):
            break
        size += len(line)
    return size


def installed() -> bool:
    """Is TensorBoard there?"""
    from importlib.util import find_spec

    return find_spec("tensorboard") is not None


@final
class TensorBoard:
    """Scalars for TensorBoard, where it is installed; else nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def began(self, place: Place) -> None:
        if not installed():
            return
        from torch.utils.tensorboard import SummaryWriter

        with _writing(self._folder):
            self._writer = SummaryWriter(os.fspath(self._folder), purge_step=place.update + 1)

    def updated(self, place: Place) -> None:
        pass

    def reported(self, report: Report) -> None:
        values = {f"train/{name}": value for name, value in report.losses.items()}
        values |= {"train/rate": report.rate, "train/norm": report.norm}
        self._add(values | {"train/tokens_per_second": report.tokens_per_second}, report.place)

    def measured(self, measured: Measured) -> None:
        self._add({f"dev/{name}": value for name, value in measured.scores.items()}, measured.place)

    def told(self, line: str) -> None:
        pass

    def ended(self, why: str) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with _writing(self._folder):
                writer.close()

    def _add(self, values: Mapping[str, float], place: Place) -> None:
        if self._writer is not None:
            with _writing(self._folder):
                for name, value in values.items():
                    self._writer.add_scalar(name, value, place.update)
