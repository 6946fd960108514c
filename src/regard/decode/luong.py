r"""Luong's decoder: step, then look.

$s_t = \mathrm{cell}([y_{t-1}; \tilde h_{t-1}], s_{t-1})$,  $c_t = \mathrm{Attention}(s_t, M)$,
$\tilde h_t = \tanh(W [c_t; s_t])$ (Luong 2015, eq. 5 and 3.3)

Without input feeding ($\tilde h_{t-1}$ left out) no step waits for an attention, and training runs all steps at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.decode import fused, loops
from regard.decode.bridge import Bridge
from regard.decode.core import Decoded, Decoder, Stepped, over_heads
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Carry, Stack
from regard.memory import Bound, Memory, Past


@final
@dataclass(frozen=True, slots=True)
class LuongState:
    carry: Carry
    memory: Bound
    past: Past
    fed: Float[Tensor, "row features"] | None  # the last step's features, with input feeding

    def rows(self, index: Int[Tensor, " row"]) -> LuongState:
        fed = None if self.fed is None else self.fed[index]
        return LuongState(self.carry.rows(index), self.memory.rows(index), self.past.rows(index), fed)


@final
class LuongDecoder(Decoder[LuongState]):
    """Input feeding is the stack's choice: one that is fed gets h̃, so `fed` has to be the width of the features."""

    def __init__(
        self,
        embedding: Embedding,
        attention: Attention | MultiHead,
        stack: Stack,
        summary: int,
        context: int,
        features: int,
    ) -> None:
        super().__init__()
        if stack.fed is not None and stack.fed.in_features != features:
            raise ValueError(f"the stack is fed {stack.fed.in_features} numbers a step, and there are {features}")
        self.embedding = embedding
        self.attention = attention
        self.width = features
        self.feeding = stack.fed is not None
        self.stack = stack
        self.bridge = Bridge(summary, stack)
        self.combine = nn.Linear(context + stack.width, features)

    @override
    def start(self, memory: Memory, *, track: bool = False) -> LuongState:
        bound = self.attention.bind(memory)
        carry = self.stack.begin(self.bridge(memory))
        fed = carry.top.new_zeros(carry.top.shape[0], self.width) if self.feeding else None
        return LuongState(carry, bound, self.attention.start(bound, track=track), fed)

    @override
    def step(self, tokens: Int[Tensor, " row"], state: LuongState) -> Stepped[LuongState]:
        return self._step(self.stack.known(self.embedding(tokens.unsqueeze(1)).squeeze(1)), state)

    @override
    def forward(self, tokens: Int[Tensor, "row step"], memory: Memory) -> Decoded:
        words = self.embedding(tokens)
        state = self.start(memory)
        if self.feeding:
            return self._fed(words, state)
        tops = self.stack.run(words, state.carry)
        if state.past.weights is None:
            read = self.attention(tops, state.memory, state.past)
            return Decoded(self._combine(read.context, tops), read.log_prob, read.entropy)
        steps = []
        for top in tops.unbind(1):
            stepped = self._look(top, state)
            state = stepped.state
            steps.append(stepped)
        return Decoded.of(steps)

    @override
    def coverage(self, state: LuongState) -> Float[Tensor, "row slot"] | None:
        return over_heads(state.past.coverage)

    def _fed(self, words: Float[Tensor, "row step width"], state: LuongState) -> Decoded:
        """Each step waits for what the last one saw."""
        if fused.applies(self.attention, self.stack, state.memory):
            from regard.decode.fused.luong import luong

            known = self.stack.known(words)
            return Decoded(luong(known, state.memory, self.attention, self.stack, state.carry, self.combine))
        if loops.feeds(self.attention, self.stack, state.memory, self.width):
            known = self.stack.known(words)
            return Decoded(loops.luong(known, state.memory, self.attention, self.stack, state.carry, self.combine))
        steps = []
        for known in self.stack.known(words).unbind(1):
            stepped = self._step(known, state)
            state = stepped.state
            steps.append(stepped)
        return Decoded.of(steps)

    def _step(self, known: Tensor, state: LuongState) -> Stepped[LuongState]:
        carry = self.stack.step(known, state.fed, state.carry)
        return self._look(carry.top, replace(state, carry=carry))

    def _look(self, top: Float[Tensor, "row width"], state: LuongState) -> Stepped[LuongState]:
        read = self.attention(top.unsqueeze(1), state.memory, state.past)
        features = self._combine(read.context.squeeze(1), top)
        after = replace(state, past=read.past, fed=features if self.feeding else None)
        return Stepped.after(read, features, after)

    def _combine(self, context: Tensor, top: Tensor) -> Tensor:
        return torch.tanh(self.combine(torch.cat([context.to(top.dtype), top], -1)))
