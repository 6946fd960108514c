r"""Sampling: $y_t \sim \text{softmax}(\log p(\cdot \mid y_{<t}) / T)$, cut to the `top_k` and to the `top_p` nucleus.

Sample $j$ of sentence $i$ has random numbers of its own, drawn from (seed, $i$, $j$): neither neighbours, nor batch
size, nor how many samples are asked for change it. It does not know models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.array import host, like
from regard.search.core import Hypothesis, Rows, S, Scores, Stepper
from regard.search.greatest import greatest
from regard.search.harvest import Harvest
from regard.search.live import Choice, Live
from regard.search.loop import grow
from regard.search.rule import ForcedPrefix, Rule
from regard.shape import Float, Int


@final
@dataclass(frozen=True, slots=True)
class Draw:
    """How to draw: flatter (T > 1) or sharper, among the `top_k`, among the symbols of `top_p` of the mass."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.temperature > 0 and 0 < self.top_p <= 1 and (self.top_k is None or self.top_k >= 1)):
            raise ValueError(f"temperature must be above 0, top_p in (0, 1] and top_k at least 1, not {self}")


def sample(
    stepper: Stepper[S],
    state: S,
    limits: Rows,
    numbers: Sequence[int],
    samples: int = 1,
    draw: Draw = Draw(),
    length: float = 1.0,
    rules: Sequence[Rule] = (),
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """`samples` outputs of every sentence, best score first. `numbers` name the sentences to the random generator.

    The log-probabilities of a hypothesis are the model's own: temperature and cuts change what is drawn, not its price.
    """
    rules = rules if prefix is None else (ForcedPrefix(prefix), *rules)
    steps = int(host(limits).max(initial=0))
    noise = _noise(draw.seed, numbers, samples, steps)
    every = np.repeat(np.arange(len(numbers)), samples)

    # Each sample is searched for as a sentence of its own.
    bounds = like(host(limits)[every], limits)
    harvest = Harvest(bounds, best=1, length=length)
    rules = [_Shared(rule, samples) for rule in rules]
    state = state.rows(like(every, limits))
    grow(stepper, state, bounds, partial(_choose, draw=draw, noise=noise), rules, harvest)
    found = [one for [one] in harvest.best()]
    groups = (found[start : start + samples] for start in range(0, len(found), samples))
    return [sorted(group, key=lambda one: (not one.finished, -one.score)) for group in groups]


@final
class _Shared(Rule):
    """To a rule, all samples of a sentence are that sentence."""

    def __init__(self, rule: Rule, samples: int) -> None:
        self._rule = rule
        self._samples = samples

    def apply(self, log_probs: Scores, live: Live) -> Scores:
        return self._rule.apply(log_probs, replace(live, sentence=live.sentence // self._samples))


def _noise(seed: int, numbers: Sequence[int], samples: int, steps: int) -> Float[np.ndarray, "sample step"]:
    """Uniform numbers in [0, 1), a row a sample; a longer row begins as a shorter one does."""
    rows = [np.random.default_rng((seed, number, j)).random(steps) for number in numbers for j in range(samples)]
    return np.array(rows).reshape(len(rows), steps)


def _choose(
    log_probs: Scores, live: Live, left: Int[np.ndarray, " sample"], draw: Draw, noise: Float[np.ndarray, "sample step"]
) -> Choice:
    """One symbol a row, where the running sum of the probabilities passes the row's random number."""
    known = host(log_probs)
    parent = (known.max(-1) > -np.inf).nonzero()[0]  # all rows, of any sane model
    known, live = known[parent], live.rows(parent)
    mass = _softmax(host(narrow(known, draw))).astype(np.float64).cumsum(-1)
    whole = mass[:, -1:]
    aim = noise[live.sentence, live.step][:, None] * whole
    # Strictly below the whole: a symbol of probability 0 behind the last possible one is never reached.
    aim = np.minimum(aim, np.nextafter(whole, 0.0))
    symbol = (mass <= aim).sum(-1)
    return Choice(parent, symbol, known[np.arange(len(known)), symbol])


def narrow(log_probs: Scores, draw: Draw) -> Scores:
    """The tempered log-probabilities with -inf outside the `top_k`, then outside the nucleus (Holtzman et al. 2020)."""
    logits = log_probs / draw.temperature
    symbols = logits.shape[-1]
    if draw.top_k is None and draw.top_p == 1:
        return logits
    values, order = map(host, greatest(logits, min(draw.top_k or symbols, symbols)))
    mass = _softmax(values)
    before = mass.cumsum(-1) - mass
    # A symbol is in the nucleus while those before it do not make up top_p; the first one always is.
    inside = before < draw.top_p
    inside[:, 0] = True
    kept = np.full(logits.shape, -np.inf, dtype=values.dtype)
    np.put_along_axis(kept, order, np.where(inside, values, -np.inf), -1)
    return like(kept, logits)


def _softmax(x: Float[np.ndarray, "row symbol"]) -> Float[np.ndarray, "row symbol"]:
    odds: NDArray[Any] = np.exp(x - x.max(-1, keepdims=True))
    odds /= odds.sum(-1, keepdims=True)
    return odds
