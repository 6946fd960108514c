r"""Bridge: $s_0 = \tanh(W z)$, for every layer of a recurrent decoder (Bahdanau 2015, A.2.2); z is the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from torch import nn

from regard.layer.recurrent import Carry
from regard.memory import Memory


@final
class Bridge(nn.Module):
    def __init__(self, summary: int, width: int, layers: int, gated: bool) -> None:
        super().__init__()
        self.hidden = nn.Linear(summary, layers * width)
        self.cell = nn.Linear(summary, layers * width) if gated else None
        self.layers = layers

    def forward(self, memory: Memory) -> Carry:
        if memory.summary is None:
            raise ValueError(f"a recurrent decoder begins from a summary, and the memory {memory.name!r} has none")
        hidden = torch.tanh(self.hidden(memory.summary)).chunk(self.layers, -1)
        return Carry(hidden, () if self.cell is None else self.cell(memory.summary).chunk(self.layers, -1))

    if TYPE_CHECKING:
        __call__ = forward
