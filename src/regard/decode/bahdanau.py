r"""Bahdanau's decoder: look, then step.

$c_t = \mathrm{Attention}(s_{t-1}, M)$,  $s_t = \mathrm{cell}([y_{t-1}; c_t], s_{t-1})$,
$o_t = \tanh(W [s_t; c_t; y_{t-1}])$

(Bahdanau 2015, 3.1 and A.2.2, with tanh for maxout in the deep output.) Without the deep output $o_t = s_t$, as the
tutorials have it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.decode import fused
from regard.decode.bridge import Bridge
from regard.decode.core import Decoded, Decoder, Stepped, over_heads
from regard.decode.unrolled import Weights, applies, unrolled
from regard.layer.embedding import Embedding
from regard.layer.product import linear
from regard.layer.recurrent import Carry, Stack
from regard.memory import Bound, Memory, Past


@final
@dataclass(frozen=True, slots=True)
class BahdanauState:
    carry: Carry
    memory: Bound
    past: Past

    def rows(self, index: Int[Tensor, " row"]) -> BahdanauState:
        return BahdanauState(self.carry.rows(index), self.memory.rows(index), self.past.rows(index))


@final
class BahdanauDecoder(Decoder[BahdanauState]):
    """The stack is fed with contexts. `features` is the width of the deep output, None leaves it out."""

    def __init__(
        self,
        embedding: Embedding,
        attention: Attention | MultiHead,
        stack: Stack,
        summary: int,
        features: int | None = None,
    ) -> None:
        super().__init__()
        if stack.fed is None:
            raise ValueError(
                "Bahdanau's decoder feeds the context to its stack: make one with fed=width of the context"
            )
        self.embedding = embedding
        self.attention = attention
        self.width = stack.width if features is None else features
        self.stack = stack
        self.bridge = Bridge(summary, stack)
        seen = stack.width + stack.fed.in_features + embedding.table.embedding_dim
        self.deep = None if features is None else nn.Linear(seen, features)

    @override
    def start(self, memory: Memory, *, track: bool = False) -> BahdanauState:
        bound = self.attention.bind(memory)
        return BahdanauState(self.stack.begin(self.bridge(memory)), bound, self.attention.start(bound, track=track))

    @override
    def step(self, tokens: Int[Tensor, " row"], state: BahdanauState) -> Stepped[BahdanauState]:
        word = self.embedding(tokens.unsqueeze(1)).squeeze(1)
        stepped, context = self._step(self.stack.known(word), state)
        return replace(stepped, features=self._output(stepped.features, context, word))

    @override
    def forward(self, tokens: Int[Tensor, "row step"], memory: Memory) -> Decoded:
        words = self.embedding(tokens)
        state = self.start(memory)
        if fused.applies(self.attention, self.stack, state.memory):
            from regard.decode.fused.bahdanau import bahdanau

            tops, read = bahdanau(self.stack.known(words), state.memory, self.attention, self.stack, state.carry)
            return Decoded(self._output(tops, read, words))
        if applies(self.attention, self.stack, words):
            carry, weights = state.carry, Weights.of(self.attention, self.stack)
            known = self.stack.known(words)
            tops, read = unrolled(known, state.memory, weights, carry.top, carry.cell[0] if carry.cell else None)
            return Decoded(self._output(tops, read, words))
        steps, contexts = [], []
        for known in self.stack.known(words).unbind(1):
            stepped, context = self._step(known, state)
            state = stepped.state
            steps.append(stepped)
            contexts.append(context)
        decoded = Decoded.of(steps)
        # the deep output needs no recurrence: one product for all steps
        return replace(decoded, features=self._output(decoded.features, torch.stack(contexts, 1), words))

    @override
    def coverage(self, state: BahdanauState) -> Float[Tensor, "row slot"] | None:
        return over_heads(state.past.coverage)

    def _step(self, known: Tensor, state: BahdanauState) -> tuple[Stepped[BahdanauState], Float[Tensor, "row memory"]]:
        """The step's top, before the deep output, and the context it read."""
        read = self.attention(state.carry.top.unsqueeze(1), state.memory, state.past)
        context = read.context.squeeze(1)
        carry = self.stack.step(known, context, state.carry)
        return Stepped.after(read, carry.top, BahdanauState(carry, state.memory, read.past)), context

    def _output(self, top: Tensor, context: Tensor, word: Tensor) -> Tensor:
        if self.deep is None:
            return top
        seen = torch.cat([top, context.to(top.dtype), word.to(top.dtype)], -1)
        return torch.tanh(linear(seen, self.deep.weight, self.deep.bias))
