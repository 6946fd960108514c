"""Rows of different lengths become one table, and its mask says where they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from regard.source.pad import PAD, padded


@given(some.lists(some.lists(some.integers(4, 99), max_size=7), max_size=6))
def test_what_is_padded_comes_back(rows: list[list[int]]) -> None:
    ids, mask = padded(rows)
    assert ids.shape == mask.shape == (len(rows), max(map(len, rows), default=0))
    assert [row[real].tolist() for row, real in zip(ids, mask, strict=True)] == rows
    assert (ids[~mask] == PAD).all()
    assert (mask[:, 1:] <= mask[:, :-1]).all()
