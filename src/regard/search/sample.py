r"""Sampling: $y_t \sim \text{softmax}(\log p(\cdot \mid y_{<t}) / T)$, cut to the `top_k` and to the `top_p` nucleus.

Sample $j$ of sentence $i$ has random numbers of its own, drawn from (seed, $i$, $j$): neither neighbours, nor batch
size, nor how many samples are asked for change it. It does not know models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.beam import greatest
from regard.search.core import Hypothesis, S, Stepper
from regard.search.harvest import Harvest
from regard.search.live import Choice, Live
from regard.search.loop import grow
from regard.search.rule import ForcedPrefix, Rule


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
    limits: Int[Tensor, " sentence"],
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
    steps = int(limits.max()) if len(limits) else 0
    noise = torch.from_numpy(_noise(draw.seed, numbers, samples, steps)).to(limits.device)
    every = torch.arange(len(limits), device=limits.device).repeat_interleave(samples)

    # Each sample is searched for as a sentence of its own.
    harvest = Harvest(limits[every], best=1, length=length)
    rules = [_Shared(rule, samples) for rule in rules]
    grow(stepper, state.rows(every), limits[every], partial(_choose, draw=draw, noise=noise), rules, harvest)
    found = [one for [one] in harvest.best()]
    groups = (found[start : start + samples] for start in range(0, len(found), samples))
    return [sorted(group, key=lambda one: (not one.finished, -one.score)) for group in groups]


@final
class _Shared(Rule):
    """To a rule, all samples of a sentence are that sentence."""

    def __init__(self, rule: Rule, samples: int) -> None:
        self._rule = rule
        self._samples = samples

    def apply(self, log_probs: Float[Tensor, "row symbol"], live: Live) -> Float[Tensor, "row symbol"]:
        return self._rule.apply(log_probs, replace(live, sentence=live.sentence // self._samples))


def _noise(seed: int, numbers: Sequence[int], samples: int, steps: int) -> Float[np.ndarray, "sample step"]:
    """Uniform numbers in [0, 1), a row a sample; a longer row begins as a shorter one does."""
    rows = [np.random.default_rng((seed, number, j)).random(steps) for number in numbers for j in range(samples)]
    return np.array(rows).reshape(len(rows), steps)


def _choose(
    log_probs: Float[Tensor, "row symbol"],
    live: Live,
    left: Int[Tensor, " sample"],
    draw: Draw,
    noise: Float[Tensor, "sample step"],
) -> Choice:
    """One symbol a row, where the running sum of the probabilities passes the row's random number."""
    parent = (log_probs.amax(-1) > -torch.inf).nonzero().squeeze(-1)  # all rows, of any sane model
    log_probs, live = log_probs[parent], live.rows(parent)
    mass = narrow(log_probs, draw).softmax(-1).double().cumsum(-1)
    whole = mass[:, -1:]
    aim = noise[live.sentence, live.step].unsqueeze(-1).to(mass) * whole
    # Strictly below the whole: a symbol of probability 0 behind the last possible one is never reached.
    aim = torch.minimum(aim, torch.nextafter(whole, torch.zeros_like(whole)))
    symbol = torch.searchsorted(mass, aim, right=True)
    return Choice(parent, symbol.squeeze(-1), log_probs.gather(-1, symbol).squeeze(-1))


def narrow(log_probs: Float[Tensor, "row symbol"], draw: Draw) -> Float[Tensor, "row symbol"]:
    """The tempered log-probabilities with -inf outside the `top_k`, then outside the nucleus (Holtzman et al. 2020)."""
    logits = log_probs / draw.temperature
    symbols = logits.shape[-1]
    if draw.top_k is None and draw.top_p == 1:
        return logits
    values, order = greatest(logits, min(draw.top_k or symbols, symbols))
    mass = values.softmax(-1)
    before = mass.cumsum(-1) - mass
    # A symbol is in the nucleus while those before it do not make up top_p; the first one always is.
    inside = before < draw.top_p
    inside[:, 0] = True
    return torch.full_like(logits, -torch.inf).scatter(-1, order, values.masked_fill(~inside, -torch.inf))
