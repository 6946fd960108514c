r"""Dot: $e_{ti} = q_t^\top k_i$ (Luong 2015, eq. 8). Query and key must be of one width."""

from __future__ import annotations

from typing import final

from typing_extensions import override

from regard.attention.score.core import Product


@final
class Dot(Product):
    @override
    def scale(self, width: int) -> float:
        return 1.0
