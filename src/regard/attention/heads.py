r"""Heads: $\mathrm{concat}_h(\mathrm{Attention}(W^Q_h q, W^K_h k, W^V_h v))\,W^O$ (Vaswani 2017, 3.2.2).

Around any attention; it does not know which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.core import Attended, Attention
from regard.memory import Bound, Memory, Past


@final
class MultiHead(nn.Module):
    """Each head is one more leading axis. With `rotary`, queries and keys are turned by their place."""

    def __init__(
        self, attention: Attention, heads: int, query: int, memory: int, out: int, *, rotary: bool = False
    ) -> None:
        super().__init__()
        if out % heads:
            raise ValueError(f"out={out} is not a multiple of heads={heads}")
        self.attention = attention
        self.heads = heads
        self.rotary = rotary
        self.query = nn.Linear(query, out)
        self.key = nn.Linear(memory, out)
        self.value = nn.Linear(memory, out)
        self.out = nn.Linear(out, out)

    def bind(self, memory: Memory, *, at: int = 0) -> Bound:
        """Project keys and values once. `at` is the number of the first slot, when a memory is bound piece by piece."""
        keys, values = self._split(self.key(memory.keys)), self._split(self.value(memory.values))
        keys = turn(keys, at) if self.rotary else keys
        return self.attention.bind(Memory(keys, values, memory.mask.unsqueeze(-2), name=memory.name))

    def start(self, memory: Bound, *, track: bool = False) -> Past:
        return self.attention.start(memory, track=track)

    def forward(self, query: Float[Tensor, "batch query dim"], memory: Bound, past: Past | None = None) -> Attended:
        queries = self._split(self.query(query))
        queries = turn(queries, past.step if past else 0) if self.rotary else queries
        read = self.attention(queries, memory, past)
        context: Tensor = self.out(read.context.transpose(-2, -3).flatten(-2))
        return Attended(context, read.past, _over_heads(read.log_prob), _over_heads(read.entropy))

    def _split(self, x: Float[Tensor, "batch length out"]) -> Float[Tensor, "batch head length dim"]:
        return x.reshape(*x.shape[:-1], self.heads, -1).transpose(-2, -3)

    if TYPE_CHECKING:
        __call__ = forward


def _over_heads(x: Float[Tensor, "batch head query"] | None) -> Float[Tensor, "batch query"] | None:
    """Heads choose independently: their log-probabilities (and entropies) add up."""
    return None if x is None else x.sum(-2)


def turn(x: Float[Tensor, "*batch place dim"], at: int = 0) -> Float[Tensor, "*batch place dim"]:
    r"""Rotate each pair of channels by its place times $10000^{-2j/d}$ (Su 2021): $q^\top k$ sees only $i - t$."""
    half = x.shape[-1] // 2
    rate = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angle = torch.outer(at + torch.arange(x.shape[-2], device=x.device), rate)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    left, right = x[..., :half], x[..., half : 2 * half]
    return torch.cat([left * cos - right * sin, right * cos + left * sin, x[..., 2 * half :]], -1)
