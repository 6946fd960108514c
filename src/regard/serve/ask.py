"""Ask: what a request for a translation wants, checked in the order that clients know, with the texts they know.

It does not know how fields were encoded, nor how texts are translated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, final

from regard.serve.detect import Detected
from regard.serve.fields import Fields
from regard.serve.language import name
from regard.serve.library import Library
from regard.serve.refusal import Refusal, invalid, shown
from regard.serve.settings import Limits

AUTO: Final = "auto"
_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False, "": False}


@final
@dataclass(frozen=True, slots=True)
class Ask:
    """A request that can be answered. `sources` has a language a text, `detected` too where they were not given."""

    texts: tuple[str, ...]
    batch: bool
    sources: tuple[str, ...]
    target: str
    html: bool
    alternatives: int
    detected: tuple[Detected, ...] | None
    alignment: bool = False
    attention: bool = False
    confidence: bool = False


def asked(fields: Fields, library: Library, limits: Limits) -> Ask:
    """In this order: q, source, target, alternatives, batch, characters, languages, format, pair; then the rest."""
    q = fields.get("q")
    if not q:
        raise missing("q")
    source, target = word(fields, "source"), word(fields, "target")
    alternatives = _count(fields.get("alternatives"), limits.alternatives)
    texts = _texts(q, limits)
    detected = tuple(library.detector.detect([each])[0] for each in texts) if source == AUTO else None
    known = (supported(source, library),) * len(texts) if detected is None else tuple(d.language for d in detected)
    goal = supported(target, library)
    html = _format(fields.get("format"))
    for each in dict.fromkeys(known):
        if library.way(each, goal) is None:
            raise no_way(each, goal)
    more = {key: _flag(fields, key) for key in ("alignment", "attention", "confidence")}
    _beyond(fields, library, html, more, [(each, goal) for each in known])
    return Ask(tuple(texts), isinstance(q, list), known, goal, html, alternatives, detected, **more)


def no_way(source: str, target: str) -> Refusal:
    """Both languages are known, and nothing joins them."""
    what = f"{name(target)} ({target}) is not available as a target language from {name(source)} ({source})"
    return Refusal(400, what)


def missing(what: str) -> Refusal:
    return invalid(f"missing {what} parameter")


def word(fields: Fields, key: str) -> str:
    """One text that must be there."""
    value = fields.get(key)
    if not value:
        raise missing(key)
    if not isinstance(value, str):
        raise invalid(f"{key} parameter is not a string")
    return value


def _texts(q: Any, limits: Limits) -> list[str]:
    texts = q if isinstance(q, list) else [q]
    if not all(isinstance(each, str) for each in texts):
        raise invalid("q parameter is not a string, nor a list of strings")
    if isinstance(q, list):
        within(len(texts), limits.batch)
    within(sum(map(len, texts)), limits.characters)
    return texts


def within(count: int, limit: int) -> None:
    """So much text may be asked for."""
    if limit >= 0 and count > limit:
        raise invalid(f"request ({count}) exceeds text limit ({limit})")


def _count(value: Any, most: int) -> int:
    if value is None or value == "":
        return 0
    number: int | None = None
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
        number = int(value)
    elif isinstance(value, str) and value.strip().lstrip("+-").isascii() and value.strip().lstrip("+-").isdigit():
        number = int(value) if len(value) < 20 else most + 1
    if number is None:
        raise invalid("alternatives parameter is not a number")
    if number > most:
        raise invalid(f"alternatives parameter must be <= {most}")
    return max(0, number)


def supported(code: str, library: Library) -> str:
    """The language as the library calls it."""
    known = library.supported(code)
    if known is None:
        raise Refusal(400, f"{shown(code)} is not supported")
    return known


def _format(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value in {"", "text"}):
        return False
    if value != "html":
        raise Refusal(400, f"{shown(str(value))} format is not supported")
    return True


def _flag(fields: Fields, key: Literal["alignment", "attention", "confidence"] | str) -> bool:
    value = fields.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str) and value in _FLAGS:
        return _FLAGS[value]
    raise invalid(f"{key} parameter is not true or false")


def _beyond(
    fields: Fields, library: Library, html: bool, more: dict[str, bool], ways: Sequence[tuple[str, str]]
) -> None:
    """What this server cannot do is said, not left out."""
    if fields.get("glossary"):
        raise invalid("this server has no glossary; leave the glossary parameter out")
    for key in ("alignment", "attention"):
        if html and more[key]:
            raise invalid(f"{key} parameter counts characters of a text; it needs the text format")
    for source, target in dict.fromkeys(ways):
        way = library.way(source, target)
        if more["attention"] and way is not None and len(way) > 1:
            raise invalid(f"attention parameter: {source} to {target} goes through a third language")
