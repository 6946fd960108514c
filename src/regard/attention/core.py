r"""Attention: $c_t = \sum_i a_{ti} v_i$,  $a_t = \mathrm{align}(f(q_t, k_i))$ over the slots in scope.

It does not know tasks, search or text. Nothing is stored on it in `forward`: the memory is bound once, steps are pure.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.utils.hooks import RemovableHandle

from regard.attention import kernel
from regard.attention.align import Align, Soft
from regard.attention.scope import Causal, Everywhere, Scope
from regard.attention.score import Product, Score
from regard.memory import Bound, Memory, Past


@final
@dataclass(frozen=True, slots=True)
class Attended:
    """What was read, and what to remember of it. `log_prob` and `entropy` are those of a sampled slot."""

    context: Float[Tensor, "*batch query value"]
    past: Past
    log_prob: Float[Tensor, "*batch query"] | None = None
    entropy: Float[Tensor, "*batch query"] | None = None


@runtime_checkable
class Listener(Protocol):
    """Told the weights of each call, before dropout: what the model believes, not what it was fed."""

    def __call__(self, attention: Attention, memory: Bound, weights: Tensor) -> None: ...


@final
class Attention(nn.Module):
    """One query, one memory, three choices: a score, a scope, an alignment."""

    def __init__(
        self, score: Score, scope: Scope | None = None, align: Align | None = None, *, drop: float = 0.0
    ) -> None:
        super().__init__()
        self.score = score
        self.scope = scope or Everywhere()
        self.align = align or Soft()
        self.drop = drop
        self._listeners: dict[int, Listener] = OrderedDict()

    @property
    def sequential(self) -> bool:
        """A step needs the weights of the step before."""
        return self.score.sequential or self.align.sequential

    @property
    def fusable(self) -> bool:
        """A kernel can do it without writing the weights down."""
        return (
            isinstance(self.score, Product)
            and isinstance(self.scope, Everywhere | Causal)
            and isinstance(self.align, Soft)
        )

    @property
    def heard(self) -> bool:
        """Somebody listens to the weights: they have to be computed one call at a time."""
        return bool(self._listeners)

    def listen(self, listener: Listener) -> RemovableHandle:
        """Call `listener` with the weights of every later call, until the handle is removed."""
        handle = RemovableHandle(self._listeners)
        self._listeners[handle.id] = listener
        return handle

    def bind(self, memory: Memory) -> Bound:
        """Project the keys once; every later query reads the result."""
        return Bound(self.score.project(memory.keys), memory.values, memory.mask, memory.name)

    def start(self, memory: Bound, *, track: bool = False) -> Past:
        """Before the first step. `track` asks for weights and coverage even where nothing needs them."""
        if not (track or self.sequential):
            return Past(0)
        first = self.align.first(memory.mask.expand(memory.keys.shape[:-1]))
        first = first.to(torch.promote_types(memory.keys.dtype, torch.float32))  # what is summed over steps stays exact
        return Past(0, first, torch.zeros_like(first))

    def forward(self, query: Float[Tensor, "*batch query dim"], memory: Bound, past: Past | None = None) -> Attended:
        steps = query.shape[-2]
        if self.sequential and steps != 1:
            names = f"{type(self.score).__name__}/{type(self.align).__name__}"
            raise ValueError(f"{names} reads one query at a time, got {steps}")
        past = past or self.start(memory)
        window = self.scope(query, memory.mask, past)
        if self.fusable and past.weights is None and not self.heard:  # nobody asks for the weights
            assert isinstance(self.score, Product)
            scale, drop = self.score.scale(query.shape[-1]), self.drop if self.training else 0.0
            return Attended(kernel.product(query, memory, window, scale, drop), Past(past.step + steps))
        choice = self.align(self.score(query, memory.keys, past), window.mask, past)
        weights = choice.weights if window.prior is None else choice.weights * window.prior
        for listener in self._listeners.values():
            listener(self, memory, weights)
        context = dropout(weights, self.drop, self.training).to(memory.values.dtype) @ memory.values
        return Attended(context, _after(past, weights), choice.log_prob, choice.entropy)

    if TYPE_CHECKING:
        __call__ = forward


def _after(past: Past, weights: Tensor) -> Past:
    """What to remember: the weights only where they were remembered before."""
    step = past.step + weights.shape[-2]
    if past.weights is None or past.coverage is None:
        return Past(step)
    return Past(step, weights[..., -1, :], _grown(past.coverage, weights.shape[-1]) + weights.sum(-2))


def _grown(coverage: Tensor, slots: int) -> Tensor:
    """A memory of past steps has grown since the last look: its new slots were never read."""
    return nn.functional.pad(coverage, (0, slots - coverage.shape[-1]))
