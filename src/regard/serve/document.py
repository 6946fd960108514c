"""Document: HTML and files of text, translated run by run; what is no text stays to the character.

It does not know models, nor how files come and go.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, final

from regard.serve.markup import Run, parsed
from regard.serve.refusal import invalid
from regard.serve.said import Unit
from regard.serve.turn import Turner, gather
from regard.serve.weave import boundaries, woven

LARGE: Final = 2_000  # characters
_TIMING: Final = re.compile(r"^\s*(?:\d+|WEBVTT.*|.*\d\d:\d\d[.,:]\d.*-->.*)\s*$")
_LINES: Final = re.compile(r"(\r\n|\r|\n)")


@final
@dataclass(frozen=True, slots=True)
class Made:
    """A translated document. `chances` has one number a sentence."""

    text: str
    chances: tuple[float | None, ...] = ()


async def html(turner: Turner, document: str) -> Made:
    """All runs of text, with the tags in them."""
    # in a thread: an open quotation in each of thousands of tags is read again and again
    pieces = await asyncio.to_thread(parsed, document) if len(document) > LARGE else parsed(document)
    done = iter(await gather([_run(turner, each) for each in pieces if isinstance(each, Run)]))
    return _whole([next(done) if isinstance(each, Run) else Made(each) for each in pieces])


async def _run(turner: Turner, run: Run) -> Made:
    turned = await turner.text(run.text, Unit(""), [at for at in boundaries(run.nodes) if 0 < at < len(run.text)])
    return Made(woven(run, turned.text, turned.links), turned.chances)


async def plain(turner: Turner, document: str) -> Made:
    turned = await turner.text(document, Unit(""))
    return Made(turned.text, turned.chances)


async def subtitles(turner: Turner, document: str) -> Made:
    """Every line but numbers and times."""
    lines = _LINES.split(document)
    fixed = [number % 2 == 1 or _TIMING.match(line) is not None for number, line in enumerate(lines)]
    done = iter(await gather([plain(turner, line) for line, stays in zip(lines, fixed, strict=True) if not stays]))
    return _whole([Made(line) if stays else next(done) for line, stays in zip(lines, fixed, strict=True)])


def _whole(made: list[Made]) -> Made:
    return Made("".join(each.text for each in made), tuple(chance for each in made for chance in each.chances))


FORMATS: Final[dict[str, Callable[[Turner, str], Coroutine[Any, Any, Made]]]] = {
    ".txt": plain,
    ".html": html,
    ".htm": html,
    ".srt": subtitles,
    ".vtt": subtitles,
}


def ending(name: str) -> str:
    """How a file is to be read, by its name; one without an ending is text."""
    found = f".{name.rpartition('.')[2].lower()}" if "." in name else ".txt"
    if found not in FORMATS:
        raise invalid(f"file format not supported; it may be {', '.join(FORMATS)}")
    return found


def decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise invalid("the file is not UTF-8 text") from None
