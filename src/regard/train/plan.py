"""What a run is asked for, and what comes of it. It does not know which model or which data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, final

from regard.train.average import Averaging
from regard.train.schedule import Budget
from regard.train.update import Descent, Precision


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """`identity` stands for all that shapes the run and is not said here: recipe, data. Resuming compares it."""

    budget: Budget
    descent: Descent = field(default_factory=Descent)
    averaging: Averaging = field(default_factory=Averaging)
    precision: Precision = "auto"
    checkpoint_updates: int = 500
    keep: int = 2
    patience: int = 0  # measurements without a better score; 0: never stop early
    seed: int = 1
    identity: str = ""
    replay: Literal["auto", "never"] = "auto"  # of updates as CUDA graphs

    def fixed(self) -> dict[str, Any]:
        """What a resumed run must not change. A budget may grow, and the schedule then stretches with it."""
        shape = {"seed": self.seed, "precision": self.precision, **asdict(self.descent)}
        averaging = {f"averaging {key}": value for key, value in asdict(self.averaging).items()}
        return {"identity": self.identity} | shape | averaging

    def differing(self, before: Mapping[str, Any]) -> str:
        """What is not as it was, in words; empty if nothing is."""
        now = self.fixed()
        if before.get("identity") != now["identity"]:
            return "another recipe or other data"
        changed = [f"{key} = {before.get(key)} (now {now[key]})" for key in now if before.get(key) != now[key]]
        return ", ".join(changed)


@final
@dataclass(frozen=True, slots=True)
class Result:
    """Of a run that came to its end; the model then holds the weights to ship."""

    updates: int
    epochs: float
    seconds: float  # of work, those before a stop too
    score: float | None  # the best one
    best: Path | None  # the checkpoint that had it
    checkpoint: Path  # the last one
    why: str  # it ended
