"""The transformer encoder is torch's own, pre-norm, with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.encode import TransformerEncoder
from regard.encode.transformer import EncoderLayer
from regard.layer.embedding import Embedding
from regard.layer.position import sinusoidal
from regard.source.batch import Padded

SYMBOLS, WIDTH, HEADS, INNER = 11, 6, 3, 9
SENTENCES = [[4, 9, 5, 4, 7, 10, 3], [8, 4, 6, 5], [7]]


def torchs(layer: EncoderLayer) -> nn.TransformerEncoderLayer:
    theirs = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, 0.0, batch_first=True, norm_first=True).double()
    heads = layer.itself
    parts = (heads.query, heads.key, heads.value)
    theirs.self_attn.in_proj_weight.data = torch.cat([part.weight for part in parts])
    theirs.self_attn.in_proj_bias.data = torch.cat([part.bias for part in parts])
    theirs.self_attn.out_proj.load_state_dict(heads.out.state_dict())
    theirs.linear1.load_state_dict(layer.feed.inner.state_dict())
    theirs.linear2.load_state_dict(layer.feed.outer.state_dict())
    theirs.norm1.load_state_dict(layer.before_itself.state_dict())
    theirs.norm2.load_state_dict(layer.before_feed.state_dict())
    return theirs


def test_it_is_torchs() -> None:
    torch.manual_seed(1)
    encoder = TransformerEncoder(Embedding(SYMBOLS, WIDTH, scale=WIDTH**0.5), 2, HEADS, INNER).double()
    given = Padded.of(SENTENCES)
    memory = encoder(given)
    x = encoder.embedding.table(given.ids) * WIDTH**0.5
    x = x + sinusoidal(x.shape[1], WIDTH, like=x)
    for layer in encoder.layers:
        x = torchs(layer)(x, src_key_padding_mask=~given.mask)
    want = encoder.norm(x)
    assert_close(memory.values[given.mask], want[given.mask])
    assert memory.summary is not None
    for row, sentence in enumerate(SENTENCES):
        assert_close(memory.summary[row], want[row, : len(sentence)].mean(0))


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@torch.no_grad()
def test_order_is_told_by_positions_alone(positions: str) -> None:
    """With them a turned sentence is another; a word that stands alone is what it is."""
    torch.manual_seed(1)
    encoder = TransformerEncoder(Embedding(SYMBOLS, WIDTH), 1, HEADS, INNER, positions=positions)  # type: ignore[arg-type]
    one, two = (encoder(Padded.of([ids])).values[0] for ids in ([4, 9, 5], [5, 9, 4]))
    assert not torch.allclose(one, two.flip(0), atol=1e-4)
