"""The compiled decoder comes as near to float64 as torch's narrow products, in outputs and every gradient."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor

from regard.attention import Attention, record
from regard.attention.score import Additive, Dot, General, ScaledDot
from regard.decode import BahdanauDecoder, LuongDecoder
from regard.decode.loops import feeds
from regard.layer import compiled
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Stack
from regard.memory import Bound, Memory

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="no gcc, or no AVX-512 BF16")

WIDTH, SEEN, INNER, WIDE, SLOTS = 48, 32, 16, 80, 19  # more slots than a vector has places
Cell = Literal["gru", "lstm"]
Kind = Literal["bahdanau", "dot", "scaled_dot", "general"]
every = pytest.mark.parametrize("kind", ["bahdanau", "dot", "scaled_dot", "general"])


def decoder(kind: Kind, cell: Cell, drop: float = 0.0, layers: int = 1) -> tuple[BahdanauDecoder | LuongDecoder, int]:
    """And how wide its values are."""
    torch.manual_seed(3)
    if kind == "bahdanau":
        stack = Stack(cell, 7, WIDTH, layers, fed=SEEN)
        attention = Attention(Additive(WIDTH, SEEN, INNER), drop=drop)
        return BahdanauDecoder(Embedding(11, 7), attention, stack, 5, features=7), SEEN
    seen = SEEN if kind == "general" else WIDTH
    score = {"dot": Dot(), "scaled_dot": ScaledDot(), "general": General(WIDTH, SEEN)}[kind]
    stack = Stack(cell, 7, WIDTH, layers, fed=WIDE)
    return LuongDecoder(Embedding(11, 7), Attention(score, drop=drop), stack, 5, seen, WIDE), seen


def run(kind: Kind, cell: Cell, dtype: torch.dtype, rows: int = 53, threads: int = 1) -> dict[str, Tensor]:
    """The features, and the gradients of some loss of them."""
    made, seen = decoder(kind, cell)
    made = made.to(dtype)
    values = torch.randn(rows, SLOTS, seen).to(dtype).requires_grad_()
    torch.set_num_threads(threads)
    mask = torch.arange(SLOTS) < (torch.arange(rows) % (SLOTS + 1)).unsqueeze(-1)  # the first has nothing to read
    memory = Memory(values, values, mask, torch.randn(rows, 5).to(dtype))
    features = made(torch.randint(0, 11, (rows, 6)), memory).features
    aim = torch.randn(features.shape, dtype=torch.float64)
    (features.double() * aim).sum().backward()  # type: ignore[no-untyped-call]
    grads = {name: weight.grad for name, weight in made.named_parameters() if weight.grad is not None}
    assert values.grad is not None
    return {"features": features.detach(), "values": values.grad, **grads}


@every
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_it_is_as_near_as_torch(kind: Kind, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        ours = run(kind, cell, torch.float32)
        monkeypatch.setattr(compiled, "library", lambda: None)
        theirs = run(kind, cell, torch.float32)
    exact = run(kind, cell, torch.float64)
    assert ours.keys() == theirs.keys() == exact.keys()
    for name, wanted in exact.items():
        far, near = (float((each[name].double() - wanted).norm() / wanted.norm()) for each in (ours, theirs))
        assert far <= max(1.2 * near, 2**-8), name
    assert not torch.equal(ours["stack.fed.weight"], theirs["stack.fed.weight"])


@every
def test_what_is_padding_gets_no_gradient(kind: Kind) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        values = run(kind, "gru", torch.float32)["values"]
    empty = torch.arange(SLOTS) >= (torch.arange(len(values)) % (SLOTS + 1)).unsqueeze(-1)
    assert values[empty].eq(0).all()
    assert values[~empty].ne(0).any(-1).all()


@every
def test_what_comes_out_does_not_depend_on_the_threads(kind: Kind) -> None:
    """To the bit."""
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(1)  # what the weights begin with depends on it
            with torch.autocast("cpu", torch.bfloat16):
                found.append(run(kind, "gru", torch.float32, rows=20, threads=threads))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for name, gradient in found[0].items():
            assert torch.equal(gradient, other[name]), name


def test_luongs_is_chosen_for_what_it_knows() -> None:
    keys = torch.zeros(2, 3, WIDTH)
    memory = Bound(keys, keys, torch.ones(2, 3, dtype=torch.bool), "source")

    def chosen(made: BahdanauDecoder | LuongDecoder, features: int = WIDE) -> bool:
        return feeds(made.attention, made.stack, memory, features)

    made, _ = decoder("dot", "gru")
    assert not chosen(made)  # nobody asked for narrow products
    with torch.autocast("cpu", torch.bfloat16):
        assert chosen(made)
        assert not chosen(made, features=7)
        assert not chosen(decoder("dot", "gru", layers=2)[0])
        assert not chosen(decoder("bahdanau", "gru")[0])
        dropped, _ = decoder("dot", "gru", drop=0.1)
        assert not chosen(dropped)
        assert chosen(dropped.eval())
        with record(made):
            assert not chosen(made)
        with torch.no_grad():
            assert not chosen(made)
