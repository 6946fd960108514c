"""Cleaning: text made regular before it is cut into pieces. It does not know languages, vocabularies or files.

Right for Marathi as for English: letters keep their case, vowel signs and other marks (categories Mn and Mc) are never
removed or torn from their letter, and a joiner stays where it changes what is written. Cleaning twice changes nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

from regard.fault import Fault, nearest

Span = tuple[int, int]
Change = tuple[int, int, str]  # from, to, what stands there instead

_BREAKS: Final = "\t\n\x0b\x0c\r\x85"  # control characters that keep words apart
_CONTROL: Final = re.compile(
    f"[{_BREAKS}]|"
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    "\u00ad\ufeff"  # the soft hyphen, the byte order mark
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions: layout, not text
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]+"
)
_JOINERS: Final = "\u200c\u200d"
_INVISIBLE: Final = re.compile("[\u200b-\u200d\u2060-\u2064]")
_SPACE: Final = re.compile(r"\s+")
_UNTIDY_SPACE: Final = re.compile(r"\s\s|[^\S ]|^\s|\s$")
_QUOTES: Final = dict.fromkeys("‘’‚‛′‵", "'") | dict.fromkeys("“”„‟″‶", '"')
_CURLY: Final = re.compile(f"[{''.join(_QUOTES)}]")
_WIDE: Final = re.compile("[\u3000\uff01-\uffee]")

# Scripts where a joiner chooses between forms of letters; it never works across two of these families.
_INDIC: Final = re.compile(
    "[\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1b00-\u1bff\u1cd0-\u1cff\ua8e0-\ua8ff\uabc0-\uabff\U00011000-\U00011fff]"
)
_CURSIVE: Final = re.compile("[\u0600-\u08ff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc]")
_VIRAMA: Final = 9  # canonical combining class


@final
@dataclass(frozen=True, slots=True)
class Cleaned:
    """Clean text, and for each of its characters the span of the original it came from (None: nothing changed)."""

    text: str
    origin: tuple[Span, ...] | None = None

    def span(self, start: int, end: int) -> Span:
        """Where `text[start:end]` stood in the original."""
        if self.origin is None:
            return start, end
        if start >= end:
            at = self.origin[start][0] if start < len(self.origin) else (self.origin[-1][1] if self.origin else 0)
            return at, at
        return self.origin[start][0], self.origin[end - 1][1]


def _control(text: str) -> Iterator[Change]:
    for found in _CONTROL.finditer(text):
        yield found.start(), found.end(), " " if found.group() in _BREAKS else ""


def _joiners(text: str) -> Iterator[Change]:
    before = ""  # what is kept to the left: a joiner that goes cannot speak for the next one
    end = 0
    for found in _INVISIBLE.finditer(text):
        at = found.start()
        before += text[end:at]
        end = at + 1
        if found.group() in _JOINERS and _joins(before, found.group(), text[end : end + 1]):
            before += found.group()
        else:
            yield at, end, ""
        before = before[-64:]  # marks on one letter are few


def _joins(before: str, joiner: str, after: str) -> bool:
    """Whether a joiner between these two means something."""
    marks = len(before)
    while marks and unicodedata.category(before[marks - 1]) in ("Mn", "Mc", "Sk"):
        marks -= 1
    if any(unicodedata.combining(mark) == _VIRAMA for mark in before[marks:]):
        return True  # asks for a half form or a visible virama, at the end of a word too
    if not after or not marks:
        return False
    base = before[marks - 1]  # marks may yet change places: only the letter below them is asked
    if any(family.match(base) and _reads_on(after, family) for family in (_INDIC, _CURSIVE)):
        return unicodedata.category(base)[0] == "L"
    return joiner == "\u200d" and _pictures(base) and _pictures(after)


def _reads_on(after: str, family: re.Pattern[str]) -> bool:
    category = unicodedata.category(after)[0]
    return category == "M" or (category == "L" and family.match(after) is not None)


def _pictures(character: str) -> bool:
    return unicodedata.category(character) == "So" or character in "↔↕"


def _width(text: str) -> Iterator[Change]:
    for found in _WIDE.finditer(text):
        kind, _, code = unicodedata.decomposition(found.group()).partition(" ")
        if kind in ("<wide>", "<narrow>"):
            yield found.start(), found.end(), chr(int(code, 16))


def _quotes(text: str) -> Iterator[Change]:
    for found in _CURLY.finditer(text):
        yield found.start(), found.end(), _QUOTES[found.group()]


def _space(text: str) -> Iterator[Change]:
    if _UNTIDY_SPACE.search(text):
        for found in _SPACE.finditer(text):
            inside = found.start() > 0 and found.end() < len(text)
            yield found.start(), found.end(), " " if inside else ""


def _nfc(text: str) -> Iterator[Change]:
    """A letter with its marks at a time, so that each composed character knows where it came from."""
    if unicodedata.is_normalized("NFC", text):
        return
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and _continues(text[end]):
            continue
        composed = unicodedata.normalize("NFC", text[start:end])
        if composed != text[start:end]:
            yield start, end, composed
        start = end


def _continues(character: str) -> bool:
    """Marks and the vowels and finals of Hangul: all that composition can draw to the character before."""
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"


# In this order: composition comes last, when nothing that is to go stands between a letter and its marks.
_STEPS: Final[dict[str, Callable[[str], Iterator[Change]]]] = {
    "control": _control,
    "joiners": _joiners,
    "width": _width,
    "quotes": _quotes,
    "space": _space,
    "nfc": _nfc,
}
STEPS: Final = tuple(_STEPS)


@final
class Cleaner:
    """Does the named steps, always in the same order.

    - control: control characters, byte order marks, soft hyphens, direction marks and lone surrogates go
    - joiners: zero-width characters go, but for joiners between Indic or Arabic letters, after a virama, inside emoji
    - width: full-width and half-width forms become ordinary ones
    - quotes: curly quotes and primes become ' and "; dashes, guillemets and the ellipsis stay
    - space: any run of white space becomes one space, none at the ends
    - nfc: Unicode's canonical composition
    """

    def __init__(self, steps: Iterable[str] = STEPS) -> None:
        asked = tuple(steps)
        for step in asked:
            if step not in _STEPS:
                raise Fault(f"unknown cleaning step {step!r}{nearest(step, STEPS)}; the steps are {', '.join(STEPS)}")
        self.steps: Final = tuple(step for step in STEPS if step in asked)

    def clean(self, text: str) -> Cleaned:
        """The clean text with the origin of each character."""
        origin: list[Span] | None = None
        cleaned = text
        for step in self._needed(text):
            changes = list(_STEPS[step](cleaned))
            if changes:
                origin = _moved(origin or [(at, at + 1) for at in range(len(cleaned))], changes)
                cleaned = _changed(cleaned, changes)
        return Cleaned(cleaned, None if cleaned == text else tuple(origin or ()))

    def text(self, text: str) -> str:
        """The clean text alone; the quick way for millions of lines."""
        for step in self._needed(text):
            changes = list(_STEPS[step](text))
            if changes:
                text = _changed(text, changes)
        return text

    def _needed(self, text: str) -> tuple[str, ...]:
        """Most lines are ASCII letters with single spaces: nothing to do, and one look tells."""
        if text.isascii() and text.isprintable() and "  " not in text and text.strip(" ") == text:
            return ()
        return self.steps


def _changed(text: str, changes: list[Change]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, new in changes:
        parts += (text[done:start], new)
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _moved(origin: list[Span], changes: list[Change]) -> list[Span]:
    moved: list[Span] = []
    done = 0
    for start, end, new in changes:
        moved += origin[done:start]
        if len(new) == end - start:
            moved += origin[start:end]
        else:
            moved += [(origin[start][0], origin[end - 1][1])] * len(new)
        done = end
    moved += origin[done:]
    return moved
