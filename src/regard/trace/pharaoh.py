"""Pharaoh: links as `0-0 1-2`, source-target from 0, one sentence a line; and gold links as `1-1 2p3`, from 1.

In gold lines `i-j` is sure and `ipj` possible. It reads and writes links; it does not know where they came from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from regard.fault import Fault
from regard.trace.alignment import Pairs

LINK: Final = re.compile(r"([0-9]+)([-p])([0-9]+)")


@final
@dataclass(frozen=True, slots=True)
class Gold:
    """Links made by hand, counted from 0. Every sure link is a possible one."""

    sure: Pairs
    possible: Pairs


def written(links: Pairs) -> str:
    """`0-0 1-2`, in the source's order; an empty line where nothing is linked."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read(line: str, where: str = "links") -> Pairs:
    """What `written` wrote."""
    return frozenset((source, target) for source, _, target in _parsed(line, 0, where))


def read_gold(line: str, where: str = "gold links") -> Gold:
    """One line of `i-j` (sure) and `ipj` (possible), counted from 1 there and from 0 here."""
    found = _parsed(line, 1, where)
    sure = frozenset((source, target) for source, kind, target in found if kind == "-")
    return Gold(sure, sure | {(source, target) for source, _, target in found})


def gold_file(path: str | Path) -> list[Gold]:
    """A file of gold links, a sentence a line."""
    return [read_gold(line, f"{path}, line {at}") for at, line in enumerate(_lines(path), 1)]


def links_file(path: str | Path) -> list[Pairs]:
    """A file of links in the Pharaoh format, a sentence a line."""
    return [read(line, f"{path}, line {at}") for at, line in enumerate(_lines(path), 1)]


def _parsed(line: str, first: int, where: str) -> list[tuple[int, str, int]]:
    found = []
    for token in line.split():
        match = LINK.fullmatch(token)
        kinds = "-" if first == 0 else "-p"
        if match is None or match[2] not in kinds:
            wanted = "source-target, as in 0-2" if first == 0 else "i-j (sure) or ipj (possible), as in 1-3"
            raise Fault(f"{where}: {token!r} is no link; write {wanted}")
        source, target = int(match[1]) - first, int(match[3]) - first
        if min(source, target) < 0:
            raise Fault(f"{where}: {token!r} counts from 0, but gold links count from 1")
        found.append((source, match[2], target))
    return found


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Fault(f"{path}: cannot be read ({what})") from None
