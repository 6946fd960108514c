"""Report: what was wrong in the data, counted by kind, the first of each named. It does not know file formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import final

from regard.fault import Fault


@final
class Kind(Enum):
    """What can be wrong with one row, and how a sentence about it goes on."""

    ENCODING = "not UTF-8"
    NUL = "with a NUL character"
    NO_TAB = "without a tab"
    EMPTY = "with an empty side"
    JSON = "not a JSON pair"
    TOO_LONG = "too long"
    RATIO = "with sides of too different lengths"
    REPEATED = "repeated"
    CONTROL = "with control characters"


REPAIRED = frozenset({Kind.CONTROL})  # the row is kept without them


@final
@dataclass(slots=True)
class Report:
    """Rows seen, and the faulty ones by kind. A row is skipped only for a reason that stands here.

    With `strict`, the first faulty row ends the reading instead.
    """

    strict: bool = False
    rows: int = 0
    counts: dict[Kind, int] = field(default_factory=dict)
    first: dict[Kind, str] = field(default_factory=dict)

    def add(self, kind: Kind, place: str) -> None:
        """Count one faulty row; `place` is its file and line."""
        if self.strict:
            raise Fault(f"{place}: {kind.value}; mend the line, or read without strict to have it counted and skipped")
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.first.setdefault(kind, place)

    @property
    def skipped(self) -> int:
        return sum(count for kind, count in self.counts.items() if kind not in REPAIRED)

    @property
    def kept(self) -> int:
        return self.rows - self.skipped

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"{self.kept:,} pairs read, {self.skipped:,} skipped"]
        reasons = [self._reason(kind) for kind in Kind if kind in self.counts and kind not in REPAIRED]
        if reasons:
            lines[0] += f": {', '.join(reasons)}"
        repaired = [self._reason(kind) for kind in Kind if kind in self.counts and kind in REPAIRED]
        if repaired:
            lines.append(f"repaired: {', '.join(repaired)}")
        return lines

    def as_dict(self) -> dict[str, object]:
        """For programs."""
        faults = {
            kind.name.lower(): {"count": self.counts[kind], "first": self.first[kind], "kept": kind in REPAIRED}
            for kind in Kind
            if kind in self.counts
        }
        return {"pairs": self.kept, "skipped": self.skipped, "faults": faults}

    def _reason(self, kind: Kind) -> str:
        return f"{self.counts[kind]:,} {kind.value} (first: {self.first[kind]})"
