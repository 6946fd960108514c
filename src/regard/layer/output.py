r"""Output: $W o_t + b$, the score of every symbol; tied, $W$ is the embedding's table (Press & Wolf 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layer.dropout import locked
from regard.layer.embedding import Embedding
from regard.layer.product import linear


@final
class Output(nn.Module):
    def __init__(self, width: int, size: int, *, tied: Embedding | None = None, drop: float = 0.0) -> None:
        super().__init__()
        self.weight: Tensor
        if tied is None:
            self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(size, width)))
        elif tied.table.weight.shape == (size, width):
            self.weight = tied.table.weight
        else:
            raise ValueError(f"an output of width {width} cannot share a table of {tuple(tied.table.weight.shape)}")
        self.bias = nn.Parameter(torch.zeros(size))
        self.drop = drop

    def forward(self, features: Float[Tensor, "row step width"]) -> Float[Tensor, "row step symbol"]:
        return linear(locked(features, self.drop, self.training), self.weight, self.bias)

    if TYPE_CHECKING:
        __call__ = forward
