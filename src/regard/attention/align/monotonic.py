r"""Monotonic: $a_{ti} = p_{ti}\,((1-p_{t,i-1})\,a_{t,i-1}/p_{t,i-1} + a_{t-1,i})$, $p=\sigma(e)$ (Raffel 2017, eq. 9).

The expected weights of a reader who moves only forwards. The recursion over slots is written with the quotient
$a_{t,i-1}/p_{t,i-1}$ as its variable, so that nothing is ever divided. Weights sum to at most 1: the reader may run off
the end. In training, noise is added to the energies so that the decisions become discrete (the paper's 2.4).
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor
from typing_extensions import override

from regard.attention.align.core import Align, Choice
from regard.memory import Past


@final
class Monotonic(Align):
    sequential = True

    def __init__(self, noise: float = 1.0) -> None:
        super().__init__()
        self.noise = noise

    @override
    def first(self, mask: Tensor) -> Tensor:
        """All the weight on the first slot."""
        return torch.cat([mask[..., :1], torch.zeros_like(mask[..., 1:])], -1).to(torch.get_default_dtype())

    @override
    def forward(self, energy: Tensor, mask: Tensor, past: Past) -> Choice:
        if past.weights is None:
            raise ValueError("monotonic goes on from the previous weights: begin with Attention.start")
        if self.training and self.noise:
            energy = energy + self.noise * torch.randn_like(energy)
        choose = (torch.sigmoid(energy) * mask).squeeze(-2)  # *batch slot
        reach = torch.zeros_like(choose[..., 0])
        stay = torch.ones_like(reach)
        weights: list[Tensor] = []
        for slot in range(choose.shape[-1]):
            reach = stay * reach + past.weights[..., slot]
            weights.append(choose[..., slot] * reach)
            stay = 1 - choose[..., slot]
        return Choice(torch.stack(weights, -1).unsqueeze(-2))
