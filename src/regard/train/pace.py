"""When to save and when to measure: `checkpoint_updates` apart, and in a short run often enough to see it learn.

Where updates or epochs are counted, both depend on the position alone, so that a run repeats: each checkpoint is
measured, and there are five of them at least. Where minutes are counted, a checkpoint is due after a tenth of them at
the latest, saving may take a twentieth of the time and measuring a twelfth of it; a checkpoint that cannot afford to be
measured is only saved. The end is measured always, and the budget leaves room for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from regard.train.schedule import Budget

AT_LEAST = 5
MEASURING, SAVING = 0.08, 0.05
SLICE = 0.1  # of the minutes, between two checkpoints


@final
class Pace:
    """Costs are those last seen: a dev set takes about as long as it took before."""

    def __init__(self, budget: Budget, every: int, batches: int) -> None:
        """`batches` are those of an epoch."""
        self._whole = budget.minutes * 60
        wholes = [whole for whole in (budget.updates, round(budget.epochs * batches)) if whole > 0]
        self._every = every if self._whole else max(1, min([every, *(whole // AT_LEAST for whole in wholes)]))
        self._last = (0, 0.0)
        self._measuring = 0.0
        self._measured = 0.0
        self._saving = 0.0

    @property
    def timed(self) -> bool:
        return self._whole > 0

    def due(self, update: int, seconds: float) -> bool:
        """Is it time for a checkpoint?"""
        if not self.timed:
            return update % self._every == 0
        passed = seconds - self._last[1]
        enough = update - self._last[0] >= self._every or passed >= SLICE * self._whole
        return enough and passed * SAVING >= self._saving

    def affords(self, seconds: float) -> bool:
        """May this checkpoint be measured?"""
        return not self.timed or self._measured + self._measuring <= MEASURING * (seconds + self._measuring)

    def measured(self, seconds: float) -> None:
        """A measurement took so long."""
        self._measuring = seconds
        self._measured += seconds

    def reached(self, update: int, seconds: float) -> None:
        """A checkpoint is about to be saved, which is to hold this place itself."""
        self._last = (update, seconds)

    def saved(self, took: float) -> None:
        """Saving it took so many seconds."""
        self._saving = took

    def stretched(self, seconds: float) -> float:
        """`seconds` as the budget should count them, so that the last measurement ends when it does."""
        if not self.timed:
            return seconds
        last = min(self._measuring + self._saving, self._whole / 4)
        return seconds * self._whole / (self._whole - last)

    def state(self) -> dict[str, int | float]:
        update, seconds = self._last
        return {
            "update": update,
            "seconds": seconds,
            "measuring": self._measuring,
            "measured": self._measured,
            "saving": self._saving,
        }

    def restore(self, state: Mapping[str, int | float]) -> None:
        self._last = (int(state["update"]), state["seconds"])
        self._measuring, self._measured, self._saving = state["measuring"], state["measured"], state["saving"]
