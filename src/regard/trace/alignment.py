r"""Alignment: $\hat{\imath}(t) = \arg\max_i a_{ti}$, the word links read off one matrix, and how right they are.

A link joins a source word to a target word; a target word without one was written from no word. Two directions meet in
`intersection` or `grow_diag_final_and`; `aer` measures links against links made by hand. It does not know how the
weights were computed nor how they were folded to words: fold first for links between words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.array import host, single
from regard.shape import Float
from regard.trace.core import Axis

Pairs = frozenset[tuple[int, int]]  # (source, target), counted from 0


@final
@dataclass(frozen=True, slots=True)
class Link:
    """One target word and the source word it was read from; None when it was read from no word."""

    source: int | None
    target: int
    weight: float


def links(
    weights: Float[Any, "query slot"],
    source: Axis,
    target: Axis,
    *,
    least: float = 0.0,
    also: float | None = None,
    null: float = 0.5,
    flat: float = 0.05,
) -> tuple[Link, ...]:
    """The source word that each target word read most, in the target's order.

    No word is linked when its weight is below `least`, when labels that stand for no character (`</s>`) hold the share
    `null` of the row or more, or when the row says nothing: 1 - entropy / log(slots) below `flat`. With `also`, every
    other source word that was read at least that share as much as the best one is linked too. Target labels that
    stand for no character have no links.
    """
    words, rows = _words(source), single(weights)
    found: list[Link] = []
    for query in _words(target):
        row = rows[query]
        read = row[words]
        best = int(read.argmax()) if words else 0
        total = row.sum().item()
        known = bool(words) and total > 0 and total - read.sum().item() < null * total
        if not known or read[best] < least or read[best] <= 0 or _says(row) < flat:
            found.append(Link(None, query, max(total - read.sum().item(), 0.0)))
            continue
        enough = math.inf if also is None else also * read[best].item()
        chosen = [at for at in range(len(words)) if at == best or read[at].item() >= enough]
        found += [Link(words[at], query, read[at].item()) for at in chosen]
    return tuple(found)


def pairs(found: Iterable[Link]) -> Pairs:
    """The links as (source, target), without the words that were read from none."""
    return frozenset((each.source, each.target) for each in found if each.source is not None)


def record(found: Iterable[Link], source: Axis, target: Axis) -> dict[str, Any]:
    """Words, character spans and links as plain values, ready for JSON."""
    return {
        "source": _record(source),
        "target": _record(target),
        "links": [{"source": each.source, "target": each.target, "weight": round(each.weight, 6)} for each in found],
    }


def turned(links_: Pairs) -> Pairs:
    """The same links with the sides exchanged: what a model of the other direction found, in this one's order."""
    return frozenset((target, source) for source, target in links_)


def intersection(forward: Pairs, backward: Pairs) -> Pairs:
    """The links that both directions found: few, and mostly right."""
    return forward & backward


def grow_diag_final_and(forward: Pairs, backward: Pairs) -> Pairs:
    """From the intersection, grow into the union (Koehn et al. 2003, 2005, as in Moses).

    A link of the union beside a link already taken (diagonals count) joins it when its source or its target word has
    none yet, until nothing changes. In the end each direction's links whose two words are both still free join too.
    """
    either = forward | backward
    union, taken = sorted(either, key=_by_target), set(forward & backward)
    sources, targets = {source for source, _ in taken}, {target for _, target in taken}

    def take(link: tuple[int, int]) -> None:
        taken.add(link)
        sources.add(link[0])
        targets.add(link[1])

    grown = -1
    while grown < len(taken):
        grown = len(taken)
        for source, target in union:
            if (source, target) in taken:
                for link in ((source + across, target + down) for across, down in BESIDE):
                    if link in either and (link[0] not in sources or link[1] not in targets):
                        take(link)
    for direction in (forward, backward):
        for link in sorted(direction, key=_by_target):
            if link[0] not in sources and link[1] not in targets:
                take(link)
    return frozenset(taken)


BESIDE = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of links found and made by hand; add those of many sentences to measure a corpus."""

    found: int = 0
    sure: int = 0
    found_sure: int = 0
    found_possible: int = 0

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.found + other.found,
            self.sure + other.sure,
            self.found_sure + other.found_sure,
            self.found_possible + other.found_possible,
        )

    @property
    def precision(self) -> float:
        r"""$|A \cap P| / |A|$; 1 when nothing was linked, for nothing wrong was said."""
        return self.found_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        r"""$|A \cap S| / |S|$; 1 when there was nothing to find."""
        return self.found_sure / self.sure if self.sure else 1.0

    @property
    def aer(self) -> float:
        r"""$1 - (|A \cap S| + |A \cap P|) / (|A| + |S|)$: 0 is perfect."""
        both = self.found + self.sure
        return 1 - (self.found_sure + self.found_possible) / both if both else 0.0


def aer(found: Pairs, sure: Pairs, possible: Pairs = frozenset()) -> Agreement:
    """Alignment error rate of one sentence (Och & Ney 2003). Sure links are possible ones too."""
    return Agreement(len(found), len(sure), len(found & sure), len(found & (sure | possible)))


def sharpness(weights: Float[Any, "*head query slot"]) -> float:
    """The mean entropy of the rows in nats, rows that read nothing left out: 0 is one slot a row, log(slots) flat.

    A row that sums to less than one (a Gaussian window) is taken as shares of what it did read.
    """
    rows = _shares(weights)
    return float(_entropy(rows).mean()) if len(rows) else 0.0


def clarity(weights: Float[Any, "*head query slot"]) -> float:
    """How many nats a row tells about which row it is: the entropy of the mean row less the mean entropy of the rows.

    Nothing for flat rows, nothing for a head that always reads `</s>`, however sharp; most for one that reads a
    different slot for each row.
    """
    rows = _shares(weights)
    return max(float(_entropy(rows.mean(0, keepdims=True)).mean() - _entropy(rows).mean()), 0.0) if len(rows) else 0.0


def _shares(weights: Float[Any, "*head query slot"]) -> Float[np.ndarray, "row slot"]:
    rows = host(weights).astype(np.float64).reshape(-1, weights.shape[-1])
    sums = rows.sum(-1)
    read: NDArray[np.float64] = rows[sums > 0] / sums[sums > 0][:, None]
    return read


def _entropy(shares: Float[np.ndarray, "row slot"]) -> Float[np.ndarray, " row"]:
    entropy: NDArray[np.float64] = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(-1)
    return entropy


def _says(row: Float[Any, "slot"]) -> float:
    """1 for a row that reads one slot, 0 for a flat one."""
    return 1 - sharpness(row[None]) / math.log(len(row)) if len(row) > 1 else 1.0


def _words(axis: Axis) -> list[int]:
    """The labels that stand for something: an empty span is `</s>` or its like."""
    if axis.spans is None:
        return list(range(len(axis)))
    return [at for at, (start, end) in enumerate(axis.spans) if start < end]


def _record(axis: Axis) -> dict[str, Any]:
    spans = axis.spans or ((None, None),) * len(axis)
    words = [
        {"text": label, "start": start, "end": end} for label, (start, end) in zip(axis.labels, spans, strict=True)
    ]
    return {"text": axis.text, "words": words}


def _by_target(link: tuple[int, int]) -> tuple[int, int]:
    return link[1], link[0]
