"""Everywhere: every real slot (Bahdanau 2015; Luong's global attention)."""

from __future__ import annotations

from typing import final

from torch import Tensor
from typing_extensions import override

from regard.attention.scope.core import Scope, Window
from regard.memory import Past


@final
class Everywhere(Scope):
    @override
    def forward(self, query: Tensor, mask: Tensor, past: Past) -> Window:
        return Window(mask.unsqueeze(-2))
