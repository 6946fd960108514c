"""Which batches one graph can serve, and how they come into its place. The graphs themselves need a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.source.batch import Pairs
from regard.train.replay import copied, fill, lane, shape


def pairs(sources: int = 3, targets: int = 4, start: int = 4) -> Pairs:
    return Pairs.of([list(range(start, start + sources)), [start, 2]], [[1, *[start] * targets, 2], [1, 2]])


@dataclass(frozen=True)
class Mixed:
    parts: tuple[Any, ...]
    tokens: int


def test_one_shape_one_key() -> None:
    assert shape(pairs()) == shape(pairs(start=7))
    assert shape(pairs()) != shape(pairs(sources=5))
    assert shape(pairs()) != shape(pairs(targets=5))
    hash(shape(pairs()))


def test_counts_of_tokens_are_no_shape() -> None:
    """Of the batch itself; deeper down, a number may be anything."""
    one, other = Mixed((torch.zeros(2),), 5), Mixed((torch.ones(2),), 6)
    assert shape(one) == shape(other)
    assert shape(Mixed((one,), 5)) != shape(Mixed((other,), 5))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((torch.zeros(2),), (torch.zeros(2).double(),)),
        ((torch.zeros(2, 3),), (torch.zeros(3, 2),)),
        ((torch.zeros(2), None), (None, torch.zeros(2))),
        ((torch.zeros(2), 1), (torch.zeros(2), 2)),
        ((torch.zeros(2),), (torch.zeros(2), torch.zeros(2))),
        (([torch.zeros(2)], "a"), ([torch.zeros(2)], "b")),
    ],
)
def test_what_a_graph_cannot_take_differs(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert shape(Mixed(one, 1)) == shape(Mixed(one, 1))
    assert shape(Mixed(one, 1)) != shape(Mixed(other, 1))


def test_unknown_parts_have_no_shape() -> None:
    assert shape(Mixed(({"a": torch.zeros(2)},), 1)) is None
    assert shape(Mixed((object(),), 1)) is None


def test_a_copy_shares_nothing() -> None:
    batch = pairs()
    static = copied(batch)
    assert torch.equal(static.source.ids, batch.source.ids)
    batch.source.ids.fill_(9)
    batch.target.mask.fill_(False)
    assert torch.equal(static.source.ids, pairs().source.ids)
    assert torch.equal(static.target.mask, pairs().target.mask)


def test_filled_it_holds_the_other_batch_in_its_own_place() -> None:
    static, other = copied(pairs()), pairs(start=8)
    places = [static.source.ids.data_ptr(), static.target.mask.data_ptr()]
    fill(static, other)
    assert torch.equal(static.source.ids, other.source.ids)
    assert torch.equal(static.target.ids, other.target.ids)
    assert places == [static.source.ids.data_ptr(), static.target.mask.data_ptr()]
    nested = Mixed(([torch.zeros(2)], None, 3), 1)
    fill(nested, Mixed(([torch.ones(2)], None, 3), 2))
    inner: list[Tensor] = nested.parts[0]
    assert inner[0].tolist() == [1, 1]


def test_other_parts_are_no_match() -> None:
    with pytest.raises(ValueError, match="zip"):
        fill(Mixed((torch.zeros(2),), 1), Mixed((torch.zeros(2), torch.zeros(2)), 1))


def test_the_cpu_has_no_lanes() -> None:
    with lane(torch.device("cpu")):
        assert torch.ones(2).sum() == 2
