"""Marks: what must come through a translation unharmed: addresses, numbers, placeholders, mentions, emoji.

It does not know how they come through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

from regard.serve.said import Span

Kind = Literal["edge", "name", "sign", "number", "tag"]

# What may be set aside where a sentence begins or ends with it: addresses, mentions, hashtags.
_EDGE: Final = r"""
    (?:https?|ftp|file)://[^\s<>"]{1,2000} | mailto:[^\s<>"]{1,300} | www\.[^\s<>"]{1,2000}
  | [\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}
  | (?<![\w@/])@[\w.-]{1,64}(?:@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})?
  | (?<![\w\#&/])\#[^\W\d]\w{0,99}
"""
# What has a place in the sentence, as a name has.
_NAME: Final = r"""
    \$?\{\{[^{}\n]{0,100}\}\}
  | \{\s?\w{1,100}\s?,\s?(?:plural|select|selectordinal)\s?,(?:[^{}]|\{[^{}]{0,300}\}){1,20}\}
  | [$\#%]?\{[^\s{}]{0,100}\}
  | %\([^\s()]{1,100}\)[-+\#0]?\d{0,5}(?:\.\d{1,5})?[a-zA-Z]
  | %(?:\d{1,3}\$)?[-+0]?\d{0,5}(?:\.\d{1,5})?(?:hh|h|ll|l|z|j|t|L)?[sdiuoxXfFeEgGcpn@](?![A-Za-z])
  | \[X\d{1,9}X\]
  | &(?:[a-zA-Z]{2,31}|\#\d{1,7}|\#x[0-9a-fA-F]{1,6});
  | (?<![\w:]):[a-z0-9_+-]{2,50}:(?![\w:])
  | `[^`\n]{1,200}`
"""
# Emoji and other signs that stand for no word, with what joins and colours them; flags are two letters of their own.
_SIGN: Final = (
    "(?:[\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff\ue000-\uf8ff]"
    "[\ufe0e\ufe0f\u20e3\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*)+"
)
# A word of so many letters is none, where words have spaces between them.
_UNSPACED: Final = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = rf"[^\s{_UNSPACED}]{{120,}}"
OURS: Final = range(0xF0000, 0xFFFFE)  # whoever calls may put one of these for what it keeps itself
_NUMBER: Final = r"[$€£¥₹]?(?<![A-Za-z_])\d{1,200}(?:[.,:/'’\-–]\d{1,200}){0,20}(?![A-Za-z_])"
_TAG: Final = r"</?[A-Za-z0-9][^<>]{0,200}>"
_ANY: Final = re.compile(
    rf"(?P<tag>{_TAG})|(?P<edge>{_EDGE})|(?P<run>{_RUN})|(?P<name>[\U000f0000-\U000ffffd]|{_NAME})"
    rf"|(?P<sign>{_SIGN})|(?P<number>{_NUMBER})",
    re.VERBOSE,
)
_GLUED: Final = re.compile(r"[A-Za-z0-9_/\\=]+")
CLOSING: Final = ".,;:!?'\"”’»)]}।॥…。，！？"


@final
@dataclass(frozen=True, slots=True)
class Mark:
    """Something to keep, and where it stands."""

    kind: Kind
    span: Span


def marks(text: str) -> list[Mark]:
    """What is to be kept, in order, no two of them sharing a character."""
    found: list[Mark] = []
    reached = 0
    for each in _ANY.finditer(text):
        kind: Kind = "edge" if each.lastgroup == "run" else each.lastgroup  # type: ignore[assignment]
        start, end = each.span()
        if each.lastgroup == "edge":
            end = start + len(_unclosed(each.group()))
        if kind in {"edge", "name"}:
            start, end = _glued(text, start, end, reached)
        if reached <= start < end:
            found.append(Mark(kind, (start, end)))
            reached = end
    return found


def _unclosed(address: str) -> str:
    """Without the punctuation that ends the sentence, or the bracket that was opened before the address."""
    while address and address[-1] in CLOSING:
        opening = {")": "(", "]": "[", "}": "{"}.get(address[-1])
        if opening and address.count(opening) >= address.count(address[-1]):
            break
        address = address[:-1]
    return address


def _glued(text: str, start: int, end: int, least: int) -> Span:
    """With the ASCII letters that touch it: /home/{name}/x is one thing."""
    while start > least and _GLUED.fullmatch(text[start - 1]):
        start -= 1
    after = _GLUED.match(text, end)
    return start, after.end() if after else end


def tags(text: str, found: Sequence[Mark]) -> list[Span]:
    """Those tags that can be taken out and set in again: not one in the middle of a word that has no partner."""
    spans = [mark.span for mark in found if mark.kind == "tag"]
    opened = {text[start + 1 : end - 1].split(maxsplit=1)[0] for start, end in spans if text[start + 1] != "/"}
    closed = {text[start + 2 : end - 1].split(maxsplit=1)[0] for start, end in spans if text[start + 1] == "/"}
    paired = {each for name in opened & closed for each in (name, f"/{name}")}
    return [
        (start, end)
        for start, end in spans
        if text[start + 1 : end - 1].split(maxsplit=1)[0] in paired
        or not (text[start - 1 : start].strip() and text[end : end + 1].strip())
    ]


def middle(text: str, found: Sequence[Mark]) -> Span:
    """The part that is left to translate when what a sentence begins and ends with is set aside.

    An address at the beginning stays, for it is often what the sentence is about; a mention there calls somebody.
    """
    start, end = 0, len(text)
    for mark in found:
        called = mark.kind == "sign" or (mark.kind == "edge" and text[mark.span[0]] in "@#")
        if not called or text[start : mark.span[0]].strip():
            break
        start = mark.span[1]
    for mark in reversed(found):
        if mark.span[0] < start or mark.kind not in {"edge", "sign"} or text[mark.span[1] : end].strip(CLOSING + " \t"):
            break
        end = mark.span[0]
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, max(start, end)


def spoken(text: str, found: Sequence[Mark]) -> bool:
    """Is there a word beside what is kept?"""
    reached = 0
    for mark in [*found, Mark("sign", (len(text), len(text)))]:
        if any(each.isalpha() for each in text[reached : mark.span[0]]):
            return True
        reached = mark.span[1]
    return False
