r"""The decoder without attention: $s_t = \mathrm{cell}(y_{t-1}, s_{t-1})$ from $s_0 = \tanh(W z)$ (Sutskever 2014).

All that it ever knows of the source is the one vector z: the bottleneck that attention removes.
"""

from __future__ import annotations

from typing import final

from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from regard.decode.bridge import Bridge
from regard.decode.core import Decoded, Decoder, Stepped
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Carry, Stack
from regard.memory import Memory


@final
class PlainDecoder(Decoder[Carry]):
    def __init__(self, embedding: Embedding, stack: Stack, summary: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.width = stack.width
        self.stack = stack
        self.bridge = Bridge(summary, stack)

    @override
    def start(self, memory: Memory, *, track: bool = False) -> Carry:
        return self.stack.begin(self.bridge(memory))

    @override
    def step(self, tokens: Int[Tensor, " row"], state: Carry) -> Stepped[Carry]:
        known = self.stack.known(self.embedding(tokens.unsqueeze(1)).squeeze(1))
        carry = self.stack.step(known, None, state)
        return Stepped(carry.top, carry)

    @override
    def forward(self, tokens: Int[Tensor, "row step"], memory: Memory) -> Decoded:
        return Decoded(self.stack.run(self.embedding(tokens), self.start(memory)))

    @override
    def coverage(self, state: Carry) -> Float[Tensor, "row slot"] | None:
        return None
