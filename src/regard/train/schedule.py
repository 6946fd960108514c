"""rate(p) = peak · min(1, p / warmup) · shape(p), where p in [0, 1] is how much of the budget is spent.

The schedules are pure functions of p, so that they fit themselves to any budget. They do not know what an update is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

Schedule = Literal["cosine", "linear", "inverse_sqrt", "constant"]


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """A run ends at whichever limit comes first; 0 means no such limit."""

    minutes: float = 0.0
    epochs: float = 0.0
    updates: int = 0

    def __post_init__(self) -> None:
        if not (self.minutes > 0 or self.epochs > 0 or self.updates > 0):
            raise ValueError("a budget needs minutes, epochs or updates")

    def progress(self, seconds: float, epochs: float, updates: int) -> float:
        """The furthest of the three; without minutes it depends on the position alone, so that runs repeat."""
        spent = ((seconds / 60, self.minutes), (epochs, self.epochs), (updates, self.updates))
        return min(1.0, max(part / whole for part, whole in spent if whole > 0))


def factor(progress: float, warmup: float, schedule: Schedule) -> float:
    """The share of the peak rate; the warm-up begins at a hundredth, as a rate of 0 would waste the first update."""
    rise = min(1.0, max(progress / warmup, 0.01)) if warmup > 0 else 1.0
    fallen = max(0.0, (progress - warmup) / (1 - warmup))
    match schedule:
        case "cosine":
            return rise * (1 + math.cos(math.pi * fallen)) / 2
        case "linear":
            return rise * (1 - fallen)
        case "inverse_sqrt":  # Vaswani 2017, eq. 3
            knee = max(warmup, 0.01)
            return rise * math.sqrt(knee / max(progress, knee))
        case "constant":
            return rise


@final
class Clock:
    """Seconds of work, added up over stops: what a wall clock does meanwhile is no matter."""

    def __init__(self, now: float, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._last = now

    def tick(self, now: float) -> float:
        """`now` is of a monotonic clock; should it jump back all the same, no time has passed."""
        self.seconds += max(0.0, now - self._last)
        self._last = now
        return self.seconds
