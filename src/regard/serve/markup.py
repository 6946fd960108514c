"""Markup: HTML cut into what stays as it is and runs of text with the tags inside of them. It does not know languages.

Written one after the other, the raw parts are the document to the character. A tag that belongs to no pair, a pair that
does not lie within one run of text, and all that is not to be translated stay where they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from html.parser import HTMLParser
from typing import Final, Literal, final

from regard.serve.marks import OURS

Kind = Literal["open", "close", "point", "text", "raw"]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


VOID: Final = _names("area base br col embed hr img input link meta param source track wbr")
# What stands in the line of a text; everything else, known or not, begins a new run.
INLINE: Final = _names(
    "a abbr acronym b bdi bdo big cite data del dfn em font i ins label mark q rb rp rt rtc ruby s small span strike"
    " strong sub sup time tt u code kbd samp var img wbr x g bx ex ph mrk"
)
KEPT: Final = _names("script style code kbd samp var pre textarea svg math object template")
DEEPEST: Final = 40  # tags around a text; those around more stay where they are
_NUMBERED: Final = re.compile(r"<(\d{1,9}\s?/?)>")  # <0>here</0> and <1/>, as catalogues of messages have it


@final
@dataclass(frozen=True, slots=True)
class Event:
    """A part of the document as it is written; a text also as it reads."""

    kind: Kind
    raw: str
    tag: str = ""
    text: str = ""
    kept: bool = False  # an element whose content is not to be translated


@final
@dataclass(slots=True)
class Node:
    """An element within a run, or a point in it: its tags, and the characters of the run that it holds."""

    opening: str
    closing: str
    start: int
    end: int
    children: list[Node] = field(default_factory=list)


@final
@dataclass(frozen=True, slots=True)
class Run:
    """Text to translate, and the tags in it. `kept` holds what one sign of the text stands for."""

    text: str
    nodes: tuple[Node, ...]
    kept: dict[str, str]


def parsed(document: str) -> list[str | Run]:
    """Raw parts and runs, in order."""
    events = _Reader(document).events
    fresh = (chr(code) for code in OURS)
    signs = (each for each in fresh if each not in document)
    return list(_runs(events, _pairs(events), signs))


def tagged(text: str, tags: Sequence[tuple[int, int]]) -> Run:
    """A plain text with tags at these places, whatever their names; those that have no partner are points."""
    events: list[Event] = []
    reached = 0
    for start, end in tags:
        raw = text[start:end]
        events.append(Event("text", text[reached:start]))
        kind: Kind = "close" if raw.startswith("</") else "point" if raw.endswith("/>") else "open"
        events.append(Event(kind, raw, re.sub(r"^</?|[\s/>].*$", "", raw, flags=re.DOTALL)))
        reached = end
    events.append(Event("text", text[reached:]))
    pairs, run = _pairs(events), _Growing()
    for at, event in enumerate(events):
        if event.kind == "text":
            run.text += event.raw
        elif event.kind == "open" and at in pairs:
            run.open(event.raw, pairs[at])
        elif event.kind == "close" and run.closes(at):
            run.close(event.raw)
        else:
            run.point(event.raw)
    return next(run.done())


@final
class _Reader(HTMLParser):
    """Where each tag and each text begins; what lies between two beginnings is the first one's, to the character."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self._begun: list[tuple[int, Event]] = []
        self._lines = [0]
        for at, letter in enumerate(document):
            if letter == "\n":
                self._lines.append(at + 1)
        self.feed(document)
        self.close()
        ends = [at for at, _ in self._begun[1:]] + [len(document)]
        first = self._begun[0][0] if self._begun else len(document)
        found = [Event("raw", document[:first])] if first else []
        for (at, each), end in zip(self._begun, ends if self._begun else [], strict=True):
            found += _whole(each, document[at:end])
        self.events: Final = tuple(found)

    def _add(self, event: Event) -> None:
        line, column = self.getpos()
        self._begun.append((self._lines[line - 1] + column, event))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        kept = (
            tag in KEPT
            or (told.get("translate") or "").lower() == "no"
            or "notranslate" in (told.get("class") or "").split()
        )
        self._add(Event("point" if tag in VOID else "open", "", tag, kept=kept and tag not in VOID))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(Event("point", "", tag))

    def handle_endtag(self, tag: str) -> None:
        self._add(Event("point" if tag in VOID else "close", "", tag))

    def handle_data(self, data: str) -> None:
        if not self._begun or self._begun[-1][1].kind != "text":  # a text may come in parts
            self._add(Event("text", ""))

    def handle_comment(self, data: str) -> None:
        self._add(Event("raw", "", "!"))

    def handle_decl(self, decl: str) -> None:
        self._add(Event("raw", ""))

    def handle_pi(self, data: str) -> None:
        self._add(Event("raw", ""))

    def unknown_decl(self, data: str) -> None:
        self._add(Event("raw", ""))


def _whole(event: Event, raw: str) -> Iterator[Event]:
    """The event with what stands there; numbers as tags are no HTML, and are tags all the same."""
    if event.kind == "raw" and event.tag == "!" and re.fullmatch(r"</\d{1,9}>", raw):
        yield Event("close", raw, raw[2:-1])
        return
    if event.kind != "text":
        yield replace(event, raw=raw)
        return
    for number, part in enumerate(_NUMBERED.split(raw)):
        if number % 2:
            yield Event("point" if part.endswith("/") else "open", f"<{part}>", part.rstrip(" /"))
        elif part:
            yield Event("text", part, text=unescape(part))


def inline(tag: str) -> bool:
    """Does it stand in the line of a text? Custom elements do, if nobody says otherwise."""
    return tag in INLINE or tag.isdigit() or "-" in tag


def _pairs(events: Sequence[Event]) -> dict[int, int]:
    """Of each opening tag that has a closing one, where that is; a pair never crosses another one."""
    found: dict[int, int] = {}
    open_: list[int] = []
    names: Counter[str] = Counter()
    for at, event in enumerate(events):
        if event.kind == "open":
            open_.append(at)
            names[event.tag] += 1
        elif event.kind == "close" and names[event.tag]:
            while True:
                last = open_.pop()
                names[events[last].tag] -= 1
                if events[last].tag == event.tag:
                    found[last] = at
                    break
    return found


def _runs(events: Sequence[Event], pairs: dict[int, int], signs: Iterator[str]) -> Iterator[str | Run]:
    inside = _inside(events, pairs)
    run = _Growing()
    at = 0
    while at < len(events):
        event, close = events[at], pairs.get(at)
        if event.kept:  # to its end, and without one to the end of all
            after = len(events) if close is None else close + 1
            raw = "".join(each.raw for each in events[at:after])
            sign = next(signs, None) if inline(event.tag) and close is not None else None
            if sign is None:
                yield from run.done()
                yield raw
            else:
                run.keep(sign, raw)
            at = after
            continue
        if event.kind == "text":
            run.text += event.text
        elif event.kind == "open" and at in inside and close is not None:
            run.open(event.raw, close)
        elif event.kind == "close" and run.closes(at):
            run.close(event.raw)
        elif (event.kind == "point" and inline(event.tag)) or (event.kind == "raw" and event.tag == "!"):
            run.point(event.raw)
        else:
            yield from run.done()
            yield event.raw
        at += 1
    yield from run.done()


def _inside(events: Sequence[Event], pairs: dict[int, int]) -> frozenset[int]:
    """The pairs of inline tags between which nothing begins a new run, and which hold no more than DEEPEST others."""
    paired = {*pairs.keys(), *pairs.values()}
    breaks = [0]  # how many of the events before each one begin a new run
    for at, event in enumerate(events):
        loose = event.kind in {"open", "close"} and not (inline(event.tag) and at in paired)
        other = (event.kind == "point" and not inline(event.tag)) or (event.kind == "raw" and event.tag != "!")
        breaks.append(breaks[-1] + (loose or other))
    heights: dict[int, int] = {}
    above: list[int] = [0]  # the greatest height so far within each pair that is open
    closing = {close: start for start, close in pairs.items()}
    for at in range(len(events)):
        if at in pairs:
            above.append(0)
        elif at in closing:
            heights[closing[at]] = height = above.pop() + 1
            above[-1] = max(above[-1], height)
    return frozenset(
        start
        for start, close in pairs.items()
        if inline(events[start].tag) and breaks[close] == breaks[start] and heights[start] <= DEEPEST
    )


@final
class _Growing:
    """A run that is being read."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.text = ""
        self._nodes: list[Node] = []
        self._open: list[tuple[Node, int]] = []
        self._kept: dict[str, str] = {}

    def keep(self, sign: str, raw: str) -> None:
        self.text += sign
        self._kept[sign] = raw

    def _here(self) -> list[Node]:
        return self._open[-1][0].children if self._open else self._nodes

    def open(self, raw: str, close: int) -> None:
        node = Node(raw, "", len(self.text), len(self.text))
        self._here().append(node)
        self._open.append((node, close))

    def closes(self, at: int) -> bool:
        return bool(self._open) and self._open[-1][1] == at

    def close(self, raw: str) -> None:
        node, _ = self._open.pop()
        node.closing, node.end = raw, len(self.text)

    def point(self, raw: str) -> None:
        self._here().append(Node(raw, "", len(self.text), len(self.text)))

    def done(self) -> Iterator[Run]:
        if self.text or self._nodes:
            yield Run(self.text, tuple(self._nodes), self._kept)
        self._clear()
