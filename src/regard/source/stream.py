"""Stream: the batches of an epoch, each of rows of about the same length. It does not know what is learned from them.

The order is a function of (seed, epoch) alone: rows are shuffled, sorted by length inside large pools, cut into
batches from the longest on, and the batches of all pools are shuffled. Or they are cut inside a few boxes, the same
in all epochs, so that there are no more shapes than these. No generator of torch is asked.
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
from regard.source.batch import Ints, Padded, Pairs, up
from regard.source.boxes import Boxes, boxes
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
    sizes: tuple[tuple[int, int, int], ...] = ()  # of each batch at least: rows, source and target lengths


@final
class Batches:
    """No batch has more than `tokens` places on its longer side, unless it is of one row (or of `multiple` rows).

    With a `multiple`, both lengths and the number of rows are multiples of it, so that there are few shapes: rows
    without a target fill up. What varies in an epoch is not asked when rows are put together, and may go past the
    limit. With `most` boxes, the lengths are theirs, and only the last batch of an epoch has a size of its own.
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
        most: int = 0,
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
        self._boxes = self._boxed(most) if most and source_vary is None and target_vary is None else None
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
            numbers = plan.rows[plan.bounds[batch] : plan.bounds[batch + 1]].astype(np.int64)
            yield self._batch(numbers, number, plan.sizes[batch] if plan.sizes else (0, 0, 0))

    def _batch(self, numbers: Ints, epoch: int, size: tuple[int, int, int]) -> Pairs:
        source, target = self._store.sources(numbers), self._store.targets(numbers)
        with self._varying:
            source, target = (
                rows if vary is None else vary.rows(*rows, epoch, numbers)
                for vary, rows in zip(self._vary, (source, target), strict=True)
            )
        # a box's lengths stay as they are: only its rows are a multiple
        multiple = 1 if any(size) else self._multiple
        return Pairs(
            Padded.flat(*source, eos=True, multiple=multiple, filler=True, size=size[:2]),
            Padded.flat(*target, bos=True, eos=True, multiple=multiple, size=size[::2]),
            len(target[0]) + len(numbers),  # each EOS is to be predicted too
        )

    def _planned(self, epoch: int) -> _Plan:
        plan = self._plan
        if plan is None or plan.epoch != epoch:
            plan = self._plan = self._new_plan(epoch)
        return plan

    def _boxed(self, most: int) -> tuple[Boxes, list[NDArray[np.int32]]]:
        """The boxes, and the rows in each."""
        source, target = (lengths + more for lengths, more in zip(self._store.lengths, (1, 2), strict=True))
        made = boxes(source, target, self._tokens, most)
        of = made.of[source, target]
        rows = np.argsort(of, kind="stable").astype(np.int32)
        return made, np.split(rows, np.searchsorted(of[rows], np.arange(1, len(made.each))))

    def _plan_of_boxes(self, epoch: int, made: Boxes, inside: list[NDArray[np.int32]]) -> _Plan:
        """What does not fill a batch of its box goes into the next one that can hold it."""
        chance = np.random.Generator(np.random.PCG64([self._seed, epoch]))
        here = [[chance.permutation(rows)] for rows in inside]
        batches: list[NDArray[np.int32]] = []
        sizes: list[tuple[int, int, int]] = []
        for number, box in enumerate(made.each):
            rows, most, later = np.concatenate(here[number]), self._most(box.longer), made.next(number)
            over = len(rows) % most if later is not None else 0
            if later is not None and over:
                here[later].append(rows[len(rows) - over :])
            for first in range(0, len(rows) - over, most):
                batches.append(rows[first : min(first + most, len(rows) - over)])
                sizes.append((up(len(batches[-1]), self._multiple), box.source, box.target))
        bounds = np.cumsum([0, *map(len, batches)])
        return _Plan(epoch, np.concatenate(batches), bounds, chance.permutation(len(batches)), tuple(sizes))

    def _new_plan(self, epoch: int) -> _Plan:
        if self._boxes is not None:
            return self._plan_of_boxes(epoch, *self._boxes)
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
