r"""Concat: $e_{ti} = v^\top \tanh(W [q_t; k_i])$ (Luong 2015, eq. 8): the additive score in one matrix."""

from __future__ import annotations

from typing import final

from torch import Tensor, nn
from torch.nn.functional import linear
from typing_extensions import override

from regard.attention.score.additive import perceptron
from regard.attention.score.core import Score
from regard.memory import Past


@final
class Concat(Score):
    def __init__(self, query: int, key: int, hidden: int) -> None:
        super().__init__()
        self.split = query
        self.pair = nn.Linear(query + key, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    @override
    def project(self, keys: Tensor) -> Tensor:
        return linear(keys, self.pair.weight[:, self.split :])

    @override
    def forward(self, query: Tensor, keys: Tensor, past: Past) -> Tensor:
        return perceptron(linear(query, self.pair.weight[:, : self.split]), keys, self.energy)
