"""Rules: which symbols may come next. A rule maps log-probabilities to log-probabilities, -inf where it forbids.

It reads the ids so far and the number of their sentence, so "another word at step t" is a forced prefix and a glossary
is one more class. It does not know whether a beam or a sampler asks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.live import Live
from regard.source.batch import EOS, Padded


class Rule(ABC):
    """One thing an output must or must not do. Pure: it answers from its arguments alone."""

    @abstractmethod
    def apply(self, log_probs: Float[Tensor, "row symbol"], live: Live) -> Float[Tensor, "row symbol"]:
        """The log-probabilities of the next symbol of each live row, as this rule has them."""


def obey(rules: Sequence[Rule], log_probs: Float[Tensor, "row symbol"], live: Live) -> Float[Tensor, "row symbol"]:
    """All rules in turn. Where one would leave a row without any symbol it is not heard: the earlier rules win."""
    for rule in rules:
        ruled = rule.apply(log_probs, live)
        stuck = ruled.amax(-1, keepdim=True) == -torch.inf
        log_probs = torch.where(stuck, log_probs, ruled)
    return log_probs


@final
class ForcedPrefix(Rule):
    """Every output begins with the ids given for its sentence; an EOS at their end forces the whole output."""

    # What the model holds impossible still has to be drawn; it costs as much as the least probable float.
    _LEAST = math.log(torch.finfo(torch.float32).tiny)

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        self._prefixes = Padded.of(prefixes)

    def apply(self, log_probs: Float[Tensor, "row symbol"], live: Live) -> Float[Tensor, "row symbol"]:
        if live.step >= self._prefixes.ids.shape[1]:
            return log_probs
        prefixes = self._prefixes.to(log_probs.device)
        inside = prefixes.mask[live.sentence, live.step].unsqueeze(-1)
        wanted = prefixes.ids[live.sentence, live.step].unsqueeze(-1)
        cost = log_probs.gather(-1, wanted).clamp(min=self._LEAST)
        forced = torch.full_like(log_probs, -torch.inf).scatter(-1, wanted, cost)
        return torch.where(inside, forced, log_probs)


@final
class Never(Rule):
    """These symbols do not occur: padding, the beginning of a sentence, the unknown word."""

    def __init__(self, ids: Sequence[int]) -> None:
        if EOS in ids:
            raise ValueError("an output that may never end cannot be searched for")
        self._ids = torch.tensor(list(ids), dtype=torch.long)

    def apply(self, log_probs: Float[Tensor, "row symbol"], live: Live) -> Float[Tensor, "row symbol"]:
        return log_probs.index_fill(-1, self._ids.to(log_probs.device), -torch.inf)


@final
class NoRepeat(Rule):
    """No `n` symbols in a row occur twice in one output (Paulus, Xiong & Socher 2018)."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        self._n = n

    def apply(self, log_probs: Float[Tensor, "row symbol"], live: Live) -> Float[Tensor, "row symbol"]:
        if live.step < self._n:
            return log_probs
        windows = live.ids.unfold(-1, self._n, 1)
        tail = live.ids[:, live.step - self._n + 1 :].unsqueeze(1)
        seen = (windows[..., :-1] == tail).all(-1)
        return _forbid(log_probs, windows[..., -1], seen)


@final
class NoLoop(Rule):
    """No phrase of up to `longest` symbols stands `times` in a row, once the run is at least `span` symbols long.

    The symbol that would complete the run is forbidden. By default "very very" and even "very very very" stand, and so
    do the zeros of 100000 spelt in characters: a single symbol is stopped at its sixth, a pair or more at its third.
    """

    def __init__(self, longest: int = 12, times: int = 3, span: int = 6) -> None:
        if longest < 1 or times < 2:
            raise ValueError(f"a loop is a phrase of 1 symbol or more, twice or more; not {longest} and {times}")
        self._runs = [(size, max(times, math.ceil(span / size))) for size in range(1, longest + 1)]

    def apply(self, log_probs: Float[Tensor, "row symbol"], live: Live) -> Float[Tensor, "row symbol"]:
        for size, times in self._runs:
            run = size * times - 1  # what stands already when the next symbol would complete the loop
            if live.step < run:
                continue
            end = live.ids[:, live.step - run :]
            periodic = (end[:, size:] == end[:, : run - size]).all(-1, keepdim=True)
            log_probs = _forbid(log_probs, end[:, -size].unsqueeze(-1), periodic)
        return log_probs


def _forbid(
    log_probs: Float[Tensor, "row symbol"], symbols: Int[Tensor, "row case"], where: Bool[Tensor, "row case"]
) -> Float[Tensor, "row symbol"]:
    """-inf on the symbols of the cases that hold; the others are sent to a column that is cut off again."""
    size = log_probs.shape[-1]
    mask = torch.zeros(len(log_probs), size + 1, dtype=torch.bool, device=log_probs.device)
    mask = mask.scatter(-1, torch.where(where, symbols, size), True)
    return log_probs.masked_fill(mask[:, :size], -torch.inf)
