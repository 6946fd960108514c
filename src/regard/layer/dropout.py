r"""Locked dropout: $\tilde x_t = m \odot x_t$, one mask $m$ for all steps of a row (Gal & Ghahramani 2016)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

LEVELS = 2**16


def mask(like: Float[Tensor, "row *rest"], width: int, drop: float) -> Float[Tensor, "row width"]:
    """The mask of each row, scaled so that the mean stays."""
    if like.device.type == "cpu":  # which draws one number after another: here each gives four coins
        rows = like.shape[0]
        draws = torch.empty(-(-rows * width // 4), dtype=torch.int64).random_(-(2**63), None)
        coins = draws.view(torch.int16)[: rows * width].view(rows, width)
        return (coins >= round(drop * LEVELS) - LEVELS // 2).to(like.dtype).div_(1 - drop)
    return like.new_empty(like.shape[0], width).bernoulli_(1 - drop).div_(1 - drop)


def locked(x: Float[Tensor, "row step width"], drop: float, training: bool) -> Float[Tensor, "row step width"]:
    return x * mask(x, x.shape[-1], drop).unsqueeze(1) if training and drop else x
