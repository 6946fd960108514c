"""Counted budgets give checkpoints by position alone; minutes give them by what they cost."""

from __future__ import annotations

import json

import pytest

from regard.train.pace import MEASURING, SAVING, SLICE, Pace
from regard.train.schedule import Budget


@pytest.mark.parametrize(
    ("budget", "every", "wanted"),
    [
        (Budget(updates=100), 30, [20, 40, 60, 80, 100]),
        (Budget(updates=100), 7, list(range(7, 101, 7))),
        (Budget(epochs=2.0), 500, list(range(8, 101, 8))),  # of 20 batches
        (Budget(epochs=2.0, updates=30), 500, list(range(6, 101, 6))),
        (Budget(updates=3), 500, list(range(1, 101))),
    ],
)
def test_counted(budget: Budget, every: int, wanted: list[int]) -> None:
    pace = Pace(budget, every, 20)
    assert not pace.timed
    assert [update for update in range(1, 101) if pace.due(update, 1e9)] == wanted
    pace.reached(50, 9e9)
    pace.saved(9e9)
    pace.measured(9e9)
    assert [update for update in range(1, 101) if pace.due(update, 0.0)] == wanted
    assert pace.affords(1.0)
    assert pace.stretched(17.0) == 17.0


def test_minutes_are_cut_in_slices() -> None:
    pace = Pace(Budget(minutes=10.0), 100, 20)
    assert pace.timed
    assert pace.due(100, 1.0)
    assert not pace.due(99, SLICE * 600 - 1)
    assert pace.due(1, SLICE * 600)
    pace.reached(100, 50.0)
    pace.saved(0.0)
    assert not pace.due(199, 50 + SLICE * 600 - 1)
    assert pace.due(200, 51.0)


def test_saving_keeps_within_its_share() -> None:
    pace = Pace(Budget(minutes=10.0), 1, 20)
    pace.reached(1, 10.0)
    pace.saved(2.0)
    assert not pace.due(900, 10 + 2 / SAVING - 1)
    assert pace.due(900, 10 + 2 / SAVING)


def test_measuring_keeps_within_its_share() -> None:
    pace = Pace(Budget(minutes=10.0), 1, 20)
    assert pace.affords(0.0)  # the first one tells what it costs
    spent, seconds = 0.0, 0.0
    for _ in range(200):
        seconds += 3
        if pace.affords(seconds):
            seconds += 10
            spent += 10
            pace.measured(10.0)
            assert spent <= MEASURING * seconds or spent == 10
    assert spent > MEASURING * seconds - 10  # and makes use of it, to within one measurement


def test_the_last_measurement_is_within_the_minutes() -> None:
    pace = Pace(Budget(minutes=10.0), 1, 20)
    assert pace.stretched(600.0) == 600.0
    pace.measured(50.0)
    pace.saved(10.0)
    assert pace.stretched(540.0) == pytest.approx(600.0)
    pace.measured(5000.0)
    assert pace.stretched(450.0) == pytest.approx(600.0)  # a quarter of them at most


def test_restored_it_goes_on_the_same() -> None:
    pace = Pace(Budget(minutes=10.0), 100, 20)
    pace.measured(20.0)
    pace.saved(3.0)
    pace.reached(70, 130.0)
    other = Pace(Budget(minutes=10.0), 100, 20)
    other.restore(json.loads(json.dumps(pace.state())))
    assert other.state() == pace.state()
    for seconds in (130.0, 185.0, 195.0, 300.0, 400.0):
        assert pace.due(80, seconds) == other.due(80, seconds)
        assert pace.affords(seconds) == other.affords(seconds)
        assert pace.stretched(seconds) == other.stretched(seconds)
