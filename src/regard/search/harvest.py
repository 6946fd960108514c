r"""Harvest: hypotheses that are complete, at the score   $s(y) = \log p(y) / |y|^\lambda + \text{bonus}(y)$.

$|y|$ counts the EOS, so that the empty output has a score as well. It does not know how hypotheses grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.array import host
from regard.search.core import Hypothesis
from regard.search.live import Live
from regard.shape import Bool, Float, Int
from regard.source.pad import EOS


@final
class Harvest:
    """Collects what leaves a search, and tells when the rest of a sentence is no longer worth its steps."""

    def __init__(self, limits: Any, best: int, length: float) -> None:
        bounds = host(limits)
        if length < 0:
            raise ValueError(f"length must be at least 0, not {length}: below it no bound on the score is known")
        if best < 1 or (len(bounds) and int(bounds.min()) < 1):
            raise ValueError("at least one hypothesis of one symbol must be asked for")
        self._best = best
        self._taken: list[tuple[Live, NDArray[Any]]] = []
        # One table for scores and for their bound: the same rounding in both keeps the bound exact.
        norm = [max(steps, 1) ** length for steps in range(int(bounds.max(initial=0)) + 1)]
        self._norm = np.array(norm, dtype=np.float32)
        self._longest = self._norm[bounds] if len(bounds) else self._norm[:0]
        # the scores of the `best` finished ones of each sentence, the worst of them first
        self._bars = np.full((len(bounds), best), -np.inf)
        self.begun = False  # whether anything was taken
        self.left = np.zeros(len(bounds), dtype=np.int64)  # how many hypotheses of each sentence are complete

    def take(self, live: Live, bonus: Float[Any, " row"] | None) -> None:
        """Stores complete hypotheses: those that end with EOS, and those that reached their limit without it."""
        scores = live.total / self._norm[live.step]
        scores = scores if bonus is None else scores + host(bonus)
        self._taken.append((live, scores))
        self.begun = True
        np.add.at(self.left, live.sentence, 1)
        finished = live.ids[:, -1] == EOS
        for sentence, score in zip(live.sentence[finished].tolist(), scores[finished].tolist(), strict=True):
            bars = self._bars[sentence]
            if score > bars[0]:
                bars[0] = score
                bars.sort()

    def hopeless(self, sentence: Int[np.ndarray, " row"], total: Float[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        r"""Whether no live hypothesis of the row's sentence can enter the `best` any more (Huang, Zhao & Ma 2017).

        $\log p$ only falls and no output is longer than its limit $T$: $\log p / T^\lambda$ bounds all scores to come.
        A tie does not enter: who is complete first stays first.
        """
        leader = np.full(len(self.left), -np.inf, dtype=total.dtype)
        np.maximum.at(leader, sentence, total)
        hopeless: NDArray[np.bool_] = (leader / self._longest <= self._bars[:, 0])[sentence]
        return hopeless

    def best(self) -> list[list[Hypothesis]]:
        """The best of each sentence, finished ones before those cut at the limit."""
        found: list[list[Any]] = [[] for _ in self.left]
        for at, (live, scores) in enumerate(self._taken):
            finished = (live.ids[:, -1] == EOS).tolist()
            columns = zip(live.sentence.tolist(), scores.tolist(), finished, strict=True)
            for row, (sentence, score, ended) in enumerate(columns):
                # who was complete first stays first among equals
                found[sentence].append((not ended, -score, at, row))
        for number, each in enumerate(found):
            if not each:
                raise ValueError(f"sentence {number}: at some step the model gave no symbol a probability")
        return [list(self._made(sorted(each)[: self._best])) for each in found]

    def _made(self, chosen: list[tuple[bool, float, int, int]]) -> Iterator[Hypothesis]:
        for cut, score, at, row in chosen:
            live, _ = self._taken[at]
            ids = live.ids[row].tolist()
            output = tuple(ids if cut else ids[:-1])
            yield Hypothesis(output, -score, float(live.total[row]), tuple(live.log_probs[row].tolist()), not cut)
