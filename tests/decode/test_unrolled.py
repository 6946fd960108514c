"""The decoder's pass with a derivative by hand gives what the steps give one by one, and so do its gradients."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor

from regard.attention import Attention, record
from regard.attention.score import Additive
from regard.decode import BahdanauDecoder
from regard.decode.unrolled import applies
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Stack
from regard.memory import Memory

ROWS, STEPS, SLOTS = 4, 6, 5


def decoder(cell: Literal["gru", "lstm"], drop: float = 0.0, layers: int = 1) -> BahdanauDecoder:
    torch.manual_seed(3)
    stack = Stack(cell, 7, 8, layers, fed=6)
    return BahdanauDecoder(Embedding(11, 7), Attention(Additive(8, 6, 9), drop=drop), stack, 5, features=7).double()


def memory() -> Memory:
    torch.manual_seed(4)
    values = torch.randn(ROWS, SLOTS, 6, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 3, 1, 0])  # a row with nothing to read too
    mask = torch.arange(SLOTS) < lengths.unsqueeze(-1)
    return Memory(values, values, mask, torch.randn(ROWS, 5, dtype=torch.float64))


def gradients(made: BahdanauDecoder, *, watched: bool) -> tuple[Tensor, dict[str, Tensor]]:
    """Of some loss of the features; who is watched takes the steps one by one."""
    source = memory()
    tokens = torch.randint(0, 11, (ROWS, STEPS), generator=torch.Generator().manual_seed(5))
    made.zero_grad()
    if watched:
        with record(made):
            features = made(tokens, source).features
    else:
        features = made(tokens, source).features
    torch.manual_seed(6)
    (features * torch.randn_like(features)).sum().backward()  # type: ignore[no-untyped-call]
    assert source.values.grad is not None
    found = {name: weight.grad.clone() for name, weight in made.named_parameters() if weight.grad is not None}
    return features.detach(), found | {"values": source.values.grad}


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_it_is_the_loop_in_outputs_and_every_gradient(cell: Literal["gru", "lstm"]) -> None:
    made = decoder(cell)
    one, by_hand = gradients(made, watched=False)
    other, by_torch = gradients(made, watched=True)
    torch.testing.assert_close(one, other)
    assert by_hand.keys() == by_torch.keys()
    for name, gradient in by_hand.items():
        torch.testing.assert_close(gradient, by_torch[name], msg=name)
        assert gradient.abs().max() > 0, name


def test_the_two_ways_are_two() -> None:
    made = decoder("gru")
    like = torch.zeros(1, requires_grad=True)
    assert applies(made.attention, made.stack, like)
    with record(made):
        assert not applies(made.attention, made.stack, like)
    with torch.no_grad():
        assert not applies(made.attention, made.stack, like)


def test_it_leaves_to_the_loop_what_it_does_not_know() -> None:
    like = torch.zeros(1, requires_grad=True)
    several, dropped = decoder("gru", layers=2), decoder("gru", drop=0.5)
    assert not applies(several.attention, several.stack, like)
    assert not applies(dropped.attention, dropped.stack, like)
    assert applies(dropped.eval().attention, dropped.stack, like)


def test_narrow_products_stay_near() -> None:
    """bfloat16 has eight bits: gradients keep their direction."""
    made = decoder("gru").float()
    source = memory()
    narrow = Memory(source.values.detach().float(), source.values.detach().float(), source.mask, torch.ones(ROWS, 5))
    tokens = torch.randint(0, 11, (ROWS, STEPS))
    found = []
    for enabled in (False, True):
        made.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            made(tokens, narrow).features.float().square().sum().backward()  # type: ignore[no-untyped-call]
        found.append(torch.cat([w.grad.flatten() for w in made.parameters() if w.grad is not None]))
    assert torch.cosine_similarity(found[0], found[1], dim=0) > 0.99
