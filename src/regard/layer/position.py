r"""Position: $p_{t,2j} = \sin(t / 10000^{2j/d})$, $p_{t,2j+1} = \cos(\cdot)$ (Vaswani 2017, 3.5).

Nothing is learned.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoidal(length: int, width: int, *, at: int = 0, like: Tensor) -> Float[Tensor, "length width"]:
    """The places `at`, `at + 1`, ... as vectors of the type and device of `like`."""
    rate = 10000.0 ** (-torch.arange(0, width, 2, device=like.device) / width)
    angle = torch.outer(at + torch.arange(length, device=like.device), rate)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)[:, :width].to(like.dtype)
