r"""Score: how well does a query match a key?   $e_{ti} = f(q_t, k_i)$

It does not know which slots may be read, nor what becomes of the energies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from regard.memory import Past


class Score(nn.Module, ABC):
    """The energy of every (query, slot) pair. Leading `*batch` axes (batch, head) broadcast."""

    sequential: ClassVar[bool] = False  # True: reads the previous step, so one query at a time

    def project(self, keys: Float[Tensor, "*batch slot key"]) -> Float[Tensor, "*batch slot dim"]:
        """What can be done to the keys once per memory, never per query."""
        return keys

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "*batch query dim"],
        keys: Float[Tensor, "*batch slot key"],
        past: Past,
    ) -> Float[Tensor, "*batch query slot"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class Product(Score, ABC):
    r"""A score that is an inner product once the keys are projected: $e_{ti} = s\, q_t^\top k_i$.

    The fused kernels know how to compute these without ever writing the weights down.
    """

    @abstractmethod
    def scale(self, width: int) -> float:
        """$s$, for queries of this width."""

    def forward(
        self,
        query: Float[Tensor, "*batch query dim"],
        keys: Float[Tensor, "*batch slot dim"],
        past: Past,
    ) -> Float[Tensor, "*batch query slot"]:
        return (query @ keys.mT) * self.scale(query.shape[-1])
