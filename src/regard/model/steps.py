r"""Steps: a model as a search sees it: tokens in, log-probabilities out, and a bonus for a finished path.

The bonus is the coverage penalty $\beta \sum_i \log\min(\sum_t a_{ti}, 1)$ (Wu 2016, eq. 14), never above 0; that it
comes from an attention is known here and not in the search. Several models vote by the mean of their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode import State
from regard.model.core import Model
from regard.source.batch import Padded

UNREAD = 1e-3  # a slot that was never read costs log of this


@final
@dataclass(frozen=True, slots=True)
class Walk:
    """Where one model stands on each path."""

    state: State
    mask: Bool[Tensor, "row slot"]

    def rows(self, index: Int[Tensor, " row"]) -> Walk:
        return Walk(self.state.rows(index), self.mask[index])


@final
@dataclass(frozen=True, slots=True)
class Walks:
    """Where each of several models stands on each path."""

    each: tuple[Walk, ...]

    def rows(self, index: Int[Tensor, " row"]) -> Walks:
        return Walks(tuple(walk.rows(index) for walk in self.each))


@final
class Steps:
    def __init__(self, models: Sequence[Model], *, coverage: float = 0.0) -> None:
        self.models = models
        self.coverage = coverage

    @torch.no_grad()
    def start(self, source: Padded) -> Walks:
        track = self.coverage > 0
        memories = [model.encode(source) for model in self.models]
        return Walks(
            tuple(
                Walk(model.decoder.start(memory, track=track), memory.mask)
                for model, memory in zip(self.models, memories, strict=True)
            )
        )

    @torch.no_grad()
    def step(self, tokens: Int[Tensor, " row"], state: Walks) -> tuple[Float[Tensor, "row symbol"], Walks]:
        log_probs, after = [], []
        for model, walk in zip(self.models, state.each, strict=True):
            stepped = model.decoder.step(tokens, walk.state)
            logits = model.output(stepped.features.unsqueeze(1)).squeeze(1)
            log_probs.append(torch.log_softmax(logits.float(), -1))
            after.append(Walk(stepped.state, walk.mask))
        return _mean(log_probs), Walks(tuple(after))

    @torch.no_grad()
    def bonus(self, state: Walks) -> Float[Tensor, " row"] | None:
        if not self.coverage:
            return None
        terms = []
        for model, walk in zip(self.models, state.each, strict=True):
            read = model.decoder.coverage(walk.state)
            if read is not None:
                each = read.clamp(UNREAD, 1.0).log() * walk.mask
                terms.append(self.coverage * each.sum(-1))
        return torch.stack(terms).mean(0) if terms else None


def _mean(log_probs: list[Float[Tensor, "row symbol"]]) -> Float[Tensor, "row symbol"]:
    """The log of the mean probability."""
    if len(log_probs) == 1:
        return log_probs[0]
    return torch.logsumexp(torch.stack(log_probs), 0) - math.log(len(log_probs))
