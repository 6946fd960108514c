r"""Output: $W o_t + b$, the score of every symbol; tied, $W$ is the embedding's table (Press & Wolf 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.layer.dropout import locked
from regard.layer.embedding import Embedding


@final
class Output(nn.Module):
    def __init__(self, width: int, size: int, *, tied: Embedding | None = None, drop: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(nn.Linear(width, size).weight.data))
        if tied is not None:
            if tied.table.weight.shape != self.weight.shape:
                raise ValueError(f"an output of width {width} cannot share a table of {tuple(tied.table.weight.shape)}")
            self.weight = tied.table.weight
        self.bias = nn.Parameter(self.weight.new_zeros(size))
        self.drop = drop

    def forward(self, features: Float[Tensor, "row step width"]) -> Float[Tensor, "row step symbol"]:
        return linear(locked(features, self.drop, self.training), self.weight, self.bias)

    if TYPE_CHECKING:
        __call__ = forward
