"""Encoded: pairs of text → pairs of ids, as a stream. It does not know where the ids are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from regard.source.report import Kind, Report
from regard.source.table import Pair
from regard.source.vocabulary.core import Vocabulary

_PAIRS: Final = 4096  # cut at once: enough for all cores, few enough to be small


def encoded(
    pairs: Iterable[Pair], source: Vocabulary, target: Vocabulary, longest: int, report: Report
) -> Iterator[tuple[list[int], list[int]]]:
    """The ids of each pair, whose text comes cleaned. A pair with a side of more than `longest` tokens, or of none, is
    counted by the report and left out.
    """
    coming = iter(pairs)
    while chunk := list(islice(coming, _PAIRS)):
        sources = source.encode_all([pair.source for pair in chunk])
        targets = target.encode_all([pair.target for pair in chunk])
        for pair, *sides in zip(chunk, sources, targets, strict=True):
            lengths = [len(side) for side in sides]
            if max(lengths) > longest:
                report.add(Kind.TOO_LONG, pair.place)
            elif not min(lengths):  # cleaning may leave nothing of a side
                report.add(Kind.EMPTY, pair.place)
            else:
                yield sides[0], sides[1]
