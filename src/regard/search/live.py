"""Live: the hypotheses that still grow, one a row. It does not know by which rule they were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.shape import Float, Int


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """How the next rows come about: from which row of before, with which symbol, at which log-probability."""

    parent: Int[np.ndarray, " row"]
    symbol: Int[np.ndarray, " row"]
    log_prob: Float[np.ndarray, " row"]


@final
@dataclass(frozen=True, slots=True)
class Live:
    """Rows of one sentence stand together, the most probable first; sentences keep their order."""

    sentence: Int[Any, " row"]
    ids: Int[Any, "row step"]
    log_probs: Float[Any, "row step"]
    total: Float[Any, " row"]

    @staticmethod
    def start(sentences: int) -> Live:
        """One empty hypothesis a sentence."""
        return Live(
            sentence=np.arange(sentences),
            ids=np.zeros((sentences, 0), dtype=np.int64),
            log_probs=np.zeros((sentences, 0), dtype=np.float32),
            total=np.zeros(sentences, dtype=np.float32),
        )

    @property
    def step(self) -> int:
        """Symbols chosen so far."""
        return int(self.ids.shape[1])

    def rows(self, index: NDArray[Any]) -> Live:
        return Live(self.sentence[index], self.ids[index], self.log_probs[index], self.total[index])

    def grow(self, choice: Choice) -> Live:
        """Every chosen parent with its next symbol. Few bytes a row: no back-pointers to unroll, and rules can read."""
        parent = choice.parent
        return Live(
            self.sentence[parent],
            np.concatenate([self.ids[parent], choice.symbol[:, None]], -1),
            np.concatenate([self.log_probs[parent], choice.log_prob[:, None]], -1),
            self.total[parent] + choice.log_prob,
        )
