"""On a GPU, a small model's update is a thousand kernels that take longer to launch than to run: here each shape of
batch has its whole update (forward, loss, backward, clipping, AdamW) recorded once, as one CUDA graph, and replayed.

Random draws stay random: a graph takes the generator's place anew at each replay. It does not know what a batch holds,
only that it is made of dataclasses and tensors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar, final

import torch
from torch import Tensor

from regard.fault import Fault
from regard.train.learner import B
from regard.train.update import Update, Updated

T = TypeVar("T")
Shape: TypeAlias = tuple[tuple[str, Hashable], ...]

SEEN = 3  # eager updates before a shape is recorded: they warm up what a graph may not do, and rare shapes stay eager
GRAPHS = 64


def shape(batch: object) -> Shape | None:
    """What two batches have in common that one graph can serve; None where there is a part it cannot know."""
    key: list[tuple[str, Hashable]] = []
    for path, leaf in _leaves(batch, ""):
        if isinstance(leaf, Tensor):
            key.append((path, (tuple(leaf.shape), leaf.dtype)))
        elif leaf is None or isinstance(leaf, bool | int | float | str):
            key.append((path, leaf))
        else:
            return None
    return tuple(key)


def copied(value: T) -> T:
    """The same with tensors of its own."""
    return _copied(value)  # type: ignore[no-any-return]


def fill(static: object, batch: object) -> None:
    """The tensors of `batch` into those of `static`, which has its shape."""
    for (_, there), (_, here) in zip(_leaves(static, ""), _leaves(batch, ""), strict=True):
        if isinstance(there, Tensor) and isinstance(here, Tensor):
            there.copy_(here, non_blocking=True)


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, tuple | list):
        return type(value)(map(_copied, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _copied(getattr(value, field.name)) for field in fields(value)})
    return value


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Every part with its place, but the count of tokens, which no loss reads."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            if path or field.name != "tokens":
                yield from _leaves(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, tuple | list):
        for number, part in enumerate(value):
            yield from _leaves(part, f"{path}.{number}")
    else:
        yield path, value


@contextmanager
def lane(device: torch.device) -> Iterator[None]:
    """A stream for the whole run: the default one cannot be recorded, and gradients are to be added up on the stream
    they are recorded on.
    """
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.default_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.default_stream(device).wait_stream(stream)


@final
@dataclass(frozen=True, slots=True)
class _Recorded(Generic[B]):
    """The graph reads `batch` and writes `updated`, each in a place of its own."""

    graph: torch.cuda.CUDAGraph
    batch: B
    updated: Updated


@final
class Replay(Generic[B]):
    """An `Update` for a steady model on a GPU, to be used inside one `lane`.

    What it returns is overwritten by the next call. The graphs share one pool of memory, which is safe as they never
    run at the same time.
    """

    def __init__(self, update: Update[B]) -> None:
        self._update = update
        self._seen: Counter[Shape] = Counter()
        self._recorded: dict[Shape, _Recorded[B]] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, batch: B, progress: float) -> Updated:
        key = shape(batch)
        if key is None or not self._ripe(key):
            return self._update(batch, progress)
        self._update.pace(progress)
        if key not in self._recorded:
            self._recorded[key] = self._record(batch, progress)
        recorded = self._recorded[key]
        fill(recorded.batch, batch)
        recorded.graph.replay()
        return recorded.updated

    def _ripe(self, key: Shape) -> bool:
        if key in self._recorded:
            return True
        self._seen[key] += 1
        return self._seen[key] > SEEN and len(self._recorded) < GRAPHS

    def _record(self, batch: B, progress: float) -> _Recorded[B]:
        """Recording runs nothing: weights, moments and generators stay as they are until the first replay."""
        static = copied(batch.to(self._update.device))
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool, stream=torch.cuda.current_stream(self._update.device)):
                updated = self._update.step(static, progress)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # a failed recording leaves the device in no state to go on
            reason = str(error).partition("\n")[0]
            raise Fault(
                f"the update of this model cannot be recorded as a CUDA graph ({reason}); run it with replay off"
            ) from error
        return _Recorded(graph, static, updated)
