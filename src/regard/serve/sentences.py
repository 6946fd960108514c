"""Sentences: a text cut into what a model translates at once, and the white space between. It knows no language.

Joined again, the parts are the text. Models learn from sentences, so a post of several is translated one by one; what
runs on without an end is cut at a comma or a space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 400  # characters of a part
_LINE: Final = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_END: Final = re.compile(r"[.!?।॥…]+[\"'”’»)\]]*(?=\s)|[。！？]+[」』”’）]*")
# What ends in a point and does not end a sentence: an initial, or one of the commonest short forms of European texts.
_SHORT: Final = re.compile(
    r"(?:^|[\s(\"'“‘])(?:[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|Nr|vs|etc|e\.g|i\.e|bzw|z\.B|Mme|Mlle|डॉ|श्री|प्रा)\.$"
)
_CLAUSE: Final = re.compile(r"[,;:،、，；：—–](?=\s|[^\x00-\x7f])")

Part = tuple[int, int]


def parts(text: str) -> list[Part]:
    """The spans of the sentences, without the white space around them, in order."""
    found: list[Part] = []
    for line in _LINE.finditer(text):
        for start, end in _sentences(text, *line.span()):
            found += _short(text, start, end)
    return found


def _sentences(text: str, start: int, end: int) -> Iterator[Part]:
    for stop in _END.finditer(text, start, end):
        if text[stop.end() - 1] == "." and not _ends(text, start, stop.end(), end):
            continue
        yield from _trimmed(text, start, stop.end())
        start = stop.end()
    yield from _trimmed(text, start, end)


def _ends(text: str, start: int, point: int, end: int) -> bool:
    """Is this point the end of a sentence? Not after a short form, nor where a small letter follows."""
    after = text[point : min(point + 20, end)].lstrip()[:1]
    return not after.islower() and _SHORT.search(text[max(start, point - 8) : point]) is None


def _trimmed(text: str, start: int, end: int) -> Iterator[Part]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _short(text: str, start: int, end: int) -> Iterator[Part]:
    """Pieces of at most LONGEST characters, cut in the second half at a clause's end, else at a space, else hard."""
    while end - start > LONGEST:
        half, most = start + LONGEST // 2, start + LONGEST
        clauses = [each.end() for each in _CLAUSE.finditer(text, half, most)]
        cut = clauses[-1] if clauses else max(text.rfind(" ", half, most), text.rfind("\t", half, most))
        cut = cut if cut > 0 else most
        yield from _trimmed(text, start, cut)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end
