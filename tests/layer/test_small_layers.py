"""Embedding, output, positions, feed-forward and locked dropout: their equations, and what dropout drops."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from regard.layer.dropout import locked
from regard.layer.embedding import Embedding
from regard.layer.feedforward import FeedForward
from regard.layer.output import Output
from regard.layer.position import sinusoidal

ROWS, STEPS, WIDTH, SYMBOLS = 3, 5, 40, 11


def test_locked_dropout_has_one_mask_for_all_steps_of_a_row() -> None:
    torch.manual_seed(1)
    x = torch.ones(ROWS, STEPS, WIDTH).double()
    dropped = locked(x, 0.25, True)
    assert (dropped == dropped[:, :1]).all()
    assert not torch.equal(dropped[0], dropped[1])
    assert set(dropped.flatten().tolist()) == {0.0, 4 / 3}
    assert locked(x, 0.25, False) is x
    assert locked(x, 0.0, True) is x
    many = locked(torch.ones(200, 1, 200), 0.25, True)
    assert float(many.mean()) == pytest.approx(1, abs=0.02)


def test_an_embedding_is_a_scaled_row_of_its_table() -> None:
    torch.manual_seed(1)
    embedding = Embedding(SYMBOLS, WIDTH, scale=3.0)
    ids = torch.randint(SYMBOLS, (ROWS, STEPS))
    assert_close(embedding(ids), 3.0 * embedding.table.weight[ids])
    assert float(Embedding(400, 100).table.weight.detach().std()) == pytest.approx(0.1, abs=0.005)


def test_whole_words_are_dropped_and_the_mean_stays() -> None:
    torch.manual_seed(1)
    embedding = Embedding(SYMBOLS, WIDTH, drop_word=0.25)
    ids = torch.randint(SYMBOLS, (100, 50))
    x = embedding(ids) / embedding.table.weight[ids]
    gone = (x == 0).all(-1)
    assert_close(x[~gone], torch.full_like(x[~gone], 1 / 0.75))
    assert 0.22 < gone.float().mean() < 0.28
    assert_close(embedding.eval()(ids), embedding.table.weight[ids])


def test_an_output_is_linear_and_may_be_tied() -> None:
    torch.manual_seed(1)
    features, embedding = torch.randn(ROWS, STEPS, WIDTH), Embedding(SYMBOLS, WIDTH)
    for output in (Output(WIDTH, SYMBOLS), Output(WIDTH, SYMBOLS, tied=embedding)):
        torch.nn.init.normal_(output.bias)
        assert_close(output(features), features @ output.weight.T + output.bias)
    assert output.weight is embedding.table.weight
    with pytest.raises(ValueError, match="cannot share"):
        Output(WIDTH + 1, SYMBOLS, tied=embedding)


def test_outputs_dropout_is_locked() -> None:
    torch.manual_seed(1)
    output = Output(WIDTH, SYMBOLS, drop=0.5)
    same = output(torch.ones(ROWS, STEPS, WIDTH))
    assert_close(same, same[:, :1].expand_as(same))
    assert not torch.allclose(same[0], same[1])


@pytest.mark.parametrize("width", [6, 7])
def test_positions_are_sines_and_cosines(width: int) -> None:
    """Vaswani 2017, 3.5, as loops; what begins later goes on where it should."""
    found = sinusoidal(9, width, like=torch.zeros(()).double())
    for place in range(9):
        for channel in range(width):
            angle = place / 10000 ** ((channel // 2 * 2) / width)
            want = math.cos(angle) if channel % 2 else math.sin(angle)
            assert float(found[place, channel]) == pytest.approx(want, abs=1e-6)
    assert_close(sinusoidal(4, width, at=5, like=found), found[5:], atol=1e-6, rtol=0)


def test_feed_forward_is_two_products_and_a_relu() -> None:
    torch.manual_seed(1)
    feed, x = FeedForward(6, 9, drop=0.5).eval(), torch.randn(ROWS, STEPS, 6)
    inner = (x @ feed.inner.weight.T + feed.inner.bias).clamp(min=0)
    assert_close(feed(x), inner @ feed.outer.weight.T + feed.outer.bias)
