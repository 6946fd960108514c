"""The best score so far, where it was reached, and how many measurements have passed without a better one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final


@final
class Best:
    """With a `patience` above 0, so many measurements in a row without a better score exhaust it."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self.forget()

    def forget(self) -> None:
        self.score: float | None = None
        self.update: int | None = None
        self._since = 0

    def take(self, update: int, score: float) -> bool:
        """Is it the best one? A score that is no number is worse than any, and of equal ones the first is better."""
        score = -math.inf if math.isnan(score) else score
        better = self.score is None or score > self.score
        if better:
            self.score, self.update = score, update
        self._since = 0 if better else self._since + 1
        return better

    @property
    def exhausted(self) -> bool:
        return 0 < self._patience <= self._since

    def state(self) -> dict[str, Any]:
        return {"score": self.score, "update": self.update, "since": self._since}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.score, self.update, self._since = state["score"], state["update"], state["since"]
