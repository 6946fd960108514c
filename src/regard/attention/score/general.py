r"""General: $e_{ti} = q_t^\top W k_i$ (Luong 2015, eq. 8); $W k_i$ is computed once per memory."""

from __future__ import annotations

from typing import final

from torch import Tensor, nn
from typing_extensions import override

from regard.attention.score.core import Product


@final
class General(Product):
    def __init__(self, query: int, key: int) -> None:
        super().__init__()
        self.key = nn.Linear(key, query, bias=False)

    @override
    def project(self, keys: Tensor) -> Tensor:
        return self.key(keys)  # type: ignore[no-any-return]

    @override
    def scale(self, width: int) -> float:
        return 1.0
