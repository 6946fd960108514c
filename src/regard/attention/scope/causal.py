r"""Causal: slots $i \le t$, so that no step reads its future (Vaswani 2017, 3.2.3)."""

from __future__ import annotations

from typing import final

from torch import Tensor
from typing_extensions import override

from regard.attention.scope.core import Scope, Window, positions
from regard.memory import Past


@final
class Causal(Scope):
    @override
    def forward(self, query: Tensor, mask: Tensor, past: Past) -> Window:
        step, slot = positions(query, mask, past)
        return Window(mask.unsqueeze(-2) & (slot <= step))
