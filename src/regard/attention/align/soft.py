r"""Soft: $a_t = \mathrm{softmax}(e_t)$ (Bahdanau 2015, eq. 6): every slot a little, differentiable throughout."""

from __future__ import annotations

from typing import final

from torch import Tensor
from typing_extensions import override

from regard.attention.align.core import Align, Choice, masked_softmax
from regard.memory import Past


@final
class Soft(Align):
    @override
    def forward(self, energy: Tensor, mask: Tensor, past: Past) -> Choice:
        return Choice(masked_softmax(energy, mask))
