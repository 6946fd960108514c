"""How a run stands: all that changes as it goes on, taken into a checkpoint and put back to the bit.

It does not know when to save, nor who looks on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain
from typing import Any, Generic, final

import torch
from torch import Tensor

from regard.fault import Fault
from regard.train import randomness
from regard.train.best import Best
from regard.train.checkpoint import Checkpoint
from regard.train.feed import Feed
from regard.train.learner import B, Learner, Stream, Weights
from regard.train.meter import Meter
from regard.train.pace import Pace
from regard.train.plan import Plan
from regard.train.replay import Replay
from regard.train.schedule import Clock
from regard.train.update import Update
from regard.train.watch import Place


@final
class Standing(Generic[B]):
    """The parts of one run, and its three numbers: updates done, the last regular checkpoint, why it has ended."""

    def __init__(self, model: Learner[B], stream: Stream[B], plan: Plan, now: float) -> None:
        update = Update(model, plan.descent, plan.precision)
        steady = update.device.type == "cuda" and model.steady and plan.replay == "auto"
        self.update: Update[B] | Replay[B] = Replay(update) if steady else update
        self.feed = Feed(stream)
        self.meter = Meter(update.device)
        self.average = plan.averaging.of(model)
        self.pace = Pace(plan.budget, plan.checkpoint_updates, stream.batches(0))
        self.best = Best(plan.patience)
        self.clock = Clock(now)
        self.updates = 0
        self.marked = 0
        self.why = ""
        self._model = model
        self._optimiser = update.optimiser
        self._plan = plan

    def place(self) -> Place:
        seconds, epochs = self.clock.seconds, self.feed.epochs
        progress = self._plan.budget.progress(self.pace.stretched(seconds), epochs, self.updates)
        left = seconds * (1 - progress) / progress if progress > 0 else None
        return Place(self.updates, epochs, progress, seconds, left)

    def finite(self) -> bool:
        """Are all weights numbers? Waits for the device."""
        return bool(
            torch.stack([weight.detach().isfinite().all() for _, weight in self._model.named_parameters()]).all()
        )

    def tensors(self) -> dict[str, Tensor]:
        parts = {
            "model": _lasting(self._model),
            "optimiser": self._optimiser.state(),
            "average": self.average.state(),
            "meter": self.meter.tensors(),
            "random": randomness.tensors(),
        }
        return {f"{part}/{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}

    def words(self) -> dict[str, Any]:
        return {
            "plan": self._plan.fixed(),
            "limits": self._limits(),
            "updates": self.updates,
            "marked": self.marked,
            "why": self.why,
            "seconds": self.clock.seconds,
            "feed": self.feed.state(),
            "pace": self.pace.state(),
            "best": self.best.state(),
            "meter": self.meter.words(),
            "random": randomness.words(),
        }

    def restore(self, checkpoint: Checkpoint, now: float) -> None:
        words = checkpoint.state
        if changed := self._plan.differing(words["plan"]):
            raise Fault(f"{checkpoint.path}: this run was begun with {changed}; change it back or take another folder")
        self.restore_weights(checkpoint)
        self._optimiser.restore(checkpoint.under("optimiser"))
        self.meter.restore(checkpoint.under("meter"), words["meter"])
        self.updates, self.marked = words["updates"], words["marked"]
        self.why = words["why"] if words["limits"] == self._limits() else ""  # with other limits, it may go on
        self.clock = Clock(now, words["seconds"])
        self.feed.restore(words["feed"])
        self.pace.restore(words["pace"])
        self.best.restore(words["best"])
        randomness.restore(checkpoint.under("random"), words["random"])

    @torch.no_grad()
    def restore_weights(self, checkpoint: Checkpoint) -> None:
        """Those of the model and their averages alone."""
        saved = checkpoint.under("model")
        there = _lasting(self._model)
        if {name: tensor.shape for name, tensor in saved.items()} != {name: own.shape for name, own in there.items()}:
            raise Fault(f"{checkpoint.path}: the weights of another model; take another folder")
        for name, own in there.items():
            own.copy_(saved[name])
        self.average.restore(checkpoint.under("average"))

    def _limits(self) -> dict[str, Any]:
        return {**asdict(self._plan.budget), "patience": self._plan.patience}


def _lasting(model: Weights) -> dict[str, Tensor]:
    """Weights and buffers that make the model what it is: a shared one once, and no buffers that are made anew."""
    lasting = model.state_dict().keys()
    every: Mapping[str, Tensor] = dict(chain(model.named_parameters(), model.named_buffers()))
    return {name: tensor.detach() for name, tensor in every.items() if name in lasting}
