"""The loop every search shares: step, obey the rules, choose, let complete hypotheses leave, reorder the state.

It does not know how the next symbols are chosen: that is the one function in which greedy, beam and sampling differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.array import host, like
from regard.search.core import Rows, S, Scores, Stepper
from regard.search.harvest import Harvest
from regard.search.live import Choice, Live
from regard.search.rule import Rule, obey
from regard.source.pad import BOS, EOS

Choose = Callable[[Scores, Live, NDArray[np.int64]], Choice]
"""(log-probabilities, what grows, how many hypotheses of each sentence are complete) → the next rows."""


def grow(stepper: Stepper[S], state: S, limits: Rows, choose: Choose, rules: Sequence[Rule], harvest: Harvest) -> None:
    """Fills the harvest. A sentence's rows leave the state when it is done; every row leaves at its limit at last."""
    bounds = host(limits)
    live = Live.start(len(bounds))
    tokens = np.full(len(bounds), BOS)
    while len(tokens):
        log_probs, state = stepper.step(like(tokens, limits), state)
        choice = choose(obey(rules, log_probs, live), live, harvest.left)
        grown = live.grow(choice)

        complete = (choice.symbol == EOS) | (grown.step >= bounds[grown.sentence])
        staying = (~complete).nonzero()[0]
        if len(staying) < len(complete):
            leaving = complete.nonzero()[0]
            harvest.take(grown.rows(leaving), stepper.bonus(state.rows(like(choice.parent[leaving], limits))))
        if harvest.begun:
            staying = staying[~harvest.hopeless(grown.sentence[staying], grown.total[staying])]

        every = len(staying) == len(complete)
        live = grown if every else grown.rows(staying)
        parent = choice.parent if every else choice.parent[staying]
        state = _reorder(state, parent, len(tokens), limits)
        tokens = live.ids[:, -1]


def _reorder(state: S, index: NDArray[Any], size: int, limits: Rows) -> S:
    """The chosen rows; no copy when they are all the rows in their order, as nearly always in greedy search."""
    if len(index) == size and (index == np.arange(size)).all():
        return state
    return state.rows(like(index, limits))
