"""The recurrent encoder is Bahdanau's 3.2, word by word; which slot knows which words."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.encode import RecurrentEncoder
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Cell, Stack
from regard.source.batch import Padded

SYMBOLS, WORD, WIDTH = 11, 5, 6
SENTENCES = [[4, 9, 5, 4, 7, 10, 3], [8, 4, 6, 5], [7]]


def make(cell: Cell = "gru", layers: int = 1, *, both: bool = True, reverse: bool = False) -> RecurrentEncoder:
    torch.manual_seed(1)
    embedding = Embedding(SYMBOLS, WORD)
    return RecurrentEncoder(embedding, cell, WIDTH, layers, bidirectional=both, reverse=reverse).double().eval()


def word_by_word(stack: Stack, words: list[Tensor]) -> list[Tensor]:
    """What torch's own cell, with the same weights, knows after each word."""
    (layer,) = stack.layers
    kind = nn.LSTMCell if isinstance(layer, nn.LSTM) else nn.GRUCell
    cell = kind(layer.input_size, layer.hidden_size).double()
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    state, known = None, []
    for word in words:
        state = cell(word, state)
        known.append(state[0] if isinstance(state, tuple) else state)
    return known


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@torch.no_grad()
def test_it_is_the_equation_word_by_word(cell: Cell, layers: int, both: bool, reverse: bool) -> None:
    encoder = make(cell, layers, both=both, reverse=reverse)
    memory = encoder(Padded.of(SENTENCES))
    assert memory.summary is not None
    for row, sentence in enumerate(SENTENCES):
        order = sentence[::-1] if reverse else sentence
        words = list(encoder.embedding.table.weight[order])
        last = []
        for layer in range(layers):
            parts = [word_by_word(encoder.ahead[layer], words)]
            if both:
                parts.append(word_by_word(encoder.back[layer], words[::-1])[::-1])
            last = [parts[0][-1], *(part[0] for part in parts[1:])]
            words = [torch.cat(each) for each in zip(*parts, strict=True)]
        slots = words[::-1] if reverse else words
        assert_close(memory.values[row, : len(sentence)], torch.stack(slots))
        assert_close(memory.summary[row], torch.cat(last))


def changed(encoder: RecurrentEncoder, word: int) -> Tensor:
    """(slot, channel): what is another when that word of the sentence is another."""
    sentence = SENTENCES[0]
    other = [*sentence[:word], 8, *sentence[word + 1 :]]
    with torch.no_grad():
        one, two = (encoder(Padded.of([ids])).values[0] for ids in (sentence, other))
    return one != two


def test_slot_i_is_word_i_whatever_the_order_of_reading() -> None:
    """Ahead, slot i knows the words up to i; read last to first, the words from i on."""
    slots = torch.arange(len(SENTENCES[0]))
    for word in range(len(slots)):
        ahead, reverse = make(both=False), make(both=False, reverse=True)
        assert changed(ahead, word).all(-1).tolist() == (slots >= word).tolist()
        assert changed(ahead, word).any(-1).tolist() == (slots >= word).tolist()
        assert changed(reverse, word).any(-1).tolist() == (slots <= word).tolist()


def test_the_two_halves_look_both_ways() -> None:
    slots = torch.arange(len(SENTENCES[0]))
    for word in range(len(slots)):
        ahead, back = changed(make(), word).chunk(2, -1)
        assert ahead.any(-1).tolist() == (slots >= word).tolist()
        assert back.any(-1).tolist() == (slots <= word).tolist()


def test_two_directions_need_an_even_width() -> None:
    with pytest.raises(ValueError, match="even"):
        RecurrentEncoder(Embedding(SYMBOLS, WORD), "gru", 7)


def test_dropout_is_locked_over_time() -> None:
    """What is dropped of the memory is dropped in every slot of a row, and not in evaluation."""
    torch.manual_seed(1)
    encoder = RecurrentEncoder(Embedding(SYMBOLS, WORD), "gru", 40, drop=0.5).train()
    gone = encoder(Padded.of([SENTENCES[0]] * 3)).values == 0
    assert (gone == gone[:, :1]).all()
    assert 0.2 < gone.float().mean() < 0.8
    assert not (gone[0] == gone[1]).all()
    assert not (encoder.eval()(Padded.of(SENTENCES[:1])).values == 0).any()
