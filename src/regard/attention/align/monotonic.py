r"""Monotonic: $a_{ti} = p_{ti}\,((1-p_{t,i-1})\,a_{t,i-1}/p_{t,i-1} + a_{t-1,i})$, $p=\sigma(e)$ (Raffel 2017, eq. 9).

The expected weights of a reader who moves only forwards. The recursion over slots is written with the quotient
$r_i = a_{ti}/p_{ti}$ as its variable, so that nothing is ever divided. Weights sum to at most 1: the reader may run off
the end. In training, noise is added to the energies so that the decisions become discrete (the paper's 2.4).
"""

from __future__ import annotations

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad
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
        """All the weight on the first real slot."""
        return (mask & (mask.cumsum(-1) == 1)).to(torch.get_default_dtype())

    @override
    def forward(self, energy: Tensor, mask: Tensor, past: Past) -> Choice:
        if past.weights is None:
            raise ValueError("monotonic goes on from the previous weights: begin with Attention.start")
        if self.training and self.noise:
            energy = energy + self.noise * torch.randn_like(energy)
        choose = (torch.sigmoid(energy) * mask).squeeze(-2)  # *batch slot
        return Choice((choose * _reached(1 - choose, past.weights)).unsqueeze(-2))


def _reached(
    passed: Float[Tensor, "*batch slot"], before: Float[Tensor, "*batch slot"]
) -> Float[Tensor, "*batch slot"]:
    r"""$r_i = (1-p_{i-1})\,r_{i-1} + a_{t-1,i}$ for all slots: $\log_2 S$ rounds, each looking twice as far back."""
    reached, factor, back = before, _moved(passed, 1), 1
    while back < before.shape[-1]:
        reached = reached + factor * _moved(reached, back)
        factor = factor * _moved(factor, back)
        back *= 2
    return reached


def _moved(x: Float[Tensor, "*batch slot"], back: int) -> Float[Tensor, "*batch slot"]:
    """What stands so many slots before each, 0 where nothing does; a round more than needed does no harm."""
    return pad(x, (back, 0))[..., : x.shape[-1]]
