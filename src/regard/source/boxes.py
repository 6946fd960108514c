r"""Boxes: which pairs are padded to the same two lengths. It does not know tokens, batches or their order.

The plane of lengths is cut in two, again and again, where that saves most places: a box of n pairs costs
$n\,(\max s + \max t)$. So all epochs come in a few shapes, each of which a GPU records once, and little is padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
ENOUGH: Final = 0.05  # padding, of all places: more boxes would only be more to record


@final
@dataclass(frozen=True, slots=True)
class Box:
    """The longest source and the longest target in it."""

    source: int
    target: int

    @property
    def longer(self) -> int:
        return max(self.source, self.target)

    def holds(self, other: Box) -> bool:
        return self.source >= other.source and self.target >= other.target


@final
@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The smallest boxes first; `of` says of a source and a target length in which box such pairs are."""

    each: tuple[Box, ...]
    of: NDArray[np.int16]

    def next(self, number: int) -> int | None:
        """The smallest later box that holds all of this one."""
        here = self.each[number]
        return next((at for at in range(number + 1, len(self.each)) if self.each[at].holds(here)), None)


def boxes(source: NDArray[np.integer[Any]], target: NDArray[np.integer[Any]], tokens: int, most: int) -> Boxes:
    """At most `most` boxes for pairs of these lengths, each with pairs enough for a batch of so many tokens."""
    counts = np.zeros((int(source.max(initial=0)) + 1, int(target.max(initial=0)) + 1), np.int64)
    np.add.at(counts, (source, target), 1)
    real = int(source.sum()) + int(target.sum())
    parts = [_Part.of(counts, 0, 0)]
    while len(parts) < most and sum(part.cost for part in parts) * (1 - ENOUGH) > real:
        cuts = [part.cut(tokens) for part in parts]
        at = max(range(len(parts)), key=lambda number: cuts[number][0])
        gain, halves = cuts[at]
        if gain <= 0:
            break
        parts[at : at + 1] = halves
    parts.sort(key=lambda part: (part.box.source + part.box.target, part.box.source))
    of = np.zeros(counts.shape, np.int16)
    for number, part in enumerate(parts):
        high, wide = part.counts.shape
        of[part.first : part.first + high, part.second : part.second + wide] = number
    return Boxes(tuple(part.box for part in parts), of)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A rectangle of the plane: how many pairs there are of each two lengths, from (first, second) on."""

    counts: Counts
    first: int
    second: int
    box: Box
    cost: int

    @staticmethod
    def of(counts: Counts, first: int, second: int) -> _Part:
        box = Box(first + _last(counts.sum(1) > 0), second + _last(counts.sum(0) > 0))
        return _Part(counts, first, second, box, int(counts.sum()) * (box.source + box.target))

    def cut(self, tokens: int) -> tuple[int, list[_Part]]:
        """What the best cut saves, and its halves."""
        best: tuple[int, list[_Part]] = (0, [])
        for at in range(1, self.counts.shape[0]):
            best = self._better(best, self.counts[:at], self.counts[at:], (self.first + at, self.second), tokens)
        for at in range(1, self.counts.shape[1]):
            best = self._better(best, self.counts[:, :at], self.counts[:, at:], (self.first, self.second + at), tokens)
        return best

    def _better(
        self, best: tuple[int, list[_Part]], low: Counts, high: Counts, place: tuple[int, int], tokens: int
    ) -> tuple[int, list[_Part]]:
        halves = [_Part.of(low, self.first, self.second), _Part.of(high, *place)]
        gain = self.cost - sum(half.cost for half in halves)
        enough = all(int(half.counts.sum()) * half.box.longer >= tokens for half in halves)
        return (gain, halves) if enough and gain > best[0] else best


def _last(there: NDArray[np.bool_]) -> int:
    found = np.flatnonzero(there)
    return int(found[-1]) if len(found) else 0
