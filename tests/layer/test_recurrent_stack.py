"""The recurrent stack: torch's cells, all at once or a step at a time, with locked dropout between them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.layer.recurrent import Carry, Cell, Stack

ROWS, STEPS, INPUTS, FED, WIDTH = 3, 5, 4, 3, 6

cells = pytest.mark.parametrize("cell", ["gru", "lstm"])


def make(cell: Cell, layers: int = 2, *, fed: int = 0, drop: float = 0.0) -> Stack:
    torch.manual_seed(1)
    return Stack(cell, INPUTS, WIDTH, layers, fed=fed, drop=drop).double().train(drop > 0)


def given(stack: Stack) -> tuple[Tensor, Carry]:
    x = torch.randn(ROWS, STEPS, INPUTS).double()
    hidden, cell = (tuple(torch.randn(ROWS, WIDTH).double() for _ in stack.layers) for _ in range(2))
    return x, Carry(hidden, cell if stack.gated else ())


def walk(stack: Stack, x: Tensor, carry: Carry, fed: Tensor | None = None) -> Tensor:
    tops = []
    for step, known in enumerate(stack.known(x).unbind(1)):
        carry = stack.step(known, None if fed is None else fed[:, step], carry)
        tops.append(carry.top)
    return torch.stack(tops, 1)


@cells
@pytest.mark.parametrize("drop", [0.0, 0.5])
def test_step_by_step_is_all_at_once(cell: Cell, drop: float) -> None:
    stack = make(cell, 3, drop=drop)
    x, carry = given(stack)
    carry = stack.begin(carry)
    assert len(carry.masks) == (2 if drop else 0)
    assert_close(walk(stack, x, carry), stack.run(x, carry))


@cells
def test_it_is_torchs(cell: Cell) -> None:
    """Both layers in one of torch's modules; what is fed is a part of the input."""
    stack = make(cell, fed=FED)
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    theirs = kind(INPUTS + FED, WIDTH, 2, batch_first=True).double()
    weights = {
        f"{name[:-1]}{number}": value
        for number, layer in enumerate(stack.layers)
        for name, value in layer.state_dict().items()
    }
    assert stack.fed is not None
    weights["weight_ih_l0"] = torch.cat([weights["weight_ih_l0"], stack.fed.weight], 1)
    theirs.load_state_dict(weights)
    x, carry = given(stack)
    fed = torch.randn(ROWS, STEPS, FED).double()
    first = [torch.stack(part) for part in (carry.hidden, carry.cell) if part]
    want, _ = theirs(torch.cat([x, fed], -1), tuple(first) if stack.gated else first[0])
    assert_close(walk(stack, x, carry, fed), want)


@cells
def test_rows_reorder_all_of_a_carry(cell: Cell) -> None:
    stack = make(cell, drop=0.5)
    x, carry = given(stack)
    carry, index = stack.begin(carry), torch.tensor([2, 0, 2])
    assert_close(walk(stack, x[index], carry.rows(index)), walk(stack, x, carry)[index])


def test_a_mask_is_the_same_for_all_steps_of_a_row() -> None:
    """The second layer's input is silenced in the same channels at every step, otherwise in every row."""
    stack = make("gru", drop=0.5)
    x, carry = given(stack)
    (mask,) = stack.begin(carry).masks
    assert set(mask.flatten().tolist()) == {0.0, 2.0}
    assert not torch.equal(mask[0], mask[1])
    assert stack.begin(carry).masks[0].ne(mask).any()  # another sequence, other masks
    assert stack.eval().begin(carry).masks == ()
    silent = torch.zeros_like(mask)
    one, two = (walk(stack, y, Carry(carry.hidden, (), (silent,))) for y in (x, x + 1))
    assert_close(one, two)


@cells
def test_recurrences_begin_orthogonal(cell: Cell) -> None:
    stack = make(cell)
    for layer in stack.layers:
        for gate in torch.split(layer.get_parameter("weight_hh_l0"), WIDTH):
            assert_close(gate @ gate.T, torch.eye(WIDTH).double(), atol=1e-6, rtol=0)
        forget = layer.get_parameter("bias_ih_l0")[WIDTH : 2 * WIDTH]
        assert (forget == (1 if stack.gated else 0)).all()


def test_zero_is_the_state_before_anything() -> None:
    assert make("gru").zero(torch.ones(ROWS, 2)).cell == ()
    carry = make("lstm").zero(torch.ones(ROWS, 2))
    assert len(carry.hidden) == len(carry.cell) == 2
    assert (carry.top == 0).all()
