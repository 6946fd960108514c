"""Rotary places: what is turned forgets where it stands, but not how far from another."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Attention, MultiHead
from regard.attention.heads import turn
from regard.attention.score import ScaledDot
from regard.memory import Memory, Past


@pytest.mark.parametrize("width", [2, 8, 7])
def test_a_product_sees_only_the_distance(width: int) -> None:
    """Equal distances, equal products, wherever both stand; an odd channel left over is not turned."""
    torch.manual_seed(1)
    q, k = torch.randn(1, width).double(), torch.randn(1, width).double()
    for away in (0, 1, 5):
        products = [float((turn(q, at) * turn(k, at + away)).sum()) for at in (0, 3, 40)]
        assert products == pytest.approx([products[0]] * 3)
    assert float((turn(q, 0) * turn(k, 1)).sum()) != pytest.approx(float((turn(q, 0) * turn(k, 2)).sum()))


def test_it_is_a_rotation_of_each_pair() -> None:
    """Channel j with channel j + d/2, by t·10000^(-2j/d) (Su 2021), as loops."""
    torch.manual_seed(1)
    x, at = torch.randn(5, 6).double(), 3
    found = turn(x, at)
    assert_close(found.norm(dim=-1), x.norm(dim=-1))
    for place in range(5):
        for j in range(3):
            angle = (at + place) * 10000 ** (-2 * j / 6)
            a, b = x[place, j].item(), x[place, j + 3].item()
            assert found[place, j].item() == pytest.approx(a * math.cos(angle) - b * math.sin(angle), abs=1e-6)
            assert found[place, j + 3].item() == pytest.approx(b * math.cos(angle) + a * math.sin(angle), abs=1e-6)


def test_a_memory_may_be_bound_piece_by_piece() -> None:
    torch.manual_seed(1)
    heads = MultiHead(Attention(ScaledDot()), 2, 8, 8, 8, rotary=True)
    x = torch.randn(3, 5, 8)
    here = torch.ones(3, 5, dtype=torch.bool)
    whole = heads.bind(Memory(x, x, here))
    parts = [
        heads.bind(Memory(x[:, part], x[:, part], here[:, part]), at=part.start) for part in (slice(0, 2), slice(2, 5))
    ]
    joined = parts[0].append(parts[1])
    assert_close(joined.keys, whole.keys)
    assert torch.equal(joined.mask, whole.mask)


def test_places_may_be_moved_together() -> None:
    """A whole sentence moved along reads the same."""
    torch.manual_seed(1)
    heads = MultiHead(Attention(ScaledDot()), 2, 8, 8, 8, rotary=True).eval()
    x, here = torch.randn(1, 5, 8), torch.ones(1, 5, dtype=torch.bool)
    first = heads(x, heads.bind(Memory(x, x, here)), Past(0)).context
    later = heads(x, heads.bind(Memory(x, x, here), at=11), Past(11)).context
    assert_close(first, later, atol=1e-5, rtol=1e-4)
