r"""Said: one sentence as a model wrote it, with word links $(s, t, p)$ between spans of characters of both texts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, final

Span = tuple[int, int]
WORD: Final = re.compile(r"\S+")


@final
@dataclass(frozen=True, slots=True)
class Joined:
    """A word of the translation and the word of the source it was written from, with the weight of that link."""

    source: Span
    target: Span
    weight: float


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence that a model is asked for. `linked`: with word links; `seen`: with the weights they are read off."""

    text: str
    best: int = 1
    linked: bool = False
    seen: bool = False


@final
@dataclass(frozen=True, slots=True)
class Said:
    """`right` is the probability that a person would have written the same words; None where nobody measured that.

    `others` are the next best translations, best first. `seen` holds the labels of both sides and the weights.
    """

    text: str
    links: tuple[Joined, ...] = ()
    right: float | None = None
    others: tuple[str, ...] = ()
    seen: dict[str, Any] | None = None


def same(text: str) -> Said:
    """What needs no translation: every word is linked to itself."""
    words = (each.span() for each in WORD.finditer(text))
    return Said(text, tuple(Joined(word, word, 1.0) for word in words), 1.0)


def along(source: str, target: str) -> tuple[Joined, ...]:
    """Links where none are known: each word of the target with the word of the source that is as far along."""
    there = [each.span() for each in WORD.finditer(source)]
    here = [each.span() for each in WORD.finditer(target)]
    if not there:
        return ()
    return tuple(Joined(there[at * len(there) // len(here)], word, 0.0) for at, word in enumerate(here))


def moved(links: tuple[Joined, ...], source: int, target: int) -> tuple[Joined, ...]:
    """The links of a sentence in the text around it, which begins so many characters earlier on either side."""
    return tuple(
        replace(
            each,
            source=(each.source[0] + source, each.source[1] + source),
            target=(each.target[0] + target, each.target[1] + target),
        )
        for each in links
    )


def through(first: tuple[Joined, ...], second: tuple[Joined, ...]) -> tuple[Joined, ...]:
    """Links a→b and b→c as links a→c: by the word of b that they share most of, at the product of their weights."""
    found = []
    for each in second:
        shared = [(overlap(each.source, one.target), one.weight, one) for one in first]
        best = max(shared, key=lambda one: one[:2], default=None)
        if best is not None and best[0] > 0:
            found.append(Joined(best[2].source, each.target, best[2].weight * each.weight))
    return tuple(found)


def overlap(one: Span, other: Span) -> int:
    """Characters that both have."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))
