r"""Transformer encoder: $x \leftarrow x + \mathrm{SelfAttention}(\mathrm{norm}\,x)$, then the same with a feed-forward.

Pre-norm (Xiong 2020): the norm stands before each part, so that deep stacks train without care. Every slot reads every
slot; order is told by the positions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast, final

from torch import Tensor, nn
from torch.nn.functional import dropout
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.attention.score import ScaledDot
from regard.encode.core import Encoder
from regard.layer.embedding import Embedding
from regard.layer.feedforward import FeedForward
from regard.layer.position import sinusoidal
from regard.memory import Memory
from regard.source.batch import Padded

Positions = Literal["sinusoidal", "rotary"]


@final
class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int, *, rotary: bool, drop: float, drop_weights: float) -> None:
        super().__init__()
        attention = Attention(ScaledDot(), drop=drop_weights)
        self.itself = MultiHead(attention, heads, width, width, width, rotary=rotary)
        self.feed = FeedForward(width, inner, drop=drop)
        self.before_itself = nn.LayerNorm(width)
        self.before_feed = nn.LayerNorm(width)
        self.drop = drop

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        normed = self.before_itself(x)
        read = self.itself(normed, self.itself.bind(Memory(normed, normed, mask, name="itself"))).context
        x = x + dropout(read, self.drop, self.training)
        return x + dropout(self.feed(self.before_feed(x)), self.drop, self.training)

    if TYPE_CHECKING:
        __call__ = forward


@final
class TransformerEncoder(Encoder):
    def __init__(
        self,
        embedding: Embedding,
        layers: int,
        heads: int,
        inner: int,
        *,
        positions: Positions = "sinusoidal",
        drop: float = 0.0,
        drop_weights: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.width = self.summary = width = embedding.table.embedding_dim
        self.positions = positions
        self.drop = drop
        rotary = positions == "rotary"
        stack = (
            EncoderLayer(width, heads, inner, rotary=rotary, drop=drop, drop_weights=drop_weights)
            for _ in range(layers)
        )
        self.layers = cast("Sequence[EncoderLayer]", nn.ModuleList(stack))
        self.norm = nn.LayerNorm(width)

    @override
    def forward(self, source: Padded) -> Memory:
        x = self.embedding(source.ids)
        if self.positions == "sinusoidal":
            x = x + sinusoidal(x.shape[1], x.shape[2], like=x)
        x = dropout(x, self.drop, self.training)
        for layer in self.layers:
            x = layer(x, source.mask)
        x = self.norm(x) * source.mask.unsqueeze(-1)
        return Memory(x, x, source.mask, x.sum(1) / source.mask.sum(1, keepdim=True).clamp(min=1))
