r"""Feed-forward: $W_2\,\mathrm{relu}(W_1 x)$, the same at every place (Vaswani 2017, 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout, relu


@final
class FeedForward(nn.Module):
    def __init__(self, width: int, inner: int, *, drop: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.drop = drop

    def forward(self, x: Float[Tensor, "*row width"]) -> Float[Tensor, "*row width"]:
        return self.outer(dropout(relu(self.inner(x)), self.drop, self.training))  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        __call__ = forward
