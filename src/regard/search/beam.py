r"""Beam search: keep the $w$ most probable prefixes, return the output of the greatest $\log p(y) / |y|^\lambda$.

A complete hypothesis keeps its place in the beam, so fewer and fewer grow (Bahdanau's and Nematus' beam): width 1 is
greedy search, and a width above the number of all strings is exhaustive search. Everything is computed within one
sentence and ties go to the earlier candidate, so a sentence's output never depends on its neighbours.
It does not know models, nor why a rule forbids a symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.core import Hypothesis, S, Stepper
from regard.search.harvest import Harvest
from regard.search.live import Choice, Live
from regard.search.loop import grow
from regard.search.rule import ForcedPrefix, Rule


def beam(
    stepper: Stepper[S],
    state: S,
    limits: Int[Tensor, " sentence"],
    width: int = 5,
    best: int = 1,
    length: float = 1.0,
    rules: Sequence[Rule] = (),
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The `best` outputs of every sentence, best first.

    `state` has a row a sentence. `limits` are the most symbols each may take, its EOS counted, on the state's device.
    `length` is the power λ of the length; 0 compares bare log-probabilities. `prefix` holds the ids each output begins
    with. Fewer than `best` come back only where there are no more; an unfinished one only where finished ones lack.
    """
    if not 1 <= best <= width:
        raise ValueError(f"a beam of {width} cannot give the best {best}")
    rules = rules if prefix is None else (ForcedPrefix(prefix), *rules)
    harvest = Harvest(limits, best, length)
    grow(stepper, state, limits, partial(choose, width=width), rules, harvest)
    return harvest.best()


def greedy(
    stepper: Stepper[S],
    state: S,
    limits: Int[Tensor, " sentence"],
    rules: Sequence[Rule] = (),
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """The most probable symbol at every step: a beam of one."""
    return [found[0] for found in beam(stepper, state, limits, width=1, rules=rules, prefix=prefix)]


def choose(log_probs: Float[Tensor, "row symbol"], live: Live, left: Int[Tensor, " sentence"], width: int) -> Choice:
    """The continuations of greatest total for each sentence, as many as its beam has places for, best first.

    Sentences have different numbers of rows, so their candidates are laid on a table with -inf in the empty places.
    A search with another idea of the best (grid beam search for a glossary) replaces this function and nothing else.
    """
    values, symbols = greatest(log_probs, min(width, log_probs.shape[-1]))
    present, owner, counts = torch.unique_consecutive(live.sentence, return_inverse=True, return_counts=True)
    first = counts.cumsum(0) - counts
    place = torch.arange(len(owner), device=owner.device) - first[owner]

    totals = live.total.unsqueeze(-1) + values
    table = totals.new_full((len(present), width, totals.shape[-1]), -torch.inf)
    table[owner, place] = totals
    ranked, cells = table.flatten(1).sort(dim=-1, descending=True, stable=True)

    rank = torch.arange(ranked.shape[-1], device=ranked.device)
    places = (width - left[present]).unsqueeze(-1)
    sentence, column = ((rank < places) & ranked.isfinite()).nonzero(as_tuple=True)
    cell = cells[sentence, column]
    parent, candidate = first[sentence] + cell // totals.shape[-1], cell % totals.shape[-1]
    return Choice(parent, symbols[parent, candidate], values[parent, candidate])


def greatest(
    log_probs: Float[Tensor, "row symbol"], count: int
) -> tuple[Float[Tensor, "row count"], Int[Tensor, "row count"]]:
    """The `count` greatest values of each row and where they stand, greatest first, ties to the smaller symbol.

    `topk` leaves ties open, and what it then does depends on the shape. One more value than asked for tells whether a
    tie crosses the cut; only those rows pay for a full stable sort.
    """
    if count == 1:
        return log_probs.max(-1, keepdim=True)  # documented to give the first of equals
    values, symbols = log_probs.topk(min(count + 1, log_probs.shape[-1]))
    if values.shape[-1] > count:
        crossing = (values[:, count - 1] == values[:, count]) & values[:, count].isfinite()
        tied = crossing.nonzero().squeeze(-1)
        if len(tied):
            sorted_values, order = log_probs[tied].sort(dim=-1, descending=True, stable=True)
            values[tied], symbols[tied] = sorted_values[:, : count + 1], order[:, : count + 1]
    symbols, order = symbols[:, :count].sort(dim=-1)
    values, order = values[:, :count].gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return values, symbols.gather(-1, order)
