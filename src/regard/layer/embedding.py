r"""Embedding: $x_t = E_{w_t}$, with dropout of whole words and of channels. It does not know places."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layer.dropout import locked


@final
class Embedding(nn.Module):
    """`drop_word` silences a word now and then, so that the context must do without it; `scale` is Vaswani's √d."""

    def __init__(self, size: int, width: int, *, drop: float = 0.0, drop_word: float = 0.0, scale: float = 1.0) -> None:
        super().__init__()
        self.table = nn.Embedding(size, width)
        self.drop = drop
        self.drop_word = drop_word
        self.scale = scale
        nn.init.normal_(self.table.weight, std=width**-0.5)

    def forward(self, ids: Int[Tensor, "row step"]) -> Float[Tensor, "row step width"]:
        x = self.table(ids)
        x = x if self.scale == 1 else x * self.scale
        if self.training and self.drop_word:
            x = x * (torch.rand(ids.shape, device=ids.device) >= self.drop_word).unsqueeze(-1) / (1 - self.drop_word)
        return locked(x, self.drop, self.training)

    if TYPE_CHECKING:
        __call__ = forward
