r"""Scaled dot: $e_{ti} = q_t^\top k_i / \sqrt{d}$ (Vaswani 2017, eq. 1): wide queries do not saturate the softmax."""

from __future__ import annotations

from typing import final

from typing_extensions import override

from regard.attention.score.core import Product


@final
class ScaledDot(Product):
    @override
    def scale(self, width: int) -> float:
        return float(width**-0.5)
