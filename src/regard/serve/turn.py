"""Turn: one text into another language: sentence by sentence, through one model or two, with all that must be kept.

It does not know how sentences come together in batches: `Say` does that.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeVar, final

from regard.serve.keep import masked, restored
from regard.serve.marks import Mark, marks, middle, spoken, tags
from regard.serve.markup import tagged
from regard.serve.place import Edit
from regard.serve.said import Joined, Said, Span, Unit, along, moved, same, through
from regard.serve.sentences import parts
from regard.serve.weave import set_in

T = TypeVar("T")
Say = Callable[[Unit], Awaitable[Said]]  # asks one model for one sentence
TOGETHER: Final = 64  # sentences of one request that wait at the same time: a long one leaves room for others


@final
@dataclass(frozen=True, slots=True)
class Turned:
    """A text in the other language. `chances` has one number a sentence; `others` are whole texts."""

    text: str
    links: tuple[Joined, ...] = ()
    chances: tuple[float | None, ...] = ()
    others: tuple[str, ...] = ()
    seen: tuple[dict[str, object] | None, ...] = ()


@final
class Turner:
    """The way from one language to another: the models in their order. None for a language into itself."""

    def __init__(self, way: Sequence[Say]) -> None:
        self._way: Final = tuple(way)
        self._room = asyncio.Semaphore(TOGETHER)

    async def text(self, text: str, wish: Unit, cuts: Sequence[int] = ()) -> Turned:
        """All sentences of a text; the white space between them stays. `wish` says what is asked of each.

        With `cuts`, places in the text that are to be found in its translation, every sentence has links.
        """
        if not self._way:
            return Turned(text, same(text).links, (1.0,))
        spans, cuts = parts(text), sorted(cuts)
        units = [
            replace(
                wish, text=text[start:end], linked=wish.linked or bisect_right(cuts, start) < bisect_left(cuts, end)
            )
            for start, end in spans
        ]
        said = await gather([self.sentence(unit) for unit in units])
        if cuts:
            said = [
                each if unit.linked and each.links else replace(each, links=along(unit.text, each.text))
                for unit, each in zip(units, said, strict=True)
            ]
        return joined(text, spans, said, wish.best)

    async def sentence(self, unit: Unit) -> Said:
        async with self._room:
            return await self._through(unit)

    async def _through(self, unit: Unit) -> Said:
        """Through each model in turn."""
        linked = unit.linked or len(self._way) > 1
        said = same(unit.text)
        for number, say in enumerate(self._way):
            last = number == len(self._way) - 1
            asked = replace(unit, text=said.text, linked=linked, best=unit.best if last else 1)
            after = await kept(say, asked)
            links = after.links if number == 0 else through(said.links, after.links)
            right = None if said.right is None or after.right is None else said.right * after.right
            said = replace(after, links=links, right=right)
        return said


async def kept(say: Say, unit: Unit) -> Said:
    """One sentence through one model, with what must be kept."""
    found = marks(unit.text)
    if not spoken(unit.text, found):
        return same(unit.text)
    if not found:
        return await say(unit)
    if spans := tags(unit.text, found):
        return await _tagged(say, unit, spans)
    start, end = middle(unit.text, found)
    if 0 < end - start < len(unit.text):
        inner = await kept(say, replace(unit, text=unit.text[start:end]))
        return _framed(unit, start, end, inner)
    mask = masked(unit.text, found)
    whole = None if mask is None else restored(mask, await say(replace(unit, text=mask.edit.text, linked=True)))
    return whole or await _around(say, unit, found)


def _framed(unit: Unit, start: int, end: int, inner: Said) -> Said:
    """With what the sentence begins and ends with."""
    before, after = unit.text[:start], unit.text[end:]
    return replace(
        inner,
        text=before + inner.text + after,
        links=(
            *same(before).links,
            *moved(inner.links, start, start),
            *moved(same(after).links, end, start + len(inner.text)),
        ),
        others=tuple(before + each + after for each in inner.others),
    )


async def _tagged(say: Say, unit: Unit, spans: Sequence[Span]) -> Said:
    """Tags in a plain text, of any name: set in as those of a page are."""
    bare = Edit(unit.text, [(*span, "") for span in spans])
    inner = await kept(say, replace(unit, text=bare.text, linked=True))
    placed = set_in(tagged(unit.text, spans), inner.text, inner.links)
    whole = Edit(inner.text, [(at, at, tag) for at, tag in placed])
    links = [replace(each, source=bare.back(each.source), target=whole.forward(each.target)) for each in inner.links]
    homes = list(spans)
    written = 0
    for at, tag in placed:
        home = next(each for each in homes if unit.text[slice(*each)] == tag)
        homes.remove(home)
        links.append(Joined(home, (at + written, at + written + len(tag)), 1.0))
        written += len(tag)
    links.sort(key=lambda each: each.target)
    return replace(inner, text=whole.text, links=tuple(links), others=())


async def _around(say: Say, unit: Unit, found: Sequence[Mark]) -> Said:
    """What stands between the things to be kept, part by part. Worse than a whole sentence, and nothing is lost."""
    cuts = [0, *(at for mark in found for at in mark.span), len(unit.text)]
    text, links, chances = "", list[Joined](), list[float | None]()
    for number, (start, end) in enumerate(pairwise(cuts)):
        part = unit.text[start:end]
        said = same(part)
        if number % 2 == 0 and any(each.isalpha() for each in part):
            bare = part.strip()
            said = await say(Unit(bare, linked=unit.linked))
            lead = len(part) - len(part.lstrip())
            trail = part[lead + len(bare) :]
            links_ = moved(said.links, lead, lead)
            said = replace(said, text=part[:lead] + said.text + trail, links=links_)
            chances.append(said.right)
        links += moved(said.links, start, len(text))
        text += said.text
    right = None if None in chances else min((each for each in chances if each is not None), default=1.0)
    return Said(text, tuple(links), right)


def joined(text: str, spans: Sequence[tuple[int, int]], said: Sequence[Said], best: int = 1) -> Turned:
    """The sentences in their places, with the white space of the source between them."""
    made, links, reached = "", list[Joined](), 0
    others = [""] * (best - 1)
    for (start, end), one in zip(spans, said, strict=True):
        between = text[reached:start]
        links += moved(one.links, start, len(made) + len(between))
        made += between + one.text
        for number in range(best - 1):
            others[number] += between + (one.others[number] if number < len(one.others) else one.text)
        reached = end
    made += text[reached:]
    distinct = dict.fromkeys(each + text[reached:] for each in others)
    distinct.pop(made, None)
    return Turned(
        made, tuple(links), tuple(one.right for one in said), tuple(distinct), tuple(one.seen for one in said)
    )


async def gather(work: Sequence[Awaitable[T]]) -> list[T]:
    """All of them; when one fails, or nobody waits any more, none goes on."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
