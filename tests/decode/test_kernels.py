"""The kernels give what the steps give one by one, and so do their gradients: for every choice they know.

Without a GPU they run as Python, one program after another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
pytest.importorskip("triton")

from regard.attention import Attention, core, record
from regard.attention.score import Additive, Concat, Dot, General, ScaledDot, Score
from regard.decode import BahdanauDecoder, LuongDecoder
from regard.decode.fused import choice, parts
from regard.layer import fused
from regard.layer.embedding import Embedding
from regard.layer.fused import tile
from regard.layer.recurrent import Cell, Stack
from regard.memory import Memory

Kind = Literal["bahdanau", "luong"]
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ROWS, STEPS, SLOTS = 3, 3, 7
LENGTHS = (7, 3, 0)  # a row with nothing to read too
SYMBOLS, WORD, SUMMARY, WIDTH, FEATURES = 11, 7, 5, 19, 17
SCORES = ("additive", "dot", "general")


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sums in several turns, none of them full."""
    monkeypatch.setattr(fused, "ready", lambda _: True)
    tiled(monkeypatch, 32)
    monkeypatch.setattr(tile, "SLOTS", 16)
    monkeypatch.setattr(tile, "SLICE", 16 * 16)
    monkeypatch.setattr(tile, "DEPTH", {torch.bfloat16: 16, torch.float32: 16})
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(precision)


def tiled(monkeypatch: pytest.MonkeyPatch, side: int) -> None:
    for name in ("CELL", "PRODUCT"):
        monkeypatch.setattr(tile, name, ((16, side),))


def score(name: str, key: int) -> Score:
    match name:
        case "additive":
            return Additive(WIDTH, key, 23)
        case "concat":
            return Concat(WIDTH, key, 23)
        case "dot":
            return Dot()
        case "scaled_dot":
            return ScaledDot()
    return General(WIDTH, key)


def decoder(kind: Kind, cell: Cell, name: str, layers: int = 1, drop: float = 0.0) -> BahdanauDecoder | LuongDecoder:
    torch.manual_seed(3)
    key = width(name)
    fed = key if kind == "bahdanau" else FEATURES
    stack = Stack(cell, WORD, WIDTH, layers, fed=fed, drop=drop)
    attention, embedding = Attention(score(name, key), drop=drop), Embedding(SYMBOLS, WORD)
    for each in stack.parameters():  # a bias that is nothing hides what is wrong with it
        torch.nn.init.normal_(each, std=0.3)
    if kind == "bahdanau":
        return BahdanauDecoder(embedding, attention, stack, SUMMARY, FEATURES).to(DEVICE)
    return LuongDecoder(embedding, attention, stack, SUMMARY, key, FEATURES).to(DEVICE)


def width(name: str) -> int:
    return WIDTH if name in ("dot", "scaled_dot") else 13


def memory(key: int, rows: int = ROWS) -> Memory:
    torch.manual_seed(4)
    values = torch.randn(rows, SLOTS, key, device=DEVICE, requires_grad=True)
    keys = torch.randn(rows, SLOTS, key, device=DEVICE, requires_grad=True)
    lengths = torch.tensor(LENGTHS, device=DEVICE).repeat(-(-rows // ROWS))[:rows]
    mask = torch.arange(SLOTS, device=DEVICE) < lengths.unsqueeze(-1)
    return Memory(keys, values, mask, torch.randn(rows, SUMMARY, device=DEVICE, requires_grad=True))


def gradients(
    made: BahdanauDecoder | LuongDecoder, source: Memory, *, watched: bool
) -> tuple[Tensor, dict[str, Tensor]]:
    """Of some loss of the features; who is watched takes the steps one by one."""
    rows = source.keys.shape[0]
    tokens = torch.randint(0, SYMBOLS, (rows, STEPS), generator=torch.Generator().manual_seed(5)).to(DEVICE)
    leaves = {"keys": source.keys, "values": source.values, **dict(made.named_parameters())}
    if source.summary is not None:
        leaves["summary"] = source.summary
    torch.manual_seed(8)  # the same dropout
    if watched:
        with record(made):
            features = made(tokens, source).features
    else:
        features = made(tokens, source).features
    aim = torch.randn(features.shape, generator=torch.Generator().manual_seed(6)).to(DEVICE)
    found = torch.autograd.grad((features.float() * aim).sum(), list(leaves.values()), allow_unused=True)
    return features.detach(), {name: each for name, each in zip(leaves, found, strict=True) if each is not None}


def same_draws(monkeypatch: pytest.MonkeyPatch, drop: float) -> None:
    """The kernels draw the dropout of all weights at once, the steps one by one: here both get one and the same."""
    keep = torch.empty(ROWS, STEPS, SLOTS).bernoulli_(1 - drop, generator=torch.Generator().manual_seed(7))
    keep = keep.div_(1 - drop).to(DEVICE)
    monkeypatch.setattr(parts, "kept", lambda *_: keep)
    step = iter(range(STEPS))
    monkeypatch.setattr(core, "dropout", lambda weights, *_: weights * keep[:, next(step)].unsqueeze(1))


def check(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, gradient in one.items():
        assert_close(gradient, other[name], rtol=1e-4, atol=2e-5, msg=name)
        assert gradient.abs().max() > 0, name


@pytest.mark.parametrize("drop", [0.0, 0.4], ids=["", "dropout"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_they_are_the_loop_in_outputs_and_every_gradient(
    kind: Kind, cell: Cell, name: str, layers: int, drop: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, source = decoder(kind, cell, name, layers, drop), memory(width(name))
    if drop:
        same_draws(monkeypatch, drop)
    features, by_hand = gradients(made, source, watched=False)
    wanted, by_torch = gradients(made, source, watched=True)
    assert_close(features, wanted, rtol=1e-5, atol=1e-5)
    check(by_hand, by_torch)


@pytest.mark.parametrize("name", ["concat", "scaled_dot"])
@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_the_other_scores_of_these_two_forms(kind: Kind, name: str) -> None:
    made, source = decoder(kind, "gru", name), memory(width(name))
    check(gradients(made, source, watched=False)[1], gradients(made, source, watched=True)[1])


@pytest.mark.parametrize(
    ("kind", "cell", "name"),
    [("bahdanau", "gru", "additive"), ("bahdanau", "lstm", "dot"), ("luong", "gru", "general")],
)
def test_more_than_a_tile_has(kind: Kind, cell: Cell, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows and of units; none of the tiles is full."""
    tiled(monkeypatch, 16)
    made, source = decoder(kind, cell, name, 2), memory(width(name), rows=19)
    check(gradients(made, source, watched=False)[1], gradients(made, source, watched=True)[1])


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_narrow_products_stay_near(kind: Kind, cell: Cell, name: str) -> None:
    """bfloat16 has eight bits: gradients stay about as near to the exact ones as torch's own. (As Python, the kernels
    cut bits off where they should round.)
    """
    made, source = decoder(kind, cell, name), memory(width(name))
    _, exact = gradients(made, source, watched=True)
    with torch.autocast(DEVICE.type, torch.bfloat16):
        features, by_hand = gradients(made, source, watched=False)
        _, by_torch = gradients(made, source, watched=True)
    assert features.dtype == torch.bfloat16
    assert {key: each.dtype for key, each in by_hand.items()} == {key: each.dtype for key, each in exact.items()}
    for key, gradient in by_hand.items():
        assert away(gradient, exact[key]) < max(0.03, 2 * away(by_torch[key], exact[key])), key


def away(one: Tensor, other: Tensor) -> float:
    return float((one - other).norm() / other.norm())


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU has an order of its own")
@pytest.mark.parametrize(("kind", "name"), [("bahdanau", "additive"), ("bahdanau", "dot"), ("luong", "additive")])
def test_no_program_waits_for_another(kind: Kind, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one launch give the same, to the bit, when the last goes first."""
    from triton.runtime.interpreter import interpreter_builder

    tiled(monkeypatch, 16)
    made, source = decoder(kind, "gru", name, 2), memory(width(name), rows=19)
    features, found = gradients(made, source, watched=False)
    forward = interpreter_builder.set_grid_idx

    def backward(*place: int) -> None:
        forward(*(size - 1 - at for size, at in zip(interpreter_builder.grid_dim, place, strict=True)))

    monkeypatch.setattr(interpreter_builder, "set_grid_idx", backward)
    again, other = gradients(made, source, watched=False)
    assert torch.equal(features, again)
    for key, gradient in found.items():
        assert torch.equal(gradient, other[key]), key


def test_two_ways_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernels the numbers are others, in their last digits."""
    made, source = decoder("bahdanau", "gru", "additive", layers=2), memory(width("additive"))
    by_hand = gradients(made, source, watched=False)[1]
    monkeypatch.setattr(fused, "ready", lambda _: False)
    by_torch = gradients(made, source, watched=False)[1]
    assert any(not torch.equal(by_hand[name], by_torch[name]) for name in by_hand)


def test_what_a_step_leaves_does_not_grow_with_slots_times_width() -> None:
    source, slots = memory(width("additive")), 200
    keys, values = (x[:, :1].expand(-1, slots, -1) for x in (source.keys, source.values))
    made = decoder("bahdanau", "gru", "additive")
    state = made.start(replace(source, keys=keys, values=values, mask=source.mask[:, :1].expand(-1, slots)))
    known = made.stack.known(made.embedding(torch.zeros(ROWS, STEPS, dtype=torch.long, device=DEVICE)))
    plan, flat = parts.given(known, state.memory, made.attention, made.stack, state.carry)
    done = parts.settle(plan, plan.order.like(flat))
    backs, sight = done.backing()
    assert max(each.numel() for each in tensors((done, tuple(backs), sight))) <= ROWS * slots * 23  # the keys


def tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from tensors(part)
    else:
        for name in getattr(type(value), "__slots__", ()):
            yield from tensors(getattr(value, name))


def test_padding_is_not_even_read() -> None:
    made, source = decoder("bahdanau", "gru", "general"), memory(width("general"))
    tokens = torch.zeros(ROWS, STEPS, dtype=torch.long, device=DEVICE)
    clean = made(tokens, source).features
    with torch.no_grad():
        source.values[~source.mask] = torch.nan
        source.keys[~source.mask] = torch.nan
    assert_close(made(tokens, source).features, clean, rtol=0, atol=0)


def test_after_its_gradient_nothing_is_kept() -> None:
    made, source = decoder("luong", "lstm", "dot"), memory(width("dot"))
    tokens = torch.zeros(ROWS, STEPS, dtype=torch.long, device=DEVICE)
    features = made(tokens, source).features
    node: Any = features.grad_fn
    assert node.done is not None
    torch.autograd.backward(features.sum(), retain_graph=True)
    assert node.done is None
    with pytest.raises(RuntimeError, match="once"):
        torch.autograd.backward(features.sum())


def test_it_leaves_to_the_loop_what_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    made, source = decoder("bahdanau", "gru", "additive"), memory(width("additive"))
    attention, stack = made.attention, made.stack
    bound = attention.bind(source)
    assert choice.applies(attention, stack, bound)
    with record(made):
        assert not choice.applies(attention, stack, bound)
    with torch.no_grad():
        assert not choice.applies(attention, stack, bound)
    with torch.autocast(DEVICE.type, torch.float16):
        assert not choice.applies(attention, stack, bound)
    assert not choice.applies(attention, stack.double(), bound)
    monkeypatch.undo()
    assert choice.applies(attention, stack.float(), bound) == torch.cuda.is_available()


def test_tiles_grow_with_the_work() -> None:
    like, sizes = torch.zeros(1, dtype=torch.float32), ((64, 64), (16, 16))
    many = tile.cut(4096, 512, sizes, like)
    assert (many.rows, many.columns, many.parts) == (64, 64, 1)
    assert tile.cut(64, 512, sizes, like) == tile.Tile(16, 16)
    assert tile.cut(16, 32, sizes, like, parts=4) == tile.Tile(16, 16, 4)
    assert tile.cut(4096, 512, sizes, like, gates=100) == tile.Tile(16, 16)  # else they would not fit
    assert [tile.power(size) for size in (1, 16, 17, 64)] == [16, 16, 32, 64]
    assert tile.wide(7, 1000) == 16
