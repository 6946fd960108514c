"""The decoders of Bahdanau and Luong are their papers' equations, step by step, given the weights."""

from __future__ import annotations

import pytest
import torch
from equations import begin, softmax_read, steps_of
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Attention
from regard.attention.score import Additive, Dot, General
from regard.decode import BahdanauDecoder, LuongDecoder, PlainDecoder
from regard.decode.bridge import Bridge
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Stack
from regard.memory import Memory

SYMBOLS, WORD, WIDTH, MEMORY, SUMMARY, FEATURES, STEPS = 11, 5, 6, 4, 3, 7, 4
LENGTHS = (5, 3)


def memory() -> Memory:
    values = torch.randn(len(LENGTHS), LENGTHS[0], MEMORY).double()
    mask = torch.arange(LENGTHS[0]) < torch.tensor(LENGTHS).unsqueeze(-1)
    return Memory(values, values, mask, torch.randn(len(LENGTHS), SUMMARY).double())


def tokens() -> Tensor:
    return torch.randint(SYMBOLS, (len(LENGTHS), STEPS))


def additive(score: Additive, query: Tensor, keys: Tensor) -> list[Tensor]:
    return [score.energy(torch.tanh(score.query(query) + score.key(key))).squeeze(0) for key in keys]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("features", [None, FEATURES])
def test_bahdanau(features: int | None, layers: int) -> None:
    """Look with s_{t-1}, then step on [y_{t-1}; c_t]; the deep output reads all three (A.2.2)."""
    torch.manual_seed(1)
    score = Additive(WIDTH, MEMORY, 5)
    stack = Stack("gru", WORD, WIDTH, layers, fed=MEMORY)
    decoder = BahdanauDecoder(Embedding(SYMBOLS, WORD), Attention(score), stack, SUMMARY, features).double()
    read, given = memory(), tokens()
    found = decoder(given, read).features
    for row, length in enumerate(LENGTHS):
        states = begin(read, row, decoder.bridge.hidden, WIDTH)
        for step, token in enumerate(given[row]):
            word, values = decoder.embedding.table.weight[token], read.values[row, :length]
            context = softmax_read(additive(score, states[-1], values), values)
            states = steps_of(stack, torch.cat([word, context]), states)
            want = states[-1]
            if decoder.deep is not None:
                want = torch.tanh(decoder.deep.weight @ torch.cat([want, context, word]) + decoder.deep.bias)
            assert_close(found[row, step], want)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("feeding", [False, True])
def test_luong(feeding: bool, layers: int) -> None:
    """Step on [y_{t-1}; h̃_{t-1}], look with s_t, h̃_t = tanh(W [c_t; s_t]) (eq. 5 and 3.3)."""
    torch.manual_seed(1)
    score = General(WIDTH, MEMORY)
    stack = Stack("gru", WORD, WIDTH, layers, fed=FEATURES if feeding else 0)
    decoder = LuongDecoder(Embedding(SYMBOLS, WORD), Attention(score), stack, SUMMARY, MEMORY, FEATURES).double()
    read, given = memory(), tokens()
    found = decoder(given, read).features
    for row, length in enumerate(LENGTHS):
        states, last = begin(read, row, decoder.bridge.hidden, WIDTH), torch.zeros(FEATURES).double()
        for step, token in enumerate(given[row]):
            word, values = decoder.embedding.table.weight[token], read.values[row, :length]
            states = steps_of(stack, torch.cat([word, last]) if feeding else word, states)
            context = softmax_read([states[-1] @ (score.key.weight @ key) for key in values], values)
            last = torch.tanh(decoder.combine.weight @ torch.cat([context, states[-1]]) + decoder.combine.bias)
            assert_close(found[row, step], last)


def test_plain_reads_nothing_but_the_summary() -> None:
    torch.manual_seed(1)
    stack = Stack("gru", WORD, WIDTH, 2)
    decoder = PlainDecoder(Embedding(SYMBOLS, WORD), stack, SUMMARY).double()
    read, given = memory(), tokens()
    found = decoder(given, read).features
    for row in range(len(LENGTHS)):
        states = begin(read, row, decoder.bridge.hidden, WIDTH)
        for step, token in enumerate(given[row]):
            states = steps_of(stack, decoder.embedding.table.weight[token], states)
            assert_close(found[row, step], states[-1])


def test_the_bridge_fills_both_parts_of_an_lstm() -> None:
    torch.manual_seed(1)
    bridge = Bridge(SUMMARY, Stack("lstm", WORD, WIDTH, 2)).double()
    read = memory()
    carry = bridge(read)
    assert isinstance(bridge.cell, nn.Linear)
    assert read.summary is not None
    assert_close(torch.cat(carry.hidden, -1), torch.tanh(bridge.hidden(read.summary)))
    assert_close(torch.cat(carry.cell, -1), bridge.cell(read.summary))


def test_what_does_not_fit_together_is_refused() -> None:
    embedding, attention = Embedding(SYMBOLS, WORD), Attention(Dot())
    with pytest.raises(ValueError, match="fed=width of the context"):
        BahdanauDecoder(embedding, attention, Stack("gru", WORD, WIDTH), SUMMARY)
    with pytest.raises(ValueError, match="fed 5 numbers"):
        LuongDecoder(embedding, attention, Stack("gru", WORD, WIDTH, fed=5), SUMMARY, MEMORY, FEATURES)
    read = memory()
    with pytest.raises(ValueError, match="'source' has none"):
        Bridge(SUMMARY, Stack("gru", WORD, WIDTH))(Memory(read.keys, read.values, read.mask))
