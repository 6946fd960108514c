r"""Location-aware: $e_{ti} = v^\top \tanh(W q_t + U k_i + L (F * a_{t-1})_i)$ (Chorowski 2015, eq. 9).

The previous weights, seen through a convolution, tell where the last step looked.
"""

from __future__ import annotations

from typing import final

from torch import Tensor, nn
from typing_extensions import override

from regard.attention.score.additive import Additive
from regard.attention.score.core import Score
from regard.memory import Past


@final
class LocationAware(Score):
    sequential = True

    def __init__(self, query: int, key: int, hidden: int, filters: int = 8, reach: int = 5) -> None:
        super().__init__()
        self.content = Additive(query, key, hidden)
        self.filter = nn.Conv1d(1, filters, 2 * reach + 1, padding=reach, bias=False)
        self.place = nn.Linear(filters, hidden, bias=False)

    @override
    def project(self, keys: Tensor) -> Tensor:
        return self.content.project(keys)

    @override
    def forward(self, query: Tensor, keys: Tensor, past: Past) -> Tensor:
        if past.weights is None:
            raise ValueError("location_aware reads the previous weights: begin with Attention.start")
        lead, slots = past.weights.shape[:-1], past.weights.shape[-1]
        weights = past.weights.to(self.filter.weight.dtype)
        seen = self.filter(weights.reshape(-1, 1, slots)).mT  # rows slot filter
        return self.content(query, keys + self.place(seen).reshape(*lead, slots, -1), past)
