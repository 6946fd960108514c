"""Scope: which slots may this query look at, and with what prior?

It knows positions, lengths and the query; it does not know the keys, nor how well they match.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.memory import Past


@final
@dataclass(frozen=True, slots=True)
class Window:
    """The slots in scope. `prior` multiplies the weights after alignment, so they may then sum to less than 1."""

    mask: Bool[Tensor, "*#batch #query slot"]
    prior: Float[Tensor, "*#batch query slot"] | None = None


class Scope(nn.Module, ABC):
    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "*batch query dim"],
        mask: Bool[Tensor, "*#batch slot"],
        past: Past,
    ) -> Window: ...

    if TYPE_CHECKING:
        __call__ = forward


def positions(query: Tensor, mask: Tensor, past: Past) -> tuple[Int[Tensor, "query 1"], Int[Tensor, " slot"]]:
    """The step number of each query, as a column, and the number of each slot."""
    steps = past.step + torch.arange(query.shape[-2], device=mask.device)
    return steps.unsqueeze(-1), torch.arange(mask.shape[-1], device=mask.device)
