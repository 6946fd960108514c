"""Boxes hold what is in them, and as few places as so many boxes can."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.source.boxes import Box, boxes

pairs = st.lists(st.tuples(st.integers(1, 12), st.integers(2, 15)), min_size=1, max_size=50)


@given(sizes=pairs, tokens=st.integers(1, 60), most=st.integers(1, 8))
def test_a_pair_is_in_a_box_that_holds_it(sizes: list[tuple[int, int]], tokens: int, most: int) -> None:
    source, target = np.array(sizes).T
    made = boxes(source, target, tokens, most)
    of = made.of[source, target]
    assert 1 <= len(made.each) <= most
    assert set(of.tolist()) == set(range(len(made.each)))
    for number, box in enumerate(made.each):
        inside = [pair for pair, at in zip(sizes, of.tolist(), strict=True) if at == number]
        assert box == Box(max(s for s, _ in inside), max(t for _, t in inside))
        assert len(made.each) == 1 or len(inside) * box.longer >= tokens
        later = made.next(number)
        assert later is None or (later > number and made.each[later].holds(box))


def test_two_kinds_of_pairs_are_two_boxes() -> None:
    source, target = np.array([3, 3, 9, 9]), np.array([8, 8, 4, 4])
    assert boxes(source, target, 5, 8).each == (Box(3, 8), Box(9, 4))
    assert boxes(source, target, 5, 1).each == (Box(9, 8),)
    assert boxes(source, target, 19, 8).each == (Box(9, 8),)  # neither would fill a batch
