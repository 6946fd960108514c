"""Decoder: memory → features of the next symbol, one step at a time; all steps at once in training.

It does not know how hypotheses are chosen, nor the vocabulary: an output makes symbols of its features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, final, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attended
from regard.memory import Memory

Same = TypeVar("Same")


@runtime_checkable
class State(Protocol):
    """Everything a decoder carries between steps; one verb reorders all of it."""

    def rows(self: Same, index: Int[Tensor, " row"]) -> Same: ...


S = TypeVar("S", bound=State)


@final
@dataclass(frozen=True, slots=True)
class Stepped(Generic[S]):
    """One step's features; of sampled (hard) attention also what it chose, in log-probability, and its entropy."""

    features: Float[Tensor, "row width"]
    state: S
    log_prob: Float[Tensor, " row"] | None = None
    entropy: Float[Tensor, " row"] | None = None

    @staticmethod
    def after(read: Attended, features: Float[Tensor, "row width"], state: S) -> Stepped[S]:
        """A step that read a memory once."""
        return Stepped(features, state, _only(read.log_prob), _only(read.entropy))


@final
@dataclass(frozen=True, slots=True)
class Decoded:
    """The same for every step."""

    features: Float[Tensor, "row step width"]
    log_prob: Float[Tensor, "row step"] | None = None
    entropy: Float[Tensor, "row step"] | None = None

    @staticmethod
    def of(steps: Sequence[Stepped[S]]) -> Decoded:
        log_probs = [step.log_prob for step in steps if step.log_prob is not None]
        entropies = [step.entropy for step in steps if step.entropy is not None]
        return Decoded(
            torch.stack([step.features for step in steps], 1),
            torch.stack(log_probs, 1) if log_probs else None,
            torch.stack(entropies, 1) if entropies else None,
        )


class Decoder(nn.Module, ABC, Generic[S]):
    width: int  # of the features

    @abstractmethod
    def start(self, memory: Memory, *, track: bool = False) -> S:
        """Bind the memory once. `track` keeps attention's coverage in the state for those who ask."""

    @abstractmethod
    def step(self, tokens: Int[Tensor, " row"], state: S) -> Stepped[S]:
        """Read one more symbol."""

    @abstractmethod
    def forward(self, tokens: Int[Tensor, "row step"], memory: Memory) -> Decoded:
        """Read all symbols at once (teacher forcing)."""

    @abstractmethod
    def coverage(self, state: S) -> Float[Tensor, "row slot"] | None:
        """How much of each slot was read so far; None where it was not tracked or nothing attends."""

    if TYPE_CHECKING:
        __call__ = forward


def _only(x: Float[Tensor, "row 1"] | None) -> Float[Tensor, " row"] | None:
    return None if x is None else x.squeeze(1)


def over_heads(coverage: Float[Tensor, "row *head slot"] | None) -> Float[Tensor, "row slot"] | None:
    """The mean over heads, where there are any."""
    return coverage if coverage is None or coverage.dim() == 2 else coverage.mean(1)
