"""Hold: which pairs of a table are held out to measure on. It does not know files or vocabularies.

What is one sentence but for case and signs is on one side with all its translations, and with it whatever shares one of
these: nothing that is measured was learned. The choice is a function of the seed and the text, not of the text's order.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from regard.source.table import Pair

SHARE: Final = 10  # one pair in so many at most
SEVERAL: Final = 8  # groups at least, where the table has them: one sentence with fifty translations is no measure

Hashes = NDArray[np.uint64]  # one a pair; equal ones belong together
Held = NDArray[np.bool_]


def hold_out(pairs: Iterable[Pair], count: int, seed: int) -> Held:
    """For each pair, in the order they come, whether it is held out: `count` of them, at most a tenth of the table.

    The pairs are read once and not kept. Only where the groups joined by their translations are too large for that are
    they parted into single sentences with theirs. Where even these are, the smallest one is held out, up to half of the
    table; a table of one sentence is left whole.
    """
    sources, targets = _hashes(pairs, seed)
    wanted = min(count, max(1, len(sources) // SHARE))
    best = np.zeros(len(sources), dtype=np.bool_)
    if wanted < 1 or len(sources) < 2:
        return best
    for groups in (_joined(sources, targets), sources):
        for largest in (max(1, wanted // SEVERAL), wanted):
            held = _chosen(groups, wanted, largest)
            best = held if held.sum() > best.sum() else best
            if 2 * best.sum() > wanted:
                return best
    return best if best.any() else _smallest(sources)


def plain(text: str) -> str:
    """Without case and signs: what makes two sentences the same. One of signs alone stays as it is."""
    text = text.casefold()
    return " ".join(_signs().sub(" ", text).split()) or text


@cache
def _signs() -> re.Pattern[str]:
    characters = map(chr, range(0x10000))
    return re.compile(f"[{re.escape(''.join(each for each in characters if unicodedata.category(each)[0] == 'P'))}]+")


def _hashes(pairs: Iterable[Pair], seed: int) -> tuple[Hashes, Hashes]:
    """Of every source, and of every target."""
    salt = (seed & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little")
    sources, targets = array("Q"), array("Q")
    for pair in pairs:
        for side, text in ((sources, pair.source), (targets, pair.target)):
            digest = blake2b(plain(text).encode(errors="replace"), digest_size=8, salt=salt).digest()
            side.append(int.from_bytes(digest, "little"))
    return np.asarray(sources), np.asarray(targets)


def _joined(sources: Hashes, targets: Hashes) -> Hashes:
    """For each pair the least source that it reaches from pair to pair, by a source or a target that two of them share.

    Each round goes a step on, and then as far as the one reached has come before: the rounds are few.
    """
    names, source = np.unique(sources, return_inverse=True)
    target = np.unique(targets, return_inverse=True)[1]
    least = np.arange(len(names))
    while True:
        of_target = np.full(len(sources), len(names))
        np.minimum.at(of_target, target, least[source])
        reached = least.copy()
        np.minimum.at(reached, source, of_target[target])
        reached = reached[reached]
        if np.array_equal(reached, least):
            return names[least[source]]
        least = reached


def _chosen(groups: Hashes, wanted: int, largest: int) -> Held:
    """Whole groups of up to `largest` pairs, in the order of their hashes, until there are so many pairs."""
    names, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    # the least of several hashes begins with zeros; its last bits are as good as drawn
    order = np.argsort(names << np.uint64(32) | names >> np.uint64(32))
    taken = np.zeros(len(names), dtype=np.bool_)
    left = wanted
    while len(order := order[sizes[order] <= min(left, largest)]):
        fits = np.cumsum(sizes[order]) <= left
        taken[order[fits]] = True
        left -= int(sizes[order[fits]].sum())
        order = order[~fits]
    return taken[group]


def _smallest(groups: Hashes) -> Held:
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    least = int(np.argmin(sizes))
    half = 2 * int(sizes[least]) <= len(groups)
    return np.asarray(group == least) if half else np.zeros(len(groups), dtype=np.bool_)
