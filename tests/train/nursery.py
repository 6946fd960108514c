"""`python nursery.py FOLDER`: trains in processes that are killed, each forked from this one, which only waits.

Prints one JSON object: how each life of each run ended. What the runs left is in FOLDER.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
import torch._dynamo  # which each life would import again at its first update, for a second
from safetensors.torch import save_file
from toy_run import Draws, Log, Toy, plan

from regard.train import checkpoint
from regard.train.ends import Stopped
from regard.train.run import run
from regard.train.watch import MetricsFile, Place, Watchers

UPDATES, EVERY = 300, 10
STEPS = 24  # that saving takes on the disk, in two checkpoints or so
LIVES = 12
Act = Callable[[], object]


class Telling(Log):
    """Tells the parent of every update; at the so-many-th of its life, does something."""

    def __init__(self, pipe: int, at: int = -1, act: Act = lambda: None) -> None:
        super().__init__()
        self._pipe, self._at, self._act = pipe, at, act

    def updated(self, place: Place) -> None:
        super().updated(place)
        os.write(self._pipe, b".")
        if len(self.places) == self._at:
            self._act()


def train(folder: Path, watcher: Log) -> int:
    """One life, from wherever the last one came to."""
    torch.set_num_threads(1)
    model = Toy()

    def measure() -> Mapping[str, float]:
        return {"score": -float(model(torch.arange(11)).logsumexp(-1).sum())}

    watchers = Watchers([MetricsFile(folder / "metrics.jsonl"), watcher])
    its = plan(UPDATES, EVERY, patience=50)
    try:
        run(model, Draws(), its, folder, measure=measure, watcher=watchers, resume=True)
    except Stopped as stopped:
        return stopped.code
    save_file(dict(model.named_parameters()), folder / "shipped.safetensors")
    return 0


def live(life: Callable[[int], int], killer: Callable[[int, int], None] | None = None) -> int:
    """Forks one; the exit code, below 0 for a signal. The killer is given its pipe and number."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.close(reading)
            code = life(writing)
        finally:
            os._exit(code)
    os.close(writing)
    if killer is not None:
        killer(reading, child)
    while os.read(reading, 4096):  # to its end, that it never waits for a reader
        pass
    os.close(reading)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(updates: int, seconds: float, folder: Path) -> int:
    """Killed from outside, so long after so many updates; 14 updates into its life it waits for its end."""

    def kill(pipe: int, child: int) -> None:
        for _ in range(updates):
            os.read(pipe, 1)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)

    return live(lambda pipe: train(folder, Telling(pipe, 14, lambda: time.sleep(600))), kill)


def asked_at(updates: int, numbers: Sequence[int], folder: Path) -> int:
    """Sends itself these signals after so many updates of its life."""

    def ask() -> None:
        for number in numbers:
            os.kill(os.getpid(), number)

    return live(lambda pipe: train(folder, Telling(pipe, updates, ask)))


def killed_in_saving(step: int, folder: Path) -> int:
    """Killed before the so-many-th thing that saving does to the disk."""

    def life(pipe: int) -> int:
        count_down(step)
        return train(folder, Telling(pipe))

    return live(life)


def count_down(step: int) -> None:
    left = [step]

    def counted(act: Callable[..., object]) -> Callable[..., object]:
        def acts(*given: object, **named: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return act(*given, **named)

        return acts

    for place, name in (
        (checkpoint, "save_file"),
        (checkpoint, "_force"),
        (tempfile, "mkdtemp"),
        (shutil, "rmtree"),
        (Path, "rename"),
        (Path, "write_text"),
    ):
        setattr(place, name, counted(getattr(place, name)))


def main(folder: Path) -> None:
    draw = random.Random()
    checkpoint._force = lambda path: None  # only a power cut asks for more, and it takes most of the time

    def last(name: str) -> int:
        return live(lambda pipe: train(folder / name, Telling(pipe)))

    ends = {"whole": [last("whole")]}
    moments = [(draw.randint(1, 10), draw.random() * 0.02) for _ in range(LIVES)]
    ends["moments"] = [*(killed_at(*moment, folder / "moments") for moment in moments), last("moments")]
    ends["saving"] = [*(killed_in_saving(step, folder / "saving") for step in range(STEPS)), last("saving")]
    asked = [(5, [signal.SIGINT]), (20, [signal.SIGTERM]), (7, [signal.SIGTERM, signal.SIGTERM]), (8, [signal.SIGTERM])]
    ends["asked"] = [*(asked_at(*one, folder / "asked") for one in asked), last("asked")]
    print(json.dumps(ends))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
