r"""Harvest: hypotheses that are complete, at the score   $s(y) = \log p(y) / |y|^\lambda + \text{bonus}(y)$.

$|y|$ counts the EOS, so that the empty output has a score as well. It does not know how hypotheses grow.
"""

from __future__ import annotations

from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.core import Hypothesis
from regard.search.live import Live
from regard.source.batch import EOS


@final
class Harvest:
    """Collects what leaves a search, and tells when the rest of a sentence is no longer worth its steps."""

    def __init__(self, limits: Int[Tensor, " sentence"], best: int, length: float) -> None:
        if length < 0:
            raise ValueError(f"length must be at least 0, not {length}: below it no bound on the score is known")
        if best < 1 or (len(limits) and int(limits.min()) < 1):
            raise ValueError("at least one hypothesis of one symbol must be asked for")
        longest = int(limits.max()) if len(limits) else 0
        self._best = best
        self._found: list[list[Hypothesis]] = [[] for _ in range(len(limits))]
        # One table for scores and for their bound: the same rounding in both keeps the bound exact.
        norm = [max(steps, 1) ** length for steps in range(longest + 1)]
        self._norm = torch.tensor(norm, dtype=torch.float32, device=limits.device)
        self._limits = limits
        self._worst = torch.full((len(limits),), -torch.inf, device=limits.device)
        self.left = torch.zeros_like(limits, dtype=torch.long)  # how many hypotheses of each sentence are complete

    def take(self, live: Live, bonus: Float[Tensor, " row"] | None) -> None:
        """Stores complete hypotheses: those that end with EOS, and those that reached their limit without it."""
        scores = live.total / self._norm[live.step]
        scores = scores if bonus is None else scores + bonus
        columns = (live.sentence, live.ids, live.log_probs, live.total, scores)
        for sentence, ids, log_probs, total, score in zip(*(column.tolist() for column in columns), strict=True):
            finished = ids[-1] == EOS
            output = tuple(ids[:-1] if finished else ids)
            self._found[sentence].append(Hypothesis(output, score, total, tuple(log_probs), finished))
        self.left.index_add_(0, live.sentence, torch.ones_like(live.sentence))
        self._raise_the_bar(torch.unique_consecutive(live.sentence), scores.dtype)

    def hopeless(self, live: Live) -> Bool[Tensor, " row"]:
        r"""Whether no live hypothesis of the row's sentence can enter the `best` any more (Huang, Zhao & Ma 2017).

        $\log p$ only falls and no output is longer than its limit $T$: $\log p / T^\lambda$ bounds all scores to come.
        A tie does not enter: who is complete first stays first.
        """
        leader = live.total.new_full((len(self._limits),), -torch.inf)
        leader = leader.scatter_reduce(0, live.sentence, live.total, "amax")
        return (leader / self._norm[self._limits] <= self._worst)[live.sentence]

    def best(self) -> list[list[Hypothesis]]:
        """The best of each sentence, finished ones before those cut at the limit."""
        for number, found in enumerate(self._found):
            if not found:
                raise ValueError(f"sentence {number}: at some step the model gave no symbol a probability")
        return [sorted(found, key=_rank)[: self._best] for found in self._found]

    def _raise_the_bar(self, touched: Int[Tensor, " touched"], dtype: torch.dtype) -> None:
        """The score of the last of the `best`: what a live hypothesis has to beat. -inf while there are fewer."""
        bars = []
        for number in touched.tolist():
            scores = sorted((found.score for found in self._found[number] if found.finished), reverse=True)
            bars.append(scores[self._best - 1] if len(scores) >= self._best else -torch.inf)
        self._worst = self._worst.to(dtype)
        self._worst[touched] = torch.tensor(bars, dtype=dtype, device=touched.device)


def _rank(hypothesis: Hypothesis) -> tuple[bool, float]:
    return not hypothesis.finished, -hypothesis.score
