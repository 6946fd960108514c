"""Tables of pairs, read as a stream: TSV, two parallel files, JSON lines, Parquet. It does not know vocabularies.

Rows are skipped only for the reasons that the report prints; what is wrong with the file itself is a Fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final, final

from regard.fault import Fault
from regard.source import lines as plain
from regard.source.report import Kind, Report
from regard.source.rows import Row, rows, text_of
from regard.source.seen import Seen

_CONTROL: Final = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence, its translation, and where they stand: 'file:line'."""

    source: str
    target: str
    place: str


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One line of one side."""

    text: str
    place: str


@final
@dataclass(frozen=True, slots=True)
class References:
    """A sentence with every translation that a table has of it, in the order of the table."""

    source: str
    targets: tuple[str, ...]
    place: str


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """Which pairs are no pairs. A ratio of 0 allows any; it is asked only of sides longer than `short` characters."""

    longest: int = 20_000  # characters a side
    ratio: float = 9.0
    short: int = 20
    distinct: bool = True


def read(source: str | Path, target: str | Path | None, report: Report, limits: Limits | None = None) -> Iterator[Pair]:
    """The pairs of a table, or of two parallel files; `-` is a TSV on standard input."""
    limits = limits or Limits()
    seen = Seen()
    for row in rows(source, target):
        report.rows += 1
        fault = row.fault or _fault(row, limits)
        if fault is None and limits.distinct and not seen.add(_digest(row)):
            fault = Kind.REPEATED
        if fault is not None:
            report.add(fault, row.place)
            continue
        yield _repaired(row, report)
    if report.kept <= 0:
        raise Fault(f"{plain.name(source)}: holds no pairs ({report.lines()[0]})")


def read_lines(path: str | Path, report: Report) -> Iterator[Line]:
    """Every line of one side, the faulty ones too: mended as far as can be, and counted. None is left out."""
    for number, raw in enumerate(plain.lines(path), start=1):
        place = f"{plain.name(path)}:{number}"
        report.rows += 1
        if len(raw) > plain.LONGEST:
            report.add(Kind.TOO_LONG, place)
        text = raw.decode(errors="replace")
        if "\ufffd" in text and text_of(raw) is None:
            report.add(Kind.ENCODING, place)
        if "\0" in text:
            report.add(Kind.NUL, place)
            text = text.replace("\0", "")
        if _CONTROL.search(text):
            report.add(Kind.CONTROL, place)
            text = _CONTROL.sub(" ", text)
        yield Line(text, place)


def group(pairs: Iterable[Pair]) -> list[References]:
    """Pairs with the same source put together, in the order they are first seen."""
    together: dict[str, list[Pair]] = {}
    for pair in pairs:
        together.setdefault(pair.source, []).append(pair)
    return [
        References(source, tuple(dict.fromkeys(pair.target for pair in same)), same[0].place)
        for source, same in together.items()
    ]


def _fault(row: Row, limits: Limits) -> Kind | None:
    source, target = len(row.source), len(row.target)
    if "\0" in row.source or "\0" in row.target:
        return Kind.NUL
    if not row.source.strip() or not row.target.strip():
        return Kind.EMPTY
    if max(source, target) > limits.longest:
        return Kind.TOO_LONG
    if limits.ratio and max(source, target) > max(limits.short, limits.ratio * min(source, target)):
        return Kind.RATIO
    return None


def _digest(row: Row) -> int:
    return int.from_bytes(blake2b(f"{row.source}\t{row.target}".encode(), digest_size=8).digest(), "little")


def _repaired(row: Row, report: Report) -> Pair:
    if not (_CONTROL.search(row.source) or _CONTROL.search(row.target)):
        return Pair(row.source, row.target, row.place)
    report.add(Kind.CONTROL, row.place)
    return Pair(_CONTROL.sub(" ", row.source), _CONTROL.sub(" ", row.target), row.place)
