"""Align: how do energies become weights?

It does not know where the energies come from; it gives a slot out of scope exactly nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.memory import Past


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """The weights, and, where a slot was sampled, its log-probability and the entropy of what it was sampled from."""

    weights: Float[Tensor, "*batch query slot"]
    log_prob: Float[Tensor, "*batch query"] | None = None
    entropy: Float[Tensor, "*batch query"] | None = None


class Align(nn.Module, ABC):
    sequential: ClassVar[bool] = False  # True: needs the previous weights, so one query at a time

    def first(self, mask: Bool[Tensor, "*batch slot"]) -> Float[Tensor, "*batch slot"]:
        """The weights 'before' the first step: uniform over real slots."""
        return mask / mask.sum(-1, keepdim=True).clamp(min=1)

    @abstractmethod
    def forward(
        self,
        energy: Float[Tensor, "*batch query slot"],
        mask: Bool[Tensor, "*#batch #query slot"],
        past: Past,
    ) -> Choice: ...

    if TYPE_CHECKING:
        __call__ = forward


def masked_softmax(
    energy: Float[Tensor, "*batch query slot"], mask: Bool[Tensor, "*#batch #query slot"]
) -> Float[Tensor, "*batch query slot"]:
    """Softmax over allowed slots; a row with no allowed slot is all zeros, never NaN.

    An energy of minus infinity is a score's own way of refusing a slot, so it counts as not allowed.
    """
    allowed = mask & (energy > float("-inf"))
    return torch.softmax(energy.masked_fill(~allowed, torch.finfo(energy.dtype).min), dim=-1) * allowed
