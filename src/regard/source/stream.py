"""Stream: the batches of an epoch, each of rows of about the same length. It does not know what is learned from them.

The order is a function of (seed, epoch) alone: rows are shuffled, sorted by length inside large pools, cut into
batches from the longest on, and the batches of all pools are shuffled. No generator of torch is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from regard.fault import Fault
from regard.source.ahead import ahead
from regard.source.batch import Ints, Padded, Pairs
from regard.source.store import Store
from regard.source.vocabulary.vary import Vary

POOL: Final = 8  # rows that are sorted together, for each token of a batch: some sixty batches of short sentences


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Which rows are in which batch of one epoch."""

    epoch: int
    rows: NDArray[np.int32]  # batch after batch
    bounds: Ints  # where in `rows` each batch begins, and where the last one ends
    order: Ints  # the batches as they come


@final
class Batches:
    """No batch has more than `tokens` places on its longer side, unless it is of one row (or of `multiple` rows).

    With a `multiple`, both lengths and the number of rows are multiples of it, so that there are few shapes: rows
    without a target fill up. What varies in an epoch is not asked when rows are put together, and may go past the
    limit.
    """

    def __init__(
        self,
        store: Store,
        tokens: int,
        seed: int,
        *,
        source_vary: Vary | None = None,
        target_vary: Vary | None = None,
        multiple: int = 1,
        depth: int = 2,
    ) -> None:
        if not len(store):
            raise Fault(f"{store.path}: holds no pairs to learn from")
        self._store = store
        self._tokens = tokens
        self._seed = seed & 0xFFFF_FFFF_FFFF_FFFF
        self._vary = (source_vary, target_vary)
        self._multiple = multiple
        self._pool = POOL * tokens
        self._depth = depth
        self._plan: _Plan | None = None
        self._varying = Lock()  # two epochs may be read at once, and what varies keeps a memory

    def epoch(self, number: int, start: int = 0) -> Iterator[Pairs]:
        """The batches of that epoch from the `start`-th on; `depth` of them are made ahead, in the background."""
        made = self._made(number, start)
        return ahead(made, self._depth) if self._depth else made

    def batches(self, number: int) -> int:
        """How many batches that epoch has."""
        return len(self._planned(number).order)

    def _made(self, number: int, start: int) -> Iterator[Pairs]:
        plan = self._planned(number)
        for batch in plan.order[start:].tolist():
            yield self._batch(plan.rows[plan.bounds[batch] : plan.bounds[batch + 1]].astype(np.int64), number)

    def _batch(self, numbers: Ints, epoch: int) -> Pairs:
        source, target = self._store.sources(numbers), self._store.targets(numbers)
        with self._varying:
            source, target = (
                rows if vary is None else vary.rows(*rows, epoch, numbers)
                for vary, rows in zip(self._vary, (source, target), strict=True)
            )
        return Pairs(
            Padded.flat(*source, eos=True, multiple=self._multiple, filler=True),
            Padded.flat(*target, bos=True, eos=True, multiple=self._multiple),
            len(target[0]) + len(numbers),  # each EOS is to be predicted too
        )

    def _planned(self, epoch: int) -> _Plan:
        plan = self._plan
        if plan is None or plan.epoch != epoch:
            plan = self._plan = self._new_plan(epoch)
        return plan

    def _new_plan(self, epoch: int) -> _Plan:
        chance = np.random.Generator(np.random.PCG64([self._seed, epoch]))
        rows = np.arange(len(self._store), dtype=np.int32)
        chance.shuffle(rows)
        bounds = [0]
        for first in range(0, len(rows), self._pool):
            part = rows[first : first + self._pool]
            longer, sloped = self._widths(part)
            order = np.lexsort((sloped, -longer))  # of equal ones, the first stays first
            part[:] = part[order]
            longer = longer[order]
            while bounds[-1] - first < len(part):
                bounds.append(min(bounds[-1] + self._most(int(longer[bounds[-1] - first])), first + len(part)))
        return _Plan(epoch, rows, np.array(bounds), chance.permutation(len(bounds) - 1))

    def _widths(self, numbers: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The padded length of the longer side, and by how much the source is the longer one."""
        source, target = (
            -(-(lengths[numbers] + specials) // self._multiple) * self._multiple
            for lengths, specials in zip(self._store.lengths, (1, 2), strict=True)
        )
        return np.maximum(source, target), source - target

    def _most(self, width: int) -> int:
        """Rows of that length in a batch."""
        return max(1, self._tokens // width // self._multiple) * self._multiple
