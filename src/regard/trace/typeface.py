"""Typeface: which fonts hold the letters of a text, and which script no font on the machine can draw.

The package's own font has Latin and Devanagari; for any other letter a font of the machine is looked for.
"""

from __future__ import annotations

import base64
import io
import logging
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

FONT: Final = Path(__file__).parent / "font" / "RegardSans.ttf"
FAMILY: Final = ("Regard Sans", "DejaVu Sans")
CJK: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "KANGXI", "IDEOGRAPHIC"})
SYMBOLS: Final = frozenset({"So", "Sm", "Sk", "Sc"})
UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})  # nothing is drawn for them


def families(text: str) -> list[str]:
    """Our fonts, then fonts of the machine for the letters that ours lack."""
    return [*FAMILY, *_found(text)[0]]


def missing(texts: Iterable[str]) -> str | None:
    """One line that says which letters no font here has and what to install; None when all can be drawn."""
    lacking = sorted(_found("".join(texts))[1])
    if not lacking:
        return None
    by_package: dict[str, dict[str, list[str]]] = {}
    for letter in map(chr, lacking):
        by_package.setdefault(_package(letter), {}).setdefault(_script(letter), []).append(letter)
    told = []
    for package, scripts in by_package.items():
        named = ", ".join(f"{script} ({' '.join(letters[:3])})" for script, letters in scripts.items())
        told.append(f"{named}: install {package}")
    return f"boxes stand for letters that no font on this machine has: {'; '.join(told)}"


@lru_cache(8)
def embedded(text: str) -> str:
    """The part of our font that this text needs, as base64 of a WOFF; nothing when it needs no more than Latin."""
    wanted = {ord(letter) for letter in text}
    if not any(letter > 0x2FF for letter in wanted & _held(str(FONT))):
        return ""
    from fontTools import subset  # type: ignore[import-untyped]

    # Our font says it is older than 1970, which is no news to who writes a page.
    logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)
    options = subset.Options(flavor="woff", layout_features=["*"], name_IDs=[], hinting=False)
    part, out = subset.Subsetter(options), io.BytesIO()
    # The dotted circle carries a vowel sign that stands alone, as in a piece of a word.
    part.populate(unicodes=[*wanted, *range(0x20, 0x7F), 0x25CC, 0x2026])
    with subset.load_font(str(FONT), options) as font:
        part.subset(font)
        subset.save_font(font, out, options)
    return base64.b64encode(out.getvalue()).decode("ascii")


def _found(text: str) -> tuple[list[str], set[int]]:
    """Families of the machine that help with what ours lack, and the letters that nothing helps with."""
    from matplotlib import font_manager

    fonts = font_manager.fontManager
    if not any(entry.fname == str(FONT) for entry in fonts.ttflist):
        fonts.addfont(str(FONT))
    lacking = {ord(letter) for letter in text if _seen(letter)}
    for family in FAMILY:
        lacking -= _held(font_manager.findfont(family))
    found = _help(fonts, lacking)
    if lacking:
        _look_again(fonts)
        found += _help(fonts, lacking)
    return found, lacking


def _help(fonts: Any, lacking: set[int]) -> list[str]:
    """The plainest families that have some of the letters; what they have is taken from `lacking`."""
    found: list[str] = []
    for entry in sorted(fonts.ttflist, key=_plainest_first):
        if not lacking:
            break
        if "Last Resort" not in entry.name and entry.name not in found and lacking & _held(entry.fname):
            found.append(entry.name)
            lacking -= _held(entry.fname)
    return found


def _look_again(fonts: Any) -> None:
    """Fonts that were installed after matplotlib made its list, which it keeps for good."""
    from matplotlib import font_manager

    for path in sorted({*font_manager.findSystemFonts()} - {entry.fname for entry in fonts.ttflist}):
        try:
            fonts.addfont(path)
        except (OSError, RuntimeError, ValueError):  # not a font that matplotlib can read
            continue


def _seen(letter: str) -> bool:
    selects = unicodedata.name(letter, "").startswith("VARIATION SELECTOR")
    return unicodedata.category(letter) not in UNSEEN and not selects


@cache
def _held(path: str) -> frozenset[int]:
    from matplotlib import font_manager

    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError):  # taken off the machine since
        return frozenset()


def _plainest_first(entry: Any) -> tuple[bool, bool, str, str]:
    return entry.style != "normal", entry.weight not in {400, "normal", "regular"}, entry.name, entry.fname


def _script(letter: str) -> str:
    """The first word of the letter's Unicode name: `Bengali`, `CJK`."""
    if unicodedata.category(letter) in SYMBOLS:
        return "symbols"
    name = unicodedata.name(letter, "unnamed").split()[0].partition("-")[0]
    return name if name == "CJK" else name.capitalize()


def _package(letter: str) -> str:
    """The Debian package with a font that has it."""
    if unicodedata.category(letter) in SYMBOLS:
        return "fonts-symbola"
    return "fonts-noto-cjk" if _script(letter).upper() in CJK else "fonts-noto-core"
