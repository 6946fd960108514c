"""Seen answers as a set does, however full its table is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from regard.source.seen import Seen


@given(numbers=st.lists(st.integers(1, 60) | st.integers(1, 2**64 - 1)))
def test_like_a_set(numbers: list[int]) -> None:
    seen, model = Seen(), set[int]()
    for number in numbers:
        assert seen.add(number) is (number not in model)
        model.add(number)
    assert len(seen) == len(model)


def test_it_grows() -> None:
    seen = Seen()
    assert all(seen.add(number << 40) for number in range(3000))
    assert not any(seen.add(number << 40) for number in range(3000))
    assert not seen.add(1)  # stands for 0, which was there
