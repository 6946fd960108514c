r"""Fold: $A_{wv} = \frac{1}{|w|} \sum_{t \in w} \sum_{i \in v} a_{ti}$, from the weights of pieces to those of words.

A source word was read as much as its pieces together (sum); a target word read what its pieces read on average
(mean), so each row keeps its sum. Words are what stands between spaces, with their punctuation; pieces find their word
by character span. It does not know how the text was cut into pieces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from regard.array import zeros
from regard.shape import Float
from regard.trace.core import Axis, Trace

# Scripts written without spaces, by the first word of their letters' Unicode names: there, a piece is left as it is.
UNSPACED: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})


def words(trace: Trace, specials: bool = True) -> Trace:
    """The same trace over words. Without `specials`, labels that stand for no character (`</s>`) lose slot and row.

    Readings of the decoder's own past are left out: their slots run one piece behind their rows.
    """
    source, target = plan(trace.source, specials), plan(trace.target, specials)
    readings = tuple(
        replace(each, weights=fold(each.weights, source if each.asks == "source" else target, source))
        for each in trace.readings
        if each.memory != "target"
    )
    return Trace(source.axis, target.axis, readings)


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The axis after folding, and the pieces that each of its labels takes in."""

    axis: Axis
    members: tuple[tuple[int, ...], ...]
    pieces: int

    def matrix(self, like: Float[Any, "..."]) -> Float[Any, "word piece"]:
        """1 where a word holds a piece."""
        held = zeros((len(self.members), self.pieces), like)
        for word, members in enumerate(self.members):
            held[word, list(members)] = 1
        return held


def fold(weights: Float[Any, "*head query slot"], target: Plan, source: Plan) -> Float[Any, "*head word source_word"]:
    """Means over the rows of each target word, sums over the slots of each source word."""
    rows = target.matrix(weights)
    # A word that no piece stands for has an empty row, not a division by nothing.
    rows = rows / rows.sum(-1)[:, None].clip(1)
    return rows @ weights @ source.matrix(weights).T


def plan(axis: Axis, specials: bool = True) -> Plan:
    """Group an axis by words; an axis without spans is left as it is."""
    if axis.spans is None:
        return Plan(axis, tuple((at,) for at in range(len(axis))), len(axis))
    spans = _words(axis.text, axis.spans)
    members: list[list[int]] = [[] for _ in spans]
    alone: list[tuple[int, int]] = []  # where a special stands in the text, and which piece it is
    reached = 0
    for piece, (start, end) in enumerate(axis.spans):
        word = _home((start, end), spans)
        if word is None:
            alone.append((reached, piece))
        else:
            members[word].append(piece)
            reached = max(reached, end)
    # Specials keep their place among the words: one at character 0 comes first, one at the end of a word follows it.
    placed = [
        ((start, 1), axis.text[start:end], (start, end), tuple(held))
        for (start, end), held in zip(spans, members, strict=True)
    ]
    if specials:
        placed += [((at, 0), axis.labels[piece], (at, at), (piece,)) for at, piece in alone]
    placed.sort(key=lambda each: each[0])
    folded = replace(axis, labels=tuple(each[1] for each in placed), spans=tuple(each[2] for each in placed))
    return Plan(folded, tuple(each[3] for each in placed), len(axis))


def _words(text: str, pieces: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of the words as written, in order; inside a script without spaces, the spans of the pieces."""
    found: list[tuple[int, int]] = []
    for match in re.finditer(r"\S+", text):
        start, end = match.span()
        if not any(_unspaced(letter) for letter in match.group()):
            found.append((start, end))
            continue
        # Pieces may overlap (the bytes of one character share its span): each begins where the last one ended.
        reached = start
        for begins, ends in sorted(set(pieces)):
            if begins < end and ends > reached:
                found.append((max(begins, reached), min(ends, end)))
                reached = found[-1][1]
    return found


def _unspaced(letter: str) -> bool:
    return letter.isalpha() and unicodedata.name(letter, "").partition(" ")[0] in UNSPACED


def _home(piece: tuple[int, int], spans: Sequence[tuple[int, int]]) -> int | None:
    """The word that a piece belongs to: the one it shares most characters with; None for a piece of no character."""
    start, end = piece
    if start >= end or not spans:
        return None
    shared = [min(end, ends) - max(start, begins) for begins, ends in spans]
    best = max(range(len(spans)), key=lambda word: shared[word])
    if shared[best] > 0:
        return best
    # Nothing but space: it opens the word that follows it, or closes the last one.
    return next((word for word, (begins, _) in enumerate(spans) if begins >= end), len(spans) - 1)
