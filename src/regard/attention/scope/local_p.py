r"""local-p: $p_t = S\,\sigma(v^\top\tanh(W q_t))$, the weights times $\exp(-(i-p_t)^2/2\sigma^2)$ (Luong 2015, 3.2).

Equations 9 and 10, with $\sigma = D/2$. The query says where in the sentence to look.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn
from typing_extensions import override

from regard.attention.scope.core import Scope, Window, positions
from regard.memory import Past


@final
class LocalP(Scope):
    def __init__(self, query: int, hidden: int, reach: int) -> None:
        super().__init__()
        self.centre = nn.Sequential(nn.Linear(query, hidden, bias=False), nn.Tanh(), nn.Linear(hidden, 1, bias=False))
        self.reach = reach

    @override
    def forward(self, query: Tensor, mask: Tensor, past: Past) -> Window:
        _, slot = positions(query, mask, past)
        length = mask.sum(-1).unsqueeze(-1).unsqueeze(-1)  # *batch 1 1
        centre = length * torch.sigmoid(self.centre(query).float())  # *batch query 1
        away = slot - centre
        prior = torch.exp(-(away**2) / (2 * (self.reach / 2) ** 2))
        return Window(mask.unsqueeze(-2) & (away.abs() <= self.reach), prior)
