r"""Additive: $e_{ti} = v^\top \tanh(W q_t + U k_i)$ (Bahdanau 2015, A.1.2); $U k_i$ is computed once per memory."""

from __future__ import annotations

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from regard.attention.score.core import Score
from regard.memory import Past


def perceptron(
    query: Float[Tensor, "*batch query hidden"],
    keys: Float[Tensor, "*batch slot hidden"],
    energy: nn.Linear,
) -> Float[Tensor, "*batch query slot"]:
    r"""$v^\top \tanh(q_t + k_i)$ for every pair of an already projected query and key."""
    pair = query.unsqueeze(-2) + keys.unsqueeze(-3)  # *batch query slot hidden
    return energy(torch.tanh(pair)).squeeze(-1)  # type: ignore[no-any-return]


@final
class Additive(Score):
    def __init__(self, query: int, key: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query, hidden)
        self.key = nn.Linear(key, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    @override
    def project(self, keys: Tensor) -> Tensor:
        return self.key(keys)  # type: ignore[no-any-return]

    @override
    def forward(self, query: Tensor, keys: Tensor, past: Past) -> Tensor:
        return perceptron(self.query(query), keys, self.energy)
