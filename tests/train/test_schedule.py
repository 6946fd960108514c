"""The schedules are their formulas, and begin, peak and end where they should."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from regard.train.schedule import Budget, Clock, Schedule, factor

SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_warms_up_and_then_never_rises(schedule: Schedule) -> None:
    assert factor(0.0, 0.1, schedule) == pytest.approx(0.01)
    assert factor(0.05, 0.1, schedule) == pytest.approx(0.5)
    assert factor(0.1, 0.1, schedule) == pytest.approx(1.0)
    after = [factor(0.1 + 0.9 * step / 50, 0.1, schedule) for step in range(51)]
    assert after == sorted(after, reverse=True)
    assert all(0 <= value <= 1 for value in after)
    assert factor(0.0, 0.0, schedule) == 1.0


def test_after_the_warm_up_it_is_its_formula() -> None:
    """At 0.4 of the budget, a third of the way from a warm-up of 0.1 to the end."""
    assert factor(0.4, 0.1, "cosine") == pytest.approx((1 + math.cos(math.pi / 3)) / 2)
    assert factor(0.4, 0.1, "linear") == pytest.approx(2 / 3)
    assert factor(0.4, 0.1, "inverse_sqrt") == pytest.approx(0.5)
    assert factor(0.4, 0.1, "constant") == 1.0
    assert factor(1.0, 0.1, "cosine") == pytest.approx(0.0)
    assert factor(1.0, 0.1, "linear") == pytest.approx(0.0)
    assert factor(1.0, 0.0, "inverse_sqrt") == pytest.approx(0.1)


def test_the_furthest_limit_counts() -> None:
    budget = Budget(minutes=2.0, epochs=4.0, updates=100)
    assert budget.progress(60.0, 1.0, 10) == 0.5
    assert budget.progress(0.0, 3.0, 10) == 0.75
    assert budget.progress(0.0, 0.0, 10) == 0.1
    assert budget.progress(999.0, 0.0, 0) == 1.0
    assert Budget(updates=10).progress(1e9, 1e9, 5) == 0.5


def test_a_budget_needs_a_limit() -> None:
    for minutes in (0.0, -1.0):
        with pytest.raises(ValueError, match="minutes, epochs or updates"):
            Budget(minutes=minutes)


def test_the_clock_adds_up_work() -> None:
    clock = Clock(1000.0, seconds=7.0)
    assert clock.tick(1003.0) == 10.0
    assert clock.tick(900.0) == 10.0  # set back
    assert clock.tick(901.5) == 11.5
    assert clock.seconds == 11.5
