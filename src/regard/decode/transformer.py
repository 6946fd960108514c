r"""Transformer decoder: each layer reads its own past steps, then the memory, then thinks (Vaswani 2017, 3.1).

Pre-norm, as in the encoder.

Step by step, a layer's own past is a memory that grows by one slot; all at once, it is the whole row read causally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.attention.scope import Causal
from regard.attention.score import ScaledDot
from regard.decode.core import Decoded, Decoder, Stepped, over_heads
from regard.layer.embedding import Embedding
from regard.layer.feedforward import FeedForward
from regard.layer.position import sinusoidal
from regard.memory import Bound, Memory, Past


@final
@dataclass(frozen=True, slots=True)
class LayerState:
    """One layer's own steps so far (None before the first) and its view of the memory."""

    own: Bound | None
    own_past: Past
    memory: Bound
    memory_past: Past

    def rows(self, index: Int[Tensor, " row"]) -> LayerState:
        own = None if self.own is None else self.own.rows(index)
        return LayerState(own, self.own_past.rows(index), self.memory.rows(index), self.memory_past.rows(index))


@final
@dataclass(frozen=True, slots=True)
class TransformerState:
    layers: tuple[LayerState, ...]

    def rows(self, index: Int[Tensor, " row"]) -> TransformerState:
        return TransformerState(tuple(layer.rows(index) for layer in self.layers))


@final
class DecoderLayer(nn.Module):
    def __init__(
        self, width: int, memory: int, heads: int, inner: int, *, rotary: bool, drop: float, drop_weights: float
    ) -> None:
        super().__init__()
        itself = Attention(ScaledDot(), Causal(), drop=drop_weights)
        self.itself = MultiHead(itself, heads, width, width, width, rotary=rotary)
        self.source = MultiHead(Attention(ScaledDot(), drop=drop_weights), heads, width, memory, width)
        self.feed = FeedForward(width, inner, drop=drop)
        self.before_itself = nn.LayerNorm(width)
        self.before_source = nn.LayerNorm(width)
        self.before_feed = nn.LayerNorm(width)
        self.drop = drop

    def start(self, memory: Memory, *, track: bool) -> LayerState:
        bound = self.source.bind(memory)
        return LayerState(None, Past(0), bound, self.source.start(bound, track=track))

    def forward(self, x: Float[Tensor, "row step width"], state: LayerState) -> tuple[Tensor, LayerState]:
        """The next steps, however many; those before them stand in the state."""
        normed = self.before_itself(x)
        here = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        own = self.itself.bind(Memory(normed, normed, here, name="itself"), at=state.own_past.step)
        own = own if state.own is None else state.own.append(own)
        read = self.itself(normed, own, state.own_past)
        x = x + dropout(read.context, self.drop, self.training)
        looked = self.source(self.before_source(x), state.memory, state.memory_past)
        x = x + dropout(looked.context, self.drop, self.training)
        x = x + dropout(self.feed(self.before_feed(x)), self.drop, self.training)
        return x, LayerState(own, read.past, state.memory, looked.past)

    if TYPE_CHECKING:
        __call__ = forward


@final
class TransformerDecoder(Decoder[TransformerState]):
    def __init__(
        self,
        embedding: Embedding,
        layers: int,
        heads: int,
        inner: int,
        memory: int,
        *,
        rotary: bool = False,
        drop: float = 0.0,
        drop_weights: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.width = width = embedding.table.embedding_dim
        self.rotary = rotary
        self.drop = drop
        stack = (
            DecoderLayer(width, memory, heads, inner, rotary=rotary, drop=drop, drop_weights=drop_weights)
            for _ in range(layers)
        )
        self.layers = cast("Sequence[DecoderLayer]", nn.ModuleList(stack))
        self.norm = nn.LayerNorm(width)

    @override
    def start(self, memory: Memory, *, track: bool = False) -> TransformerState:
        # coverage is that of the top layer: one is enough, and the others stay fused
        last = len(self.layers) - 1
        return TransformerState(
            tuple(layer.start(memory, track=track and number == last) for number, layer in enumerate(self.layers))
        )

    @override
    def step(self, tokens: Int[Tensor, " row"], state: TransformerState) -> Stepped[TransformerState]:
        features, after = self._read(tokens.unsqueeze(1), state)
        return Stepped(features.squeeze(1), after)

    @override
    def forward(self, tokens: Int[Tensor, "row step"], memory: Memory) -> Decoded:
        return Decoded(self._read(tokens, self.start(memory))[0])

    @override
    def coverage(self, state: TransformerState) -> Float[Tensor, "row slot"] | None:
        return over_heads(state.layers[-1].memory_past.coverage)

    def _read(self, tokens: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        x = self.embedding(tokens)
        if not self.rotary:
            x = x + sinusoidal(x.shape[1], x.shape[2], at=state.layers[0].own_past.step, like=x)
        x = dropout(x, self.drop, self.training)
        after = []
        for layer, before in zip(self.layers, state.layers, strict=True):
            x, changed = layer(x, before)
            after.append(changed)
        return self.norm(x), TransformerState(tuple(after))
