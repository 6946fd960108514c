"""Quick: a bundle's graphs in ONNX Runtime, as an engine; torch is not needed. Batches run in threads side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from regard.engine.name import ENCODE, NOTE, STEP
from regard.engine.runtime import Reader, loaded
from regard.engine.steps import Steps, Walk
from regard.fault import Fault
from regard.source.pad import BOS, EOS, padded
from regard.task.bundle import WEIGHTS, Opened
from regard.task.engine import Ids
from regard.task.reading import batches, named
from regard.trace.core import Reading


@final
class Quick:
    cells: Final = 1200

    def __init__(self, made: Opened) -> None:
        try:
            kept = load(made.part(WEIGHTS))
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise Fault(f"{made.where}/{WEIGHTS}: is damaged ({reason})") from None
        self.threads: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.runtime: Final = loaded(made.part(NOTE), [made.part(name) for name in (ENCODE, STEP)], kept, made.where)

    def begin(
        self, sources: Sequence[Ids], limits: Sequence[int], coverage: float
    ) -> tuple[Steps, Walk, NDArray[np.int64]]:
        steps = Steps(self.runtime, coverage=coverage)
        return steps, steps.start([[*ids, EOS] for ids in sources]), np.array(limits, dtype=np.int64)

    def read(self, rows: Sequence[tuple[Ids, Ids]]) -> list[tuple[Reading, ...]]:
        """Step by step, as they were written."""
        found: list[tuple[Reading, ...]] = [()] * len(rows)
        steps = Steps(self.runtime, record=True)
        for some in batches(rows):
            sources = [[*rows[at][0], EOS] for at in some]
            targets = [[BOS, *rows[at][1]] for at in some]
            walk = steps.start(sources)
            seen = [(reader, walk.seen[reader.output].numpy()) for reader in self.runtime.encode.readers]
            parts: list[list[NDArray[Any]]] = [[] for _ in self.runtime.step.readers]
            for tokens in padded(targets)[0].T:
                _, walk = steps.step(tokens, walk)
                for part, reader in zip(parts, self.runtime.step.readers, strict=True):
                    part.append(walk.seen[reader.output].numpy())
            seen += [(reader, _whole(part)) for reader, part in zip(self.runtime.step.readers, parts, strict=True)]
            for row, at in enumerate(some):
                sizes = len(sources[row]), len(targets[row])
                found[at] = tuple(_reading(reader, weights[row], *sizes) for reader, weights in seen)
        return found

    def scores(self, source: Ids, target: Ids) -> list[float]:
        steps = Steps(self.runtime)
        walk = steps.start([[*source, EOS]])
        found = []
        for token, said in zip([BOS, *target], [*target, EOS], strict=True):
            log_probs, walk = steps.step(np.array([token]), walk)
            found.append(float(log_probs[0, said]))
        return found


def _whole(steps: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Steps side by side. A reader of its own past sees a slot more at each: what is still to come is 0."""
    slots = max(each.shape[-1] for each in steps)
    rooms = [np.pad(each, ((0, 0), (0, 0), (0, 0), (0, slots - each.shape[-1]))) for each in steps]
    return np.concatenate(rooms, 2)


def _reading(reader: Reader, weights: NDArray[Any], source: int, target: int) -> Reading:
    """One row's weights without its padding."""
    return named(
        reader.name, reader.memory, lambda asked, slots: weights[:, :asked, :slots].astype(np.float32), source, target
    )
