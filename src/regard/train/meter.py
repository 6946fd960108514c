"""Means over the updates since the last reading, added up on the device: only `read` waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.train.learner import Loss


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """`losses` holds the mean per token of `loss` and every part; counts are of the updates since the last reading."""

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

    @property
    def updates(self) -> int:
        """Since the last reading."""
        return self._updates

    def row(self) -> int:
        """How many updates have been skipped in a row up to now. Waits for the device."""
        return int(self._row)

    def _clear(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._weights: dict[str, int] = {}
        zero = torch.zeros_like(self._row)
        self._norm, self._skipped, self._lost, self._longest = zero, zero, zero, self._row
        self._updates = 0

    @torch.no_grad()
    def add(self, loss: Loss, norm: Float[Tensor, ""], tokens: int) -> None:
        """`tokens` weighs the losses, which are means over so many."""
        for name, value in {"loss": loss.total, **loss.parts}.items():
            self._sums[name] = self._sums.get(name, 0.0) + value.detach().float() * tokens
            self._weights[name] = self._weights.get(name, 0) + tokens
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

    def tensors(self) -> dict[str, Tensor]:
        """With `words`, all that has been added since the last reading."""
        counts = {"row": self._row, "norm": self._norm, "skipped": self._skipped}
        sums = {f"sum/{name}": total for name, total in self._sums.items()}
        every = counts | {"lost": self._lost, "longest": self._longest} | sums
        return {name: value.clone() for name, value in every.items()}  # after a reading, several are one

    def words(self) -> dict[str, Any]:
        return {"updates": self._updates, "weights": self._weights}

    def restore(self, tensors: Mapping[str, Tensor], words: Mapping[str, Any]) -> None:
        there = {name: value.to(self._row.device, copy=True) for name, value in tensors.items()}
        self._row, self._norm, self._skipped = there["row"], there["norm"], there["skipped"]
        self._lost, self._longest = there["lost"], there["longest"]
        self._weights = dict(words["weights"])  # in the order of their first update, as the sums are to be
        self._sums = {name: there[f"sum/{name}"] for name in self._weights}
        self._updates = int(words["updates"])
