"""Means over the updates since the last reading, added up on the device: only `read` waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.train.learner import Loss


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """`losses` holds the mean per token of `loss` and of every part; counts are of the updates since the last reading."""

    losses: Mapping[str, float]
    norm: float
    tokens: int
    skipped: int  # gradients that were not finite
    in_a_row: int  # the longest run of these, which may have begun before
    lost: int  # losses that were not finite


@final
class Meter:
    """Adds up; a loss that is no number spoils only the means of its own reading."""

    def __init__(self, device: torch.device) -> None:
        self._row = torch.zeros((), device=device)
        self._clear()

    def _clear(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._weights: dict[str, int] = {}
        zero = torch.zeros_like(self._row)
        self._norm, self._skipped, self._lost, self._longest = zero, zero, zero, self._row
        self._updates = 0

    @torch.no_grad()
    def add(self, loss: Loss, norm: Float[Tensor, ""]) -> None:
        for name, value in {"loss": loss.total.detach(), **loss.parts}.items():
            self._sums[name] = self._sums.get(name, 0.0) + value.detach().float() * loss.tokens
            self._weights[name] = self._weights.get(name, 0) + loss.tokens
        bad = (~norm.isfinite()).float()
        self._row = (self._row + 1) * bad
        self._longest = torch.maximum(self._longest, self._row)
        self._skipped = self._skipped + bad
        self._lost = self._lost + (~loss.total.detach().isfinite()).float()
        self._norm = self._norm + norm.nan_to_num(0.0, 0.0, 0.0)
        self._updates += 1

    def read(self) -> Reading:
        """What has come together since the last reading. Everything crosses from the device at once."""
        counts = [self._norm, self._skipped, self._longest, self._lost]
        norm, skipped, in_a_row, lost, *sums = torch.stack([*counts, *self._sums.values()]).tolist()
        reading = Reading(
            losses={name: total / max(1, self._weights[name]) for name, total in zip(self._sums, sums, strict=True)},
            norm=norm / max(1.0, self._updates - skipped),
            tokens=self._weights.get("loss", 0),
            skipped=int(skipped),
            in_a_row=int(in_a_row),
            lost=int(lost),
        )
        self._clear()
        return reading
