"""Rules: which symbols may come next. A rule maps log-probabilities to log-probabilities, -inf where it forbids.

It reads the ids so far and the number of their sentence, so "another word at step t" is a forced prefix and a glossary
is one more class. It does not know whether a beam or a sampler asks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.array import copied, highest, host
from regard.search.core import Scores
from regard.search.live import Live
from regard.source.pad import EOS, padded


class Rule(ABC):
    """One thing an output must or must not do. Pure: it answers from its arguments alone."""

    @abstractmethod
    def apply(self, log_probs: Scores, live: Live) -> Scores:
        """The log-probabilities of the next symbol of each live row, as this rule has them."""


def obey(rules: Sequence[Rule], log_probs: Scores, live: Live) -> Scores:
    """All rules in turn. Where one would leave a row without any symbol it is not heard: the earlier rules win."""
    for rule in rules:
        ruled = rule.apply(log_probs, live)
        # who may still end is not stuck: one column tells, nearly always
        if ruled is log_probs or (host(ruled[:, EOS]) > -np.inf).all():
            log_probs = ruled
            continue
        stuck = (highest(ruled) == -np.inf).nonzero()[0]
        if len(stuck):
            ruled[stuck] = log_probs[stuck]
        log_probs = ruled
    return log_probs


@final
class ForcedPrefix(Rule):
    """Every output begins with the ids given for its sentence; an EOS at their end forces the whole output."""

    # What the model holds impossible still has to be drawn; it costs as much as the least probable float.
    _LEAST = math.log(float(np.finfo(np.float32).tiny))

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        self._ids, self._mask = padded(prefixes)

    def apply(self, log_probs: Scores, live: Live) -> Scores:
        if live.step >= self._ids.shape[1]:
            return log_probs
        sentence = host(live.sentence)
        inside = self._mask[sentence, live.step].nonzero()[0]
        wanted = self._ids[sentence[inside], live.step]
        forced = copied(log_probs)
        forced[inside] = -math.inf
        forced[inside, wanted] = log_probs[inside, wanted].clip(self._LEAST)
        return forced


@final
class Never(Rule):
    """These symbols do not occur: padding, the beginning of a sentence, the unknown word."""

    def __init__(self, ids: Sequence[int]) -> None:
        if EOS in ids:
            raise ValueError("an output that may never end cannot be searched for")
        self._ids = list(ids)

    def apply(self, log_probs: Scores, live: Live) -> Scores:
        ruled = copied(log_probs)
        ruled[:, self._ids] = -math.inf
        return ruled


@final
class NoRepeat(Rule):
    """No `n` symbols in a row occur twice in one output (Paulus, Xiong & Socher 2018)."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        self._n = n

    def apply(self, log_probs: Scores, live: Live) -> Scores:
        if live.step < self._n:
            return log_probs
        ids = host(live.ids)
        windows = np.lib.stride_tricks.sliding_window_view(ids, self._n, -1)
        tail = ids[:, None, live.step - self._n + 1 :]
        row, at = (windows[..., :-1] == tail).all(-1).nonzero()
        return _forbid(log_probs, row, windows[row, at, -1])


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

    def apply(self, log_probs: Scores, live: Live) -> Scores:
        known = live.step
        for size, times in self._runs:
            run = size * times - 1  # what stands already when the next symbol would complete the loop
            if known < run:
                continue
            ids = host(live.ids)
            # in nearly every text the last symbol alone tells that nothing goes round
            if run > size and not (ids[:, -1] == ids[:, -1 - size]).any():
                continue
            end = ids[:, known - run :]
            row = (end[:, size:] == end[:, : run - size]).all(-1).nonzero()[0]
            log_probs = _forbid(log_probs, row, end[row, -size])
        return log_probs


def _forbid(log_probs: Scores, row: NDArray[np.int64], symbol: NDArray[Any]) -> Scores:
    """-inf on these symbols of these rows."""
    if not len(row):
        return log_probs
    ruled = copied(log_probs)
    ruled[row, symbol] = -math.inf
    return ruled
