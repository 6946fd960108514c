"""The loop every search shares: step, obey the rules, choose, let complete hypotheses leave, reorder the state.

It does not know how the next symbols are chosen: that is the one function in which greedy, beam and sampling differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.core import S, Stepper
from regard.search.harvest import Harvest
from regard.search.live import Choice, Live
from regard.search.rule import Rule, obey
from regard.source.batch import BOS, EOS

Choose = Callable[[Float[Tensor, "row symbol"], Live, Int[Tensor, " sentence"]], Choice]
"""(log-probabilities, what grows, how many hypotheses of each sentence are complete) → the next rows."""


@torch.no_grad()
def grow(
    stepper: Stepper[S],
    state: S,
    limits: Int[Tensor, " sentence"],
    choose: Choose,
    rules: Sequence[Rule],
    harvest: Harvest,
) -> None:
    """Fills the harvest. A sentence's rows leave the state when it is done; every row leaves at its limit at last."""
    live = Live.start(len(limits), limits.device)
    tokens = torch.full_like(limits, BOS, dtype=torch.long)
    while len(tokens):
        log_probs, state = stepper.step(tokens, state)
        choice = choose(obey(rules, log_probs, live), live, harvest.left)
        grown = live.grow(choice)

        complete = (choice.symbol == EOS) | (grown.step >= limits[grown.sentence])
        leaving, staying = complete.nonzero().squeeze(-1), (~complete).nonzero().squeeze(-1)
        if len(leaving):
            harvest.take(grown.rows(leaving), stepper.bonus(state.rows(choice.parent[leaving])))

        staying = staying[~harvest.hopeless(grown.rows(staying))]
        live = grown.rows(staying)
        state = _reorder(state, choice.parent[staying], len(tokens))
        tokens = live.ids[:, -1]


def _reorder(state: S, index: Int[Tensor, " row"], size: int) -> S:
    """The chosen rows; no copy when they are all the rows in their order, as nearly always in greedy search."""
    if len(index) == size and torch.equal(index, torch.arange(size, device=index.device)):
        return state
    return state.rows(index)
