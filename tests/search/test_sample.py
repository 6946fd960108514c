"""Samples follow the model's distribution, and a sentence draws the same whoever stands next to it."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from prefix_table import Table

from regard.search.beam import greedy
from regard.search.core import Hypothesis
from regard.search.rule import ForcedPrefix, Never
from regard.search.sample import Draw, narrow, sample
from regard.source.batch import BOS, EOS, PAD


def test_samples_follow_the_model() -> None:
    table, count = Table(symbols=6), 4000
    [found] = sample(table, table.start([4]), torch.tensor([2]), [0], samples=count)
    strings = Counter((*one.ids, EOS)[:2] if one.finished else one.ids for one in found)
    for first in range(6):
        if first == EOS:
            wanted, seen = float(table.next(4, ())[EOS].exp()), strings[(EOS,)]
            assert seen / count == pytest.approx(wanted, abs=0.03)
            continue
        for second in range(6):
            wanted = float((table.next(4, ())[first] + table.next(4, (first,))[second]).exp())
            assert strings[(first, second)] / count == pytest.approx(wanted, abs=0.03)


def draw_all(numbers: list[int], samples: int = 3, limit: int = 12, seed: int = 1) -> list[list[Hypothesis]]:
    table = Table(symbols=9)
    limits = torch.full((len(numbers),), limit)
    return sample(table, table.start(numbers), limits, numbers, samples, Draw(top_k=6, top_p=0.95, seed=seed))


def test_neighbours_order_and_count_change_nothing() -> None:
    together = draw_all([31, 5, 77])
    assert together == [*draw_all([31]), *draw_all([5]), *draw_all([77])] == draw_all([77, 5, 31])[::-1]
    assert all(one in more for one, more in zip(together[0], [draw_all([31], samples=8)[0]] * 3, strict=True))


def test_the_seed_decides() -> None:
    assert draw_all([1, 2]) == draw_all([1, 2])
    assert draw_all([1, 2]) != draw_all([1, 2], seed=2)
    first, second, third = draw_all([8])[0]
    assert len({first.ids, second.ids, third.ids}) > 1
    assert first.score >= second.score >= third.score or not third.finished


@pytest.mark.parametrize("draw", [Draw(top_k=1), Draw(top_p=1e-6), Draw(temperature=1e-3)])
def test_a_single_choice_is_greedy(draw: Draw) -> None:
    table, limits = Table(symbols=9), torch.full((3,), 10)
    found = sample(table, table.start([1, 2, 3]), limits, [1, 2, 3], draw=draw)
    assert [one for [one] in found] == greedy(table, table.start([1, 2, 3]), limits)


def test_narrow_keeps_the_nucleus() -> None:
    log_probs = torch.tensor([[0.1, 0.5, 0.15, 0.25], [0.25, 0.25, 0.25, 0.25]]).log()
    kept = narrow(log_probs, Draw(top_p=0.7)).isfinite()
    assert kept.tolist() == [[False, True, False, True], [True, True, True, False]]
    kept = narrow(log_probs, Draw(top_k=3)).isfinite()
    assert kept.tolist() == [[False, True, True, True], [True, True, True, False]]
    assert torch.equal(narrow(log_probs, Draw(temperature=2.0)), log_probs / 2)


def test_rules_and_prefixes_are_the_sentence_s() -> None:
    table = Table(symbols=9)
    start, limits, rules = table.start([1, 2]), torch.full((2,), 12), [Never([PAD, BOS])]
    found = sample(table, start, limits, [0, 1], samples=5, rules=rules, prefix=[[4, 4], [6]])
    assert all(one.ids[:2] == (4, 4) for one in found[0])
    assert all(one.ids[:1] == (6,) for one in found[1])
    assert not {PAD, BOS} & {symbol for group in found for one in group for symbol in one.ids}
    assert found == sample(table, start, limits, [0, 1], samples=5, rules=[ForcedPrefix([[4, 4], [6]]), *rules])


def test_prices_are_the_model_s_own() -> None:
    table = Table(symbols=5)
    [[one]] = sample(table, table.start([3]), torch.tensor([40]), [0], draw=Draw(temperature=0.7, top_k=3))
    string = (*one.ids, EOS)[: len(one.log_probs)]
    wanted = [float(table.next(3, string[:step])[symbol]) for step, symbol in enumerate(string)]
    assert list(one.log_probs) == pytest.approx(wanted)


def test_what_cannot_be_drawn_is_refused() -> None:
    for temperature, top_p in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.5)):
        with pytest.raises(ValueError, match="temperature"):
            Draw(temperature=temperature, top_p=top_p)
    table = Table(symbols=5)
    table.known[(1,)] = torch.full((5,), -torch.inf)
    with pytest.raises(ValueError, match="sentence 0"):
        sample(table, table.start([1]), torch.tensor([4]), [0])
    assert sample(table, table.start([]), torch.zeros(0, dtype=torch.long), []) == []
