r"""Beam search: keep the $w$ most probable prefixes, return the output of the greatest $\log p(y) / |y|^\lambda$.

A complete hypothesis keeps its place in the beam, so fewer and fewer grow (Bahdanau's and Nematus' beam): width 1 is
greedy search, and a width above the number of all strings is exhaustive search. Everything is computed within one
sentence and ties go to the earlier candidate, so a sentence's output never depends on its neighbours.
It does not know models, nor why a rule forbids a symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from regard.array import host
from regard.search.core import Hypothesis, Rows, S, Scores, Stepper
from regard.search.greatest import greatest
from regard.search.harvest import Harvest
from regard.search.live import Choice, Live
from regard.search.loop import grow
from regard.search.rule import ForcedPrefix, Rule
from regard.shape import Int

__all__ = ["beam", "choose", "greatest", "greedy"]


def beam(
    stepper: Stepper[S],
    state: S,
    limits: Rows,
    width: int = 5,
    best: int = 1,
    length: float = 1.0,
    rules: Sequence[Rule] = (),
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The `best` outputs of every sentence, best first.

    `state` has a row a sentence. `limits` are the most symbols each may take, its EOS counted, of the state's kind and
    on its device. `length` is the power λ of the length; 0 compares bare log-probabilities. `prefix` holds the ids each
    output begins with. Fewer than `best` come back only where there are no more; an unfinished one only where finished
    ones lack.
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
    limits: Rows,
    rules: Sequence[Rule] = (),
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """The most probable symbol at every step: a beam of one."""
    return [found[0] for found in beam(stepper, state, limits, width=1, rules=rules, prefix=prefix)]


def choose(log_probs: Scores, live: Live, left: Int[np.ndarray, " sentence"], width: int) -> Choice:
    """The continuations of greatest total for each sentence, as many as its beam has places for, best first.

    Sentences have different numbers of rows, so their candidates are laid on a table with -inf in the empty places.
    A search with another idea of the best (grid beam search for a glossary) replaces this function and nothing else.
    """
    values, symbols = map(host, greatest(log_probs, min(width, log_probs.shape[-1])))
    if width == 1:
        parent = np.isfinite(values[:, 0]).nonzero()[0]
        return Choice(parent, symbols[parent, 0], values[parent, 0])
    first = _firsts(live.sentence)
    each = values.shape[-1]
    totals = live.total[:, None] + values
    if len(totals) == len(first) * width:
        table = totals.reshape(len(first), -1)
    else:
        counts = np.diff(first, append=len(totals))
        owner = np.repeat(np.arange(len(first)), counts)
        whole = np.full((len(first), width, each), -np.inf, dtype=totals.dtype)
        whole[owner, np.arange(len(totals)) - first[owner]] = totals
        table = whole.reshape(len(first), -1)
    cells = np.argsort(-table, axis=-1, kind="stable")[:, :width]

    places = (width - left[live.sentence[first]])[:, None]
    ranked = table[np.arange(len(table))[:, None], cells]
    sentence, rank = ((np.arange(cells.shape[-1]) < places) & (ranked > -np.inf)).nonzero()
    row, candidate = np.divmod(cells[sentence, rank], each)
    parent = first[sentence] + row
    return Choice(parent, symbols[parent, candidate], values[parent, candidate])


def _firsts(sentence: Int[np.ndarray, " row"]) -> NDArray[np.int64]:
    """Where each sentence's rows begin."""
    begins = np.ones(len(sentence), dtype=np.bool_)
    np.not_equal(sentence[1:], sentence[:-1], out=begins[1:])
    return begins.nonzero()[0]
