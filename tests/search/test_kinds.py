"""A search over arrays of numpy's finds what it finds over tensors of torch's: the same outputs to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from prefix_table import Prefixes, Table

from regard.search.beam import beam
from regard.search.greatest import FEW, greatest
from regard.search.rule import Never, NoLoop, NoRepeat, Rule
from regard.search.sample import Draw, narrow, sample
from regard.source.pad import BOS, PAD


@final
@dataclass(frozen=True, slots=True)
class Arrays:
    """The same prefixes, whose rows are chosen by arrays."""

    held: Prefixes

    def rows(self, index: np.ndarray) -> Arrays:
        return Arrays(self.held.rows(torch.from_numpy(index)))


@final
@dataclass(frozen=True, slots=True)
class Numbers:
    """The same table, which speaks numpy."""

    table: Table

    def step(self, tokens: np.ndarray, state: Arrays) -> tuple[np.ndarray, Arrays]:
        log_probs, after = self.table.step(torch.from_numpy(tokens), state.held)
        return log_probs.numpy(), Arrays(after)

    def bonus(self, state: Arrays) -> np.ndarray | None:
        bonus = self.table.bonus(state.held)
        return None if bonus is None else bonus.numpy()


RULES: Sequence[Sequence[Rule]] = ((), (Never([PAD, BOS]), NoLoop(longest=2, times=2, span=2)), (NoRepeat(2),))


@given(
    languages=some.lists(some.integers(0, 10**6), min_size=1, max_size=4),
    width=some.integers(1, 5),
    symbols=some.sampled_from([5, 9]),
    rules=some.sampled_from(RULES),
    prefix=some.booleans(),
    weight=some.sampled_from([0.0, 0.4]),
)
@settings(max_examples=60, deadline=None)
def test_both_kinds_find_the_same(
    languages: list[int], width: int, symbols: int, rules: Sequence[Rule], prefix: bool, weight: float
) -> None:
    table = Table(symbols=symbols, weight=weight)
    limits = np.array([3 + at for at in range(len(languages))])
    more: dict[str, Any] = {"rules": rules, "prefix": [[4]] * len(languages) if prefix else None}
    numbers, start = Numbers(table), Arrays(table.start(languages))
    wanted = beam(table, table.start(languages), torch.from_numpy(limits), width, width, **more)
    assert beam(numbers, start, limits, width, width, **more) == wanted
    draw, names = Draw(top_k=4, top_p=0.9, temperature=1.2), list(range(len(languages)))
    drawn = sample(table, table.start(languages), torch.from_numpy(limits), names, 2, draw, **more)
    assert sample(numbers, start, limits, names, 2, draw, **more) == drawn


@pytest.mark.parametrize("size", [3, 64, 327])
@given(seed=some.integers(0, 10**6), count=some.integers(1, FEW + 4), levels=some.sampled_from([2, 5, 10**6]))
@settings(max_examples=25, deadline=None)
def test_the_greatest_are_a_stable_sort(size: int, seed: int, count: int, levels: int) -> None:
    chance = np.random.default_rng(seed)
    x = -chance.integers(0, levels, (3, size)).astype(np.float32)
    x[chance.random((3, size)) < chance.choice([0.0, 0.5, 0.999])] = -np.inf
    count = min(count, size)
    values, places = greatest(x, count)
    wanted = np.argsort(-x, axis=-1, kind="stable")[:, :count]
    real = np.take_along_axis(x, wanted, -1) > -np.inf
    assert (values == np.take_along_axis(x, wanted, -1)).all()
    assert (places[real] == wanted[real]).all()
    assert all(len(set(row)) == count for row in places.tolist())


def test_narrowing_gives_the_same() -> None:
    x = np.random.default_rng(1).standard_normal((4, 50)).astype(np.float32)
    for draw in (Draw(), Draw(temperature=0.5), Draw(top_k=3), Draw(top_p=0.4), Draw(top_k=9, top_p=0.9)):
        np.testing.assert_array_equal(narrow(x, draw), narrow(torch.from_numpy(x), draw).numpy())
