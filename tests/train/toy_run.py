"""A small real model to train, with dropout, an embedding and a moving baseline, and batches drawn at random."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, nn

from regard.train.average import Averaging
from regard.train.learner import Measure
from regard.train.plan import Plan
from regard.train.schedule import Budget
from regard.train.watch import Measured, Place, Report

SYMBOLS, WIDTH, ROWS = 11, 7, 5
AVERAGES = [Averaging("ema", decay=0.8), Averaging("last", last=3), Averaging("none")]


@final
@dataclass(frozen=True, slots=True)
class Rows:
    ids: Tensor
    wanted: Tensor
    tokens: int

    def to(self, device: torch.device, /) -> Rows:
        return Rows(self.ids.to(device), self.wanted.to(device), self.tokens)


@final
@dataclass(frozen=True, slots=True)
class Surprise:
    total: Tensor
    parts: Mapping[str, Tensor]


@final
class Toy(nn.Module):
    """Each symbol's class is its number modulo 3; some of its inputs are drawn anew, as by scheduled sampling."""

    def __init__(self, seed: int = 3, steady: bool = False) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(SYMBOLS, WIDTH)
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.3)
        self.outer = nn.Linear(WIDTH, 3)
        self.twin = self.outer  # a shared weight is saved once
        self.register_buffer("baseline", torch.zeros(()))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.baseline: Tensor
        self.spoiled: set[int] = set()  # the updates whose loss is no number
        self.steep: set[int] = set()  # those whose loss is one, but not its gradients
        self.seen = 0
        self.steady = steady

    def forward(self, ids: Tensor) -> Tensor:
        return self.outer(self.dropout(torch.tanh(self.inner(self.embedding(ids)))))  # type: ignore[no-any-return]

    def loss(self, batch: Rows, progress: float, /) -> Surprise:
        drawn = torch.rand(batch.ids.shape, device=batch.ids.device) < 0.1 * (1.0 if self.steady else progress)
        ids = torch.where(drawn, torch.randint_like(batch.ids, SYMBOLS), batch.ids)
        total = nn.functional.cross_entropy(self(ids), batch.wanted)
        self.seen += 1
        if self.seen in self.spoiled:
            total = total * torch.nan
        if self.seen in self.steep:
            total = total + (self.outer.bias * 0).sqrt().sum()
        return Surprise(total, {"loss": total.detach()})

    def observe(self, loss: Any, /) -> None:
        self.baseline.lerp_(loss.total.detach(), 0.1)


@final
class Draws:
    """Epochs of batches, some of which are drawn from torch's generator and some fixed by the epoch's number."""

    def __init__(self, batches: int = 7) -> None:
        self._batches = batches

    def batches(self, number: int) -> int:
        return self._batches + number % 2

    def epoch(self, number: int, start: int) -> Iterator[Rows]:
        order = torch.Generator().manual_seed(number)
        fixed = torch.randint(SYMBOLS, (self.batches(number), ROWS), generator=order)
        for ids in fixed[start:]:
            mixed = torch.where(torch.rand(ROWS) < 0.5, ids, torch.randint(SYMBOLS, (ROWS,)))
            yield Rows(mixed, mixed % 3, ROWS)


@dataclass
class Log:
    """Keeps all it is told."""

    places: list[Place] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    scores: list[Measured] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    began_at: list[int] = field(default_factory=list)
    why: list[str] = field(default_factory=list)

    def began(self, place: Place) -> None:
        self.began_at.append(place.update)

    def updated(self, place: Place) -> None:
        self.places.append(place)

    def reported(self, report: Report) -> None:
        self.reports.append(report)

    def measured(self, measured: Measured) -> None:
        self.scores.append(measured)

    def told(self, line: str) -> None:
        self.lines.append(line)

    def ended(self, why: str) -> None:
        self.why.append(why)


class At(Log):
    """Does something after one update."""

    def __init__(self, update: int, act: Callable[[], object]) -> None:
        super().__init__()
        self._update = update
        self._act = act

    def updated(self, place: Place) -> None:
        super().updated(place)
        if place.update == self._update:
            self._act()


def ask(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@final
class Ticks:
    """A clock that moves on by so many seconds each time it is looked at."""

    def __init__(self, step: float, start: float = 0.0) -> None:
        self.time = start
        self.step = step

    def __call__(self) -> float:
        self.time += self.step
        return self.time


@final
class Scores:
    """Measures by a list of scores, and keeps the weights that it saw."""

    def __init__(self, model: Toy, scores: list[float]) -> None:
        self._model = model
        self._left = iter(scores)
        self.seen: list[dict[str, Tensor]] = []

    def __call__(self) -> dict[str, float]:
        assert not self._model.training
        assert not torch.is_grad_enabled()
        torch.rand(5)  # what a measurement draws is no matter
        self.seen.append(weights(self._model))
        return {"score": next(self._left)}


def drawn(model: Toy) -> Measure:
    """A score that depends on the weights, and draws."""

    def measure() -> Mapping[str, float]:
        return {"score": float(model(torch.arange(5)).abs().sum()) + 0 * float(torch.rand(()))}

    return measure


def weights(model: Toy) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(some: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> bool:
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


def plan(updates: int = 40, every: int = 10, **more: Any) -> Plan:
    return Plan(Budget(updates=updates), checkpoint_updates=every, **more)
