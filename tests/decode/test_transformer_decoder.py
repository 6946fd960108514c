"""The transformer decoder is torch's own, pre-norm, with the same weights."""

from __future__ import annotations

import torch
from torch import nn
from torch.testing import assert_close

from regard.attention import MultiHead
from regard.decode import TransformerDecoder
from regard.decode.transformer import DecoderLayer
from regard.layer.embedding import Embedding
from regard.layer.position import sinusoidal
from regard.memory import Memory

SYMBOLS, WIDTH, HEADS, INNER, STEPS = 11, 6, 3, 9, 5
LENGTHS = (7, 4, 1)


def copy_heads(ours: MultiHead, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.data = torch.cat([part.weight for part in parts])
    theirs.in_proj_bias.data = torch.cat([part.bias for part in parts])
    theirs.out_proj.load_state_dict(ours.out.state_dict())


def torchs(layer: DecoderLayer) -> nn.TransformerDecoderLayer:
    theirs = nn.TransformerDecoderLayer(WIDTH, HEADS, INNER, 0.0, batch_first=True, norm_first=True).double()
    copy_heads(layer.itself, theirs.self_attn)
    copy_heads(layer.source, theirs.multihead_attn)
    theirs.linear1.load_state_dict(layer.feed.inner.state_dict())
    theirs.linear2.load_state_dict(layer.feed.outer.state_dict())
    theirs.norm1.load_state_dict(layer.before_itself.state_dict())
    theirs.norm2.load_state_dict(layer.before_source.state_dict())
    theirs.norm3.load_state_dict(layer.before_feed.state_dict())
    return theirs


def test_it_is_torchs() -> None:
    torch.manual_seed(1)
    decoder = TransformerDecoder(Embedding(SYMBOLS, WIDTH), 2, HEADS, INNER, WIDTH).double()
    values = torch.randn(len(LENGTHS), LENGTHS[0], WIDTH).double()
    memory = Memory(values, values, torch.arange(LENGTHS[0]) < torch.tensor(LENGTHS).unsqueeze(-1))
    given = torch.randint(SYMBOLS, (len(LENGTHS), STEPS))
    future = torch.ones(STEPS, STEPS, dtype=torch.bool).triu(1)
    x = decoder.embedding.table(given)
    x = x + sinusoidal(STEPS, WIDTH, like=x)
    for layer in decoder.layers:
        x = torchs(layer)(x, values, tgt_mask=future, memory_key_padding_mask=~memory.mask)
    assert_close(decoder(given, memory).features, decoder.norm(x))
