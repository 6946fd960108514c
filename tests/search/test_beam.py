"""Beam search equals brute force and itself written as loops without an early stop; it sees one sentence at a time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import final

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from prefix_table import Prefixes, Table
from torch import Tensor

from regard.search.beam import beam, greatest, greedy
from regard.search.core import Hypothesis
from regard.search.rule import Never
from regard.source.batch import BOS, EOS, PAD


def brute_force(table: Table, language: int, limit: int, length: float) -> list[tuple[float, tuple[int, ...]]]:
    """All strings that end within the limit, best first."""
    found = []
    others = [symbol for symbol in range(table.symbols) if symbol != EOS]
    for size in range(limit):
        for ids in product(others, repeat=size):
            string = (*ids, EOS)
            log_prob = sum(float(table.next(language, string[:step])[symbol]) for step, symbol in enumerate(string))
            found.append((log_prob / len(string) ** length + table.extra(language, ids), ids))
    return sorted(found, reverse=True)


def in_loops(table: Table, language: int, limit: int, width: int, length: float) -> list[tuple[float, tuple[int, ...]]]:
    """Beam search of one sentence as the books have it; it stops only when the beam is empty or the limit reached."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[tuple[float, tuple[int, ...]]] = []
    cut: list[tuple[float, tuple[int, ...]]] = []
    for step in range(1, limit + 1):
        candidates = [
            (total + float(log_prob), (*ids, symbol))
            for total, ids in live
            for symbol, log_prob in enumerate(table.next(language, ids))
        ]
        candidates.sort(reverse=True)
        live = []
        for total, ids in candidates[: width - len(finished)]:
            score = total / step**length + table.extra(language, ids[:-1])
            if ids[-1] == EOS:
                finished.append((score, ids[:-1]))
            elif step == limit:
                cut.append((score, ids))
            else:
                live.append((total, ids))
    return sorted(finished, reverse=True) + sorted(cut, reverse=True)


def pairs(found: list[Hypothesis]) -> list[tuple[float, tuple[int, ...]]]:
    return [(one.score, one.ids) for one in found]


def same(found: list[Hypothesis], wanted: list[tuple[float, tuple[int, ...]]]) -> None:
    assert [one.ids for one in found] == [ids for _, ids in wanted]
    assert [one.score for one in found] == pytest.approx([score for score, _ in wanted])


@pytest.mark.parametrize("weight", [0.0, 0.7])
@pytest.mark.parametrize("length", [0.0, 0.6, 1.0])
def test_a_beam_wide_enough_is_exhaustive(length: float, weight: float) -> None:
    table, languages, limit = Table(symbols=4, weight=weight), [3, 5, 7], 4
    limits = torch.full((3,), limit)
    for best in (1, 7):
        found = beam(table, table.start(languages), limits, width=4**limit, best=best, length=length)
        for language, hypotheses in zip(languages, found, strict=True):
            same(hypotheses, brute_force(table, language, limit, length)[:best])


@given(
    languages=some.lists(some.integers(0, 10**6), min_size=1, max_size=4),
    limits=some.lists(some.integers(1, 9), min_size=4, max_size=4),
    width=some.integers(1, 5),
    length=some.sampled_from([0.0, 0.5, 1.0, 1.7]),
    weight=some.sampled_from([0.0, 0.4]),
    sharpness=some.sampled_from([0.5, 2.0]),
    data=some.data(),
)
@settings(max_examples=150, deadline=None)
def test_the_early_stop_changes_nothing(
    languages: list[int],
    limits: list[int],
    width: int,
    length: float,
    weight: float,
    sharpness: float,
    data: some.DataObject,
) -> None:
    table = Table(symbols=5, weight=weight, sharpness=sharpness)
    best = data.draw(some.integers(1, width))
    limits = limits[: len(languages)]
    found = beam(table, table.start(languages), torch.tensor(limits), width, best, length)
    for language, limit, hypotheses in zip(languages, limits, found, strict=True):
        same(hypotheses, in_loops(table, language, limit, width, length)[:best])


def test_it_stops_early_and_asks_for_living_rows_only() -> None:
    table = Table(symbols=5, sharpness=2.0)
    beam(table, table.start(list(range(20))), torch.full((20,), 500), width=5)
    assert len(table.sizes) < 100
    assert table.sizes[0] == 20
    assert max(table.sizes) <= 100
    assert table.sizes[-1] < 20


@pytest.mark.parametrize("width", [1, 4])
def test_neighbours_and_order_change_nothing(width: int) -> None:
    table, languages, limits = Table(symbols=7, weight=0.2), [11, 2, 2, 19, 5], [3, 8, 6, 1, 12]
    together = beam(table, table.start(languages), torch.tensor(limits), width, best=width)
    alone = [
        beam(table, table.start([language]), torch.tensor([limit]), width, best=width)[0]
        for language, limit in zip(languages, limits, strict=True)
    ]
    backwards = beam(table, table.start(languages[::-1]), torch.tensor(limits[::-1]), width, best=width)[::-1]
    assert together == alone == backwards


def test_width_one_is_greedy() -> None:
    table, languages = Table(symbols=6), [1, 2, 3, 4]
    for language, hypothesis in zip(languages, greedy(table, table.start(languages), torch.full((4,), 9)), strict=True):
        ids: tuple[int, ...] = ()
        while len(ids) < 9 and EOS not in ids:
            ids = (*ids, int(table.next(language, ids).argmax()))
        assert hypothesis.finished == (ids[-1] == EOS)
        assert hypothesis.ids == (ids[:-1] if hypothesis.finished else ids)


def test_a_hypothesis_accounts_for_its_score() -> None:
    table = Table(symbols=5, weight=0.3)
    found = beam(table, table.start([1, 2, 3]), torch.full((3,), 30), length=0.8)
    for language, [one] in zip([1, 2, 3], found, strict=True):
        assert one.finished
        assert len(one.log_probs) == len(one.ids) + 1
        assert one.log_prob == pytest.approx(sum(one.log_probs))
        extra = table.extra(language, one.ids)
        assert one.score == pytest.approx(one.log_prob / len(one.log_probs) ** 0.8 + extra)


def test_what_is_cut_at_the_limit_comes_after_all_that_is_finished() -> None:
    table = Table(symbols=5)
    [found] = beam(table, table.start([8]), torch.tensor([3]), width=5, best=5)
    finished = [one.finished for one in found]
    assert finished == sorted(finished, reverse=True)
    assert all(len(one.ids) == 3 for one in found if not one.finished)
    assert all(len(one.ids) < 3 for one in found if one.finished)


def test_a_prefix_is_kept() -> None:
    table, prefix = Table(symbols=6), [[4, 5, 4], [], [3]]
    found = beam(table, table.start([1, 2, 3]), torch.full((3,), 20), width=3, best=2, prefix=prefix)
    for ids, hypotheses in zip(prefix, found, strict=True):
        assert len(hypotheses) == 2
        assert all(list(one.ids[: len(ids)]) == ids for one in hypotheses)
    assert found[1] == beam(table, table.start([2]), torch.tensor([20]), width=3, best=2)[0]


def test_nothing_in_nothing_out() -> None:
    table = Table(symbols=5)
    assert beam(table, table.start([]), torch.zeros(0, dtype=torch.long)) == []


@final
@dataclass(frozen=True, slots=True)
class Flat:
    """Every symbol is as probable as every other: nothing but ties."""

    def step(self, tokens: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        return torch.zeros(len(tokens), 11).log_softmax(-1), state

    def bonus(self, state: Prefixes) -> None:
        return None


def test_ties_go_to_the_earlier_candidate() -> None:
    start = Prefixes(torch.arange(3), torch.zeros(3, 0, dtype=torch.long))
    for found in beam(Flat(), start, torch.full((3,), 4), width=4, best=4, length=0.0, rules=[Never([PAD, BOS])]):
        # The first step keeps EOS, 3, 4, 5; the next one the three first children of 3, of which one is EOS; ...
        assert [one.ids for one in found] == [(), (3,), (3, 3), (3, 3, 3)]


@given(
    some.lists(some.lists(some.integers(-3, 0), min_size=9, max_size=9), min_size=1, max_size=5), some.integers(1, 9)
)
def test_the_greatest_are_a_stable_sort(rows: list[list[int]], count: int) -> None:
    log_probs = torch.tensor(rows, dtype=torch.float32)
    values, symbols = greatest(log_probs, count)
    wanted_values, wanted = log_probs.sort(dim=-1, descending=True, stable=True)
    assert torch.equal(symbols, wanted[:, :count])
    assert torch.equal(values, wanted_values[:, :count])


def test_what_cannot_be_searched_is_refused() -> None:
    table = Table(symbols=5)
    start, limits = table.start([1]), torch.tensor([5])
    with pytest.raises(ValueError, match="best 3"):
        beam(table, start, limits, width=2, best=3)
    with pytest.raises(ValueError, match="length"):
        beam(table, start, limits, length=-1.0)
    with pytest.raises(ValueError, match="one symbol"):
        beam(table, start, torch.tensor([0]))
    table.known[(1,)] = torch.full((5,), -torch.inf)
    with pytest.raises(ValueError, match="sentence 0"):
        beam(table, start, limits)
