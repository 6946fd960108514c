"""Live: the hypotheses that still grow, one a row. It does not know by which rule they were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """How the next rows come about: from which row of before, with which symbol, at which log-probability."""

    parent: Int[Tensor, " row"]
    symbol: Int[Tensor, " row"]
    log_prob: Float[Tensor, " row"]


@final
@dataclass(frozen=True, slots=True)
class Live:
    """Rows of one sentence stand together, the most probable first; sentences keep their order."""

    sentence: Int[Tensor, " row"]
    ids: Int[Tensor, "row step"]
    log_probs: Float[Tensor, "row step"]
    total: Float[Tensor, " row"]

    @staticmethod
    def start(sentences: int, device: torch.device) -> Live:
        """One empty hypothesis a sentence."""
        return Live(
            sentence=torch.arange(sentences, device=device),
            ids=torch.zeros(sentences, 0, dtype=torch.long, device=device),
            log_probs=torch.zeros(sentences, 0, device=device),
            total=torch.zeros(sentences, device=device),
        )

    @property
    def step(self) -> int:
        """Symbols chosen so far."""
        return self.ids.shape[1]

    def rows(self, index: Int[Tensor, " chosen"]) -> Live:
        return Live(self.sentence[index], self.ids[index], self.log_probs[index], self.total[index])

    def grow(self, choice: Choice) -> Live:
        """Every chosen parent with its next symbol. Few bytes a row: no back-pointers to unroll, and rules can read."""
        old = self.rows(choice.parent)
        return Live(
            old.sentence,
            torch.cat([old.ids, choice.symbol.unsqueeze(-1)], -1),
            torch.cat([old.log_probs, choice.log_prob.unsqueeze(-1)], -1),
            old.total + choice.log_prob,
        )
