"""The laws of encoding, over every encoder there is."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from mechanism import contents
from torch.testing import assert_close

from regard.encode import Encoder, RecurrentEncoder, TransformerEncoder
from regard.encode.transformer import Positions
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Cell
from regard.source.batch import Padded

SYMBOLS, WORD, WIDTH = 11, 5, 6
SENTENCES = [[4, 9, 5, 4, 7, 10, 3], [8, 4, 6, 5], [7]]

Make = Callable[[float], Encoder]


def recurrent(cell: Cell, layers: int, bidirectional: bool, reverse: bool) -> Make:
    def make(drop: float) -> Encoder:
        embedding = Embedding(SYMBOLS, WORD, drop=drop)
        return RecurrentEncoder(embedding, cell, WIDTH, layers, bidirectional=bidirectional, reverse=reverse, drop=drop)

    return make


def transformer(positions: Positions) -> Make:
    def make(drop: float) -> Encoder:
        embedding = Embedding(SYMBOLS, WIDTH, drop=drop)
        return TransformerEncoder(embedding, 2, 3, 9, positions=positions, drop=drop, drop_weights=drop)

    return make


CELLS: tuple[Cell, ...] = ("gru", "lstm")
ALL: dict[str, Make] = {
    f"{cell}-{layers}{'-both' * both}{'-reverse' * reverse}": recurrent(cell, layers, both, reverse)
    for cell, layers, both, reverse in itertools.product(CELLS, (1, 2), (False, True), (False, True))
}
ALL |= {"sinusoidal": transformer("sinusoidal"), "rotary": transformer("rotary")}
every = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


def encoder(make: Make, *, drop: float = 0.0) -> Encoder:
    torch.manual_seed(1)
    return make(drop).double().train(drop > 0)


@every
@torch.no_grad()
def test_alone_is_batched_and_reordered(make: Make) -> None:
    read = encoder(make)
    together = read(Padded.of(SENTENCES))
    assert together.summary is not None
    for order in ([2, 0, 1], [1, 1]):
        turned = read(Padded.of([SENTENCES[row] for row in order]))
        slots = turned.keys.shape[1]
        assert_close(turned.keys, together.keys[order, :slots])
    for row, sentence in enumerate(SENTENCES):
        alone = read(Padded.of([sentence]))
        assert alone.summary is not None
        assert_close(alone.keys[0], together.keys[row, : len(sentence)])
        assert_close(alone.values[0], together.values[row, : len(sentence)])
        assert_close(alone.summary[0], together.summary[row])


@every
@torch.no_grad()
def test_padding_is_never_read_and_holds_nothing(make: Make) -> None:
    read = encoder(make)
    given = Padded.of(SENTENCES)
    other = Padded(given.ids.masked_fill(~given.mask, 9), given.mask)
    one, two = read(given), read(other)
    assert one.summary is not None
    assert two.summary is not None
    assert torch.equal(one.keys, two.keys)
    assert torch.equal(one.summary, two.summary)
    assert torch.equal(one.mask, given.mask)
    assert (one.values[~given.mask] == 0).all()
    assert one.keys.shape[-1] == read.width
    assert one.summary.shape[-1] == read.summary


@every
@torch.no_grad()
def test_an_empty_sentence_is_an_empty_memory(make: Make) -> None:
    memory = encoder(make)(Padded.of([[], [4, 5]]))
    assert memory.summary is not None
    assert (memory.values[0] == 0).all()
    assert (memory.summary[0] == 0).all()
    assert memory.values.isfinite().all()


@every
def test_nothing_is_stored(make: Make) -> None:
    read = encoder(make, drop=0.3)
    before = contents(read)
    read(Padded.of(SENTENCES))
    assert contents(read) == before


@every
def test_every_weight_learns(make: Make) -> None:
    read = encoder(make)
    memory = read(Padded.of(SENTENCES))
    assert memory.summary is not None
    total = memory.keys.sin().sum() + memory.summary.cos().sum()
    for gradient in torch.autograd.grad(total, list(read.parameters())):
        assert gradient.isfinite().all()
