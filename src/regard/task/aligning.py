"""Aligning: the word links of given pairs, read off a translator's attention, and how right they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from regard.fault import Fault
from regard.source.report import Kind, Report
from regard.source.rows import Row, rows
from regard.task.corpus import Table, Tell
from regard.task.reading import large
from regard.task.translator import CHARACTERS, Translator
from regard.trace import fold, pharaoh
from regard.trace.alignment import Agreement, Link, aer, pairs, record
from regard.trace.core import Axis

TOGETHER: Final = 256  # pairs that are read at once

Found = tuple[tuple[Link, ...], Axis, Axis]


def aligned(known: Translator, table: Table, form: Literal["pharaoh", "json"], tell: Tell) -> Iterator[str]:
    """A line for every row of the table, an empty one (or null) where it holds no pair."""
    for found in linked(known, table, tell):
        if form == "json":
            yield json.dumps(None if found is None else record(*found), ensure_ascii=False)
        else:
            yield "" if found is None else pharaoh.written(pairs(found[0]))


def judged(known: Translator, table: Table, gold: Path, tell: Tell) -> Iterator[str]:
    """Precision, recall and alignment error rate against links made by hand."""
    wanted = pharaoh.gold_file(gold)
    found = [frozenset() if each is None else pairs(each[0]) for each in linked(known, table, tell)]
    if len(found) != len(wanted):
        raise Fault(f"{gold} has {len(wanted):,} lines and {table.name} has {len(found):,}; they must go together")
    whole = Agreement(0, 0, 0, 0)
    for one, other in zip(found, wanted, strict=True):
        whole = whole + aer(one, other.sure, other.possible)
    yield f"AER        {whole.aer:6.1%}    of {len(found):,} pairs"
    yield f"precision  {whole.precision:6.1%}"
    yield f"recall     {whole.recall:6.1%}"


def linked(known: Translator, table: Table, tell: Tell) -> Iterator[Found | None]:
    """The links of every row with the words they count; None for a row that holds no pair."""
    if not known.looks:
        raise Fault(f"{known.bundle.where}: this model has no attention, no links can be read off it")
    report = Report()
    coming = rows(table.source, table.target)
    while some := list(islice(coming, TOGETHER)):
        good = [_good(row, known, report) for row in some]
        pairs = [(row.source, known.forced(row.target)) for row, fine in zip(some, good, strict=True) if fine]
        traces = iter(known.traces(pairs))
        for fine in good:
            if fine:
                trace = next(traces)
                plain = fold.words(trace, specials=False)
                yield known.links(trace), plain.source, plain.target
            else:
                yield None
    if report.counts:
        for line in report.lines():
            tell(f"{table.name}: {line}")


def _good(row: Row, known: Translator, report: Report) -> bool:
    report.rows += 1
    fault = row.fault or _fault(row, known)
    if fault is not None:
        report.add(fault, row.place)
    return fault is None


def _fault(row: Row, known: Translator) -> Kind | None:
    if max(len(row.source), len(row.target)) > CHARACTERS:
        return Kind.TOO_LONG
    source, target = known.pieces(row.source), known.forced(row.target)
    if not (source and target):  # cleaning may leave nothing of a side
        return Kind.EMPTY
    return Kind.TOO_LONG if large(source, target) else None
