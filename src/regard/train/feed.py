"""The batches of a stream one after another, epoch after epoch, and how far the run has come among them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Generic, final

from regard.fault import Fault
from regard.train.learner import B, Stream


@final
class Feed(Generic[B]):
    """Opens an epoch when its first batch is wanted, not before: the stream may draw from torch's generator."""

    def __init__(self, stream: Stream[B]) -> None:
        self._stream = stream
        self._batches: Iterator[B] | None
        self._go(0, 0)

    @property
    def epochs(self) -> float:
        """How many have been read, with the share of the one that is being read."""
        return self._number + min(1.0, self._taken / self._whole)

    def next(self) -> B:
        if self._batches is None:
            self._batches = self._stream.epoch(self._number, self._taken)
        while (batch := next(self._batches, None)) is None:
            if self._taken == 0:
                raise Fault(f"epoch {self._number} of the training data holds no batch; give it more data")
            self._go(self._number + 1, 0)
            self._batches = self._stream.epoch(self._number, 0)
        self._taken += 1
        return batch

    def close(self) -> None:
        """Lets the stream put away what it had open, and read ahead no more."""
        if isinstance(self._batches, Generator):
            self._batches.close()

    def state(self) -> dict[str, int]:
        return {"epoch": self._number, "batch": self._taken}

    def restore(self, state: Mapping[str, int]) -> None:
        self._go(state["epoch"], state["batch"])

    def _go(self, number: int, start: int) -> None:
        self._number, self._taken = number, start
        self._whole = max(1, self._stream.batches(number))
        self._batches = None
