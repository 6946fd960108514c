"""Each rule forbids what it says, leaves the rest untouched, and never leaves a hypothesis without a way on."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from prefix_table import Table
from torch import Tensor

from regard.search.beam import beam, greedy
from regard.search.live import Live
from regard.search.rule import ForcedPrefix, Never, NoLoop, NoRepeat, Rule, obey
from regard.source.batch import BOS, EOS, PAD, UNK

SYMBOLS = 7


def after(*rows: list[int]) -> Live:
    ids = torch.tensor(rows, dtype=torch.long).reshape(len(rows), -1)
    zeros = torch.zeros(len(rows))
    return Live(torch.arange(len(rows)), ids, torch.zeros(ids.shape), zeros)


def forbidden(rule: Rule, *rows: list[int]) -> list[set[int]]:
    """The symbols the rule forbids after each row; all others must keep their log-probability."""
    log_probs = torch.randn(len(rows), SYMBOLS).log_softmax(-1)
    ruled = rule.apply(log_probs, after(*rows))
    kept: Tensor = ruled > -torch.inf
    assert torch.equal(ruled[kept], log_probs[kept])
    return [set((~row).nonzero().squeeze(-1).tolist()) for row in kept]


def test_never() -> None:
    assert forbidden(Never([PAD, BOS, UNK]), [4, 5], [5, 5]) == [{PAD, BOS, UNK}] * 2
    with pytest.raises(ValueError, match="never end"):
        Never([PAD, EOS])


def test_no_repeat() -> None:
    assert forbidden(NoRepeat(1), [4, 5, 4]) == [{4, 5}]
    assert forbidden(NoRepeat(2), [4, 5, 6, 4], [4, 4, 4, 6], [4, 5, 4, 4]) == [{5}, set(), {4, 5}]
    assert forbidden(NoRepeat(3), [4, 5], [6, 6]) == [set(), set()]


@pytest.mark.parametrize(
    ("so_far", "stopped"),
    [
        ([4, 4], set()),
        ([4, 4, 4, 4], set()),  # five in a row still stand
        ([4, 4, 4, 4, 4], {4}),
        ([6, 4, 5, 4, 5, 4], {5}),
        ([4, 5, 4, 5, 6, 4], set()),
        ([4, 5, 6, 4, 5, 6, 4, 5], {6}),
        ([4, 5, 6, 4, 5, 6], set()),
    ],
)
def test_no_loop(so_far: list[int], stopped: set[int]) -> None:
    assert forbidden(NoLoop(), so_far) == [stopped]


def test_no_loop_is_as_strict_as_asked() -> None:
    assert forbidden(NoLoop(longest=1, times=2, span=1), [6, 4], [4, 5]) == [{4}, {5}]
    assert forbidden(NoLoop(longest=1), [4, 5, 4, 5, 4]) == [set()]
    with pytest.raises(ValueError, match="twice"):
        NoLoop(times=1)


def test_a_forced_prefix_costs_what_the_model_says() -> None:
    rule, log_probs = ForcedPrefix([[4, 5], [], [6, EOS]]), torch.randn(3, SYMBOLS).log_softmax(-1)
    log_probs[2, EOS] = -torch.inf
    ruled = rule.apply(log_probs, after([4], [4], [6]))
    assert ruled[0, 5] == log_probs[0, 5]
    assert ruled[0].isfinite().sum() == 1
    assert torch.equal(ruled[1], log_probs[1])
    assert ruled[2].isfinite().nonzero().tolist() == [[EOS]]  # impossible to the model, and still drawn
    assert rule.apply(log_probs, after([4, 5], [4, 4], [6, 3])) is log_probs


@given(
    some.lists(some.lists(some.integers(3, SYMBOLS - 1), min_size=6, max_size=6), min_size=1, max_size=4),
    some.lists(
        some.sampled_from(
            [
                NoRepeat(1),
                NoRepeat(2),
                NoLoop(4, 2, 1),
                Never([0, 1, 3]),
                Never([3, 4, 5, 6]),
                ForcedPrefix([[3] * 9] * 4),
            ]
        ),
        max_size=4,
    ),
)
def test_something_is_always_allowed(rows: list[list[int]], rules: list[Rule]) -> None:
    ruled = obey(rules, torch.randn(len(rows), SYMBOLS).log_softmax(-1), after(*rows))
    assert (ruled.amax(-1) > -torch.inf).all()
    if not any(isinstance(rule, ForcedPrefix) for rule in rules):
        assert ruled[:, EOS].isfinite().all()


def test_earlier_rules_win() -> None:
    log_probs = torch.randn(1, SYMBOLS).log_softmax(-1)
    ruled = obey([ForcedPrefix([[UNK]]), Never([PAD, UNK])], log_probs, after([]))
    assert ruled.isfinite().nonzero().tolist() == [[0, UNK]]


@given(languages=some.lists(some.integers(0, 10**6), min_size=1, max_size=3), n=some.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_beams_obey(languages: list[int], n: int) -> None:
    table = Table(symbols=6, sharpness=3.0)
    found = beam(table, table.start(languages), torch.full((len(languages),), 25), 3, 3, rules=[NoRepeat(n)])
    for one in (one for hypotheses in found for one in hypotheses):
        grams = Counter(one.ids[start : start + n] for start in range(len(one.ids) - n + 1))
        assert max(grams.values(), default=1) == 1


def test_another_word_at_one_step() -> None:
    table = Table(symbols=8)
    [first] = greedy(table, table.start([3]), torch.tensor([30]), rules=[Never([PAD, BOS])])
    other = [*first.ids[:1], 7 if first.ids[1:2] != (7,) else 6]
    [second] = greedy(table, table.start([3]), torch.tensor([30]), rules=[Never([PAD, BOS])], prefix=[other])
    assert list(second.ids[:2]) == other
