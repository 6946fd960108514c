r"""Bridge: $s_0 = \tanh(W z)$, for every layer of a recurrent decoder (Bahdanau 2015, A.2.2); z is the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from torch import nn

from regard.layer.recurrent import Carry, Stack
from regard.memory import Memory


@final
class Bridge(nn.Module):
    """From a summary of that width to the first state of that stack, which it does not keep."""

    def __init__(self, summary: int, stack: Stack) -> None:
        super().__init__()
        self.layers = len(stack.layers)
        self.hidden = nn.Linear(summary, self.layers * stack.width)
        self.cell = nn.Linear(summary, self.layers * stack.width) if stack.gated else None

    def forward(self, memory: Memory) -> Carry:
        if memory.summary is None:
            raise ValueError(f"a recurrent decoder begins from a summary, and the memory {memory.name!r} has none")
        hidden = torch.tanh(self.hidden(memory.summary)).chunk(self.layers, -1)
        return Carry(hidden, () if self.cell is None else self.cell(memory.summary).chunk(self.layers, -1))

    if TYPE_CHECKING:
        __call__ = forward
