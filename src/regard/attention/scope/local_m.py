r"""local-m: $|i - p_t| \le D$ with $p_t = t$ (Luong 2015, 3.2).

A target longer than its source would run off the end and read nothing; there $p_t$ stays at the last real slot.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor
from typing_extensions import override

from regard.attention.scope.core import Scope, Window, positions
from regard.memory import Past


@final
class LocalM(Scope):
    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach

    @override
    def forward(self, query: Tensor, mask: Tensor, past: Past) -> Window:
        step, slot = positions(query, mask, past)
        last = (mask.sum(-1) - 1).unsqueeze(-1).unsqueeze(-1)  # *batch 1 1
        centre = torch.minimum(step, last)
        return Window(mask.unsqueeze(-2) & ((slot - centre).abs() <= self.reach))
