"""Label: a word as it can be drawn, on one line and within a given room, no letter ever cut from its signs."""

from __future__ import annotations

import unicodedata
from typing import Final

from rich.cells import cell_len

LEFT_TO_RIGHT: Final = "\u200e"  # keeps a line that ends in Arabic or Hebrew from being turned around as a whole


def columns(text: str) -> int:
    """The most columns a terminal may give a text: spacing vowel signs ('ा') take none in some and one in others."""
    return cell_len(text) + sum(unicodedata.category(letter) == "Mc" and cell_len(letter) == 0 for letter in text)


def clipped(text: str, room: int) -> str:
    """The text, or its beginning and '…', in at most `room` columns; never a letter without its signs."""
    if columns(text) <= room:
        return text
    kept, taken = [], 0
    for cluster in clusters(text):
        taken += columns(cluster)
        if taken > room - 1:
            break
        kept.append(cluster)
    return "".join(kept) + "…" if room > 0 else ""


def clusters(text: str) -> list[str]:
    """Letters with the signs that sit on them."""
    found: list[str] = []
    for letter in text:
        joins = unicodedata.category(letter) in {"Mn", "Mc", "Me", "Cf"}
        if joins and found:
            found[-1] += letter
        else:
            found.append(letter)
    return found


def clean(label: str) -> str:
    """A label on one line: a control character (a tab, an escape) would move the cursor, a bidi one turn the line."""
    return "".join("␣" if _moves(each) else each for each in label)


def turned(label: str) -> bool:
    """Whether any of it is written from right to left."""
    return any(unicodedata.bidirectional(each) in {"R", "AL"} for each in label)


def _moves(letter: str) -> bool:
    commands = unicodedata.bidirectional(letter) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return commands or unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}
