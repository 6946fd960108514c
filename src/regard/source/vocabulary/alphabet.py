"""Alphabet: the characters worth a symbol. It does not know what is built from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from regard.source.vocabulary.cut import SPACE, plain

RARE: Final = 200_000  # a character that is rarer than one in so many is left to <unk>


def count(texts: Iterable[str]) -> Counter[str]:
    """How often each character stands in the texts; each text begins with one space more, as its cut does."""
    counts: Counter[str] = Counter()
    held: list[str] = []
    size = 0
    for text in texts:
        if text:
            held.append(plain(text))
            size += len(text)
        if size > 1 << 20:
            counts.update(SPACE + " ".join(held))
            held, size = [], 0
    if held:
        counts.update(SPACE + " ".join(held))
    counts[SPACE] += counts.pop(" ", 0)
    return counts


def choose(counts: Counter[str], most: int) -> list[str]:
    """Never some of several characters that are equally frequent: which ones would be chance."""
    least = max(1, -(-sum(counts.values()) // RARE))
    ranked = sorted(counts.values(), reverse=True)
    if len(ranked) > most:
        least = max(least, ranked[most] + 1)
    kept = {character for character, number in counts.items() if number >= least}
    return sorted(kept | {SPACE})
