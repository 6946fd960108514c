"""Weave: the tags of a run set into its translation: each exactly once, well nested, around the words linked to it.

Of all stretches of the translation an element takes the one with most words linked into it and fewest linked elsewhere
(Kadane's greatest sum), within its parent and beside its siblings; a point goes behind what the word before it became.
It does not know how links were found.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, final

from regard.serve.marks import marks
from regard.serve.markup import Node, Run
from regard.serve.place import Gaps
from regard.serve.said import WORD, Joined, Span, overlap

ELSEWHERE: Final = -1  # the vote of a word that was written from none of the nodes asked about


@final
@dataclass(frozen=True, slots=True)
class Placed:
    """Where a node came to stand in the translation."""

    node: Node
    span: Span
    children: tuple[Placed, ...]


def woven(run: Run, text: str, links: Sequence[Joined]) -> str:
    """The translation as HTML."""
    parts, reached = [], 0
    for at, tag in set_in(run, text, links):
        parts += [escape(text[reached:at], quote=False), tag]
        reached = at
    written = "".join([*parts, escape(text[reached:], quote=False)])
    if not run.kept:
        return written
    return re.sub(f"[{''.join(run.kept)}]", lambda sign: run.kept[sign.group()], written)


def set_in(run: Run, text: str, links: Sequence[Joined]) -> list[tuple[int, str]]:
    """Where each tag goes in the translation, in their order."""
    if text == run.text:
        placed = tuple(map(_unmoved, run.nodes))
    else:
        placed = _Loom(run.text, text, links).placed(run.nodes, (0, len(run.text)), (0, len(text)))
    return list(_tags(placed))


def boundaries(nodes: Sequence[Node]) -> Iterator[int]:
    """The places in a run that tags stand at."""
    for node in nodes:
        yield node.start
        yield node.end
        yield from boundaries(node.children)


def _unmoved(node: Node) -> Placed:
    return Placed(node, (node.start, node.end), tuple(map(_unmoved, node.children)))


def _tags(placed: Sequence[Placed]) -> Iterator[tuple[int, str]]:
    for each in placed:
        yield each.span[0], each.node.opening
        yield from _tags(each.children)
        if each.node.closing:
            yield each.span[1], each.node.closing


@final
class _Loom:
    """Both texts, the words of the translation, and what each of them was written from."""

    def __init__(self, source: str, target: str, links: Sequence[Joined]) -> None:
        self._source = source
        self._target = target
        self._words = [each.span() for each in WORD.finditer(target)]
        self._homes: list[Span | None] = [None] * len(self._words)
        self._gaps = Gaps(links, len(target))
        self._kept = [mark.span for mark in marks(target)]
        weights = [0.0] * len(self._words)
        starts = [start for start, _ in self._words]
        for link in links:
            at = max(0, bisect_left(starts, link.target[0] + 1) - 1)
            while at < len(starts) and starts[at] < link.target[1]:
                if overlap(self._words[at], link.target) and (self._homes[at] is None or link.weight > weights[at]):
                    self._homes[at], weights[at] = link.source, link.weight
                at += 1

    def placed(self, nodes: Sequence[Node], outer: Span, room: Span) -> tuple[Placed, ...]:
        """Siblings, in the stretch of their parent, which held `outer` of the source."""
        if not nodes:
            return ()
        spans = self._stretches(nodes, outer, room)
        for at, node in enumerate(nodes):
            if at not in spans:
                spans[at] = self._point(node, room, sorted(spans.values()))
        order = sorted(range(len(nodes)), key=lambda at: (spans[at], at))
        return tuple(
            Placed(node := nodes[at], spans[at], self.placed(node.children, (node.start, node.end), spans[at]))
            for at in order
        )

    def _stretches(self, nodes: Sequence[Node], outer: Span, room: Span) -> dict[int, Span]:
        """Of the nodes whose words are found in the room, those with most words first."""
        for at, node in enumerate(nodes):
            around = self._source[outer[0] : node.start] + self._source[node.end : outer[1]]
            if not around.strip() and self._source[node.start : node.end].strip():
                return {at: self._tight(room, room)}  # all that its parent holds
        votes = self._votes(nodes, room)
        mine: dict[int, list[int]] = {}
        for word, vote in votes.items():
            mine.setdefault(vote, []).append(word)
        mine.pop(ELSEWHERE, None)
        spans: dict[int, Span] = {}
        used: set[int] = set()
        for at in sorted(mine, key=lambda at: (-len(mine[at]), at)):
            node = nodes[at]
            best = _greatest(at, mine[at], votes, used)
            if best is not None:
                used.update(range(best[0], best[1] + 1))
                whole = (self._words[best[0]][0], self._words[best[1]][1])
                spans[at] = self._trimmed(node, self._tight(whole, room), room)
        return spans

    def _votes(self, nodes: Sequence[Node], room: Span) -> dict[int, int]:
        """For each word in the room that is linked at all, the node that it was written from."""
        starts = [node.start for node in nodes]
        votes: dict[int, int] = {}
        for number, (word, home) in enumerate(zip(self._words, self._homes, strict=True)):
            if home is None or not overlap(word, room):
                continue
            votes[number], most = ELSEWHERE, 0
            at = max(0, bisect_left(starts, home[0]) - 1)
            while at < len(nodes) and starts[at] < home[1]:
                shared = overlap(home, (nodes[at].start, nodes[at].end))
                if shared > most and 2 * shared >= min(home[1] - home[0], nodes[at].end - nodes[at].start):
                    votes[number], most = at, shared
                at += 1
        return votes

    def _tight(self, span: Span, room: Span) -> Span:
        """Without white space at its ends, and not over the edges of the room."""
        start, end = max(span[0], room[0]), min(span[1], room[1])
        while start < end and self._target[start].isspace():
            start += 1
        while end > start and self._target[end - 1].isspace():
            end -= 1
        return start, end

    def _trimmed(self, node: Node, span: Span, room: Span) -> Span:
        """Punctuation that stood outside of the element stays outside."""
        own = self._source[node.start : node.end].strip()
        start, end = span
        if not _punctuation(own[:1]):
            while start < end - 1 and _punctuation(self._target[start]):
                start += 1
        if not _punctuation(own[-1:]):
            while end > start + 1 and _punctuation(self._target[end - 1]):
                end -= 1
        return self._out(start, room[0], room[1], after=False), self._out(end, room[0], room[1], after=True)

    def _out(self, at: int, least: int, most: int, *, after: bool) -> int:
        """Not inside of what is to be kept, where there is room beside it."""
        number = bisect_left(self._kept, (at, at)) - 1
        if number >= 0 and self._kept[number][0] < at < self._kept[number][1]:
            beside = self._kept[number][after]
            return beside if least <= beside <= most else self._kept[number][not after]
        return at

    def _point(self, node: Node, room: Span, taken: Sequence[Span]) -> Span:
        """Between two words; not inside of a sibling."""
        if not self._source[: node.start].strip():
            at = 0
        elif not self._source[node.end :].strip():
            at = len(self._target)
        else:
            at = self._gaps.at(node.start)
            at += self._source[node.start - 1].isspace() and self._target[at : at + 1].isspace()
        at = self._out(min(max(at, room[0]), room[1]), *room, after=True)
        beside = bisect_left(taken, (at, at)) - 1
        if beside >= 0 and taken[beside][0] < at < taken[beside][1]:
            start, end = taken[beside]
            at = start if at - start < end - at else end
        held = self._source[node.start : node.end].strip()
        return self._beside(at, room, taken) if held else (at, at)

    def _beside(self, at: int, room: Span, taken: Sequence[Span]) -> Span:
        """The next word, for an element whose words are linked to none, if that word is linked to none either."""
        number = bisect_left(self._words, (at, at))
        if number < len(self._words) and self._homes[number] is None:
            span = self._tight(self._words[number], room)
            if span[0] < span[1] and not any(overlap(span, each) for each in taken):
                return span
        return at, at


def _greatest(at: int, mine: Sequence[int], votes: Mapping[int, int], used: set[int]) -> tuple[int, int] | None:
    """The first and the last word of the stretch where votes for `at` outnumber those for others by most."""
    best: tuple[int, int] | None = None
    start, total, most = 0, 0, 0
    for word in range(mine[0], mine[-1] + 1):
        vote = votes.get(word)
        if word in used:
            total = 0
        elif vote == at:
            start = word if total == 0 else start
            total += 1
            if total > most:
                best, most = (start, word), total
        elif vote is not None:
            total = max(0, total - 1)
    return best


def _punctuation(letter: str) -> bool:
    return letter != "" and unicodedata.category(letter)[0] == "P"
