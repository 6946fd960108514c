"""Colour: equal steps look equal, and the ends are what was asked for."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from regard.trace.colour import INK, PAPER, oklab, ramp


def test_both_ends_are_included() -> None:
    assert (ramp(256)[0], ramp(256)[-1]) == (PAPER, INK)
    assert ramp(2, "#102030", "#ffeedd") == ["#102030", "#ffeedd"]
    assert ramp(1) == [PAPER]
    assert ramp(0) == []


@pytest.mark.parametrize(("low", "high"), [(PAPER, INK), ("#0f1522", "#a5d4ff")])
def test_steps_are_even_to_the_eye_and_go_one_way(low: str, high: str) -> None:
    lightness = [oklab(each)[0] for each in ramp(21, low, high)]
    steps = [after - before for before, after in pairwise(lightness)]
    assert all(math.copysign(1, step) == math.copysign(1, steps[0]) for step in steps)
    assert max(steps) - min(steps) < 0.01  # as even as 256 values a colour allow


def test_oklab_is_ottossons() -> None:
    # The table of his article, by way of sRGB: white, and pure red.
    assert oklab("#ffffff") == pytest.approx((1, 0, 0), abs=1e-4)
    assert oklab("#ff0000") == pytest.approx((0.62796, 0.22486, 0.12585), abs=1e-4)
    assert oklab("#000000") == (0, 0, 0)
