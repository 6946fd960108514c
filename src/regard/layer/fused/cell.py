r"""Cells: one step of one recurrent layer in one launch, its products with its gates as their last line; and back.

GRU (Cho 2014): $h' = (1 - z)\,n + z\,h$,  $n = \tanh(x_n + r\,h_n)$,  $r, z = \sigma(x_{rz} + h_{rz})$
LSTM (Hochreiter 1997): $h' = o \tanh c'$,  $c' = f\,c + i\,g$,  $i, f, o = \sigma(\cdot)$, $g = \tanh(\cdot)$

With $x = x_t + F y_t + b$ of what is known ahead and of what is fed, and $h = U h_{t-1} + b'$. Four numbers of each
unit are kept: the LSTM's gates, or the GRU's $r, z, n, h_n$. Backwards there are as many: the gradients of the LSTM's
gates, or of $r, z, x_n, h_n$. Either cell then goes back through one matrix, [F | U], which has nothing where a gate
does not read.
"""

# ruff: noqa: PLR0913, PLR0915, PLR0917 - a kernel has no objects to put its parameters into

from __future__ import annotations

from dataclasses import dataclass
from typing import final, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.layer.fused import tile
from regard.layer.fused.product import MOVING, begin, dot, precise, room, spread, tanh, total

TURNING = (*MOVING, "fed_at", "fed_steps", "asked_at", "asked_steps")


@triton.jit
@no_type_check
def _gates(known, bias, row, unit, live, step, steps, rows, GATE: tl.constexpr, GATES: tl.constexpr,
           WIDTH: tl.constexpr, KNOWN: tl.constexpr):  # fmt: skip
    """What one gate of each unit gets ahead of all products: of the step, or the same for all."""
    column = GATE * WIDTH + unit
    if KNOWN:
        place = ((row.to(tl.int64) * steps + step) * (GATES * WIDTH))[:, None] + column[None, :]
        found = tl.load(known + place, mask=live, other=0.0).to(tl.float32)
    else:
        found = tl.load(bias + column, mask=unit < WIDTH, other=0.0).to(tl.float32)[None, :]
    return found


@triton.jit(do_not_specialize=TURNING)
@no_type_check
def advance(known, bias, fed, drop, into, state, own, own_bias, carry, kept, rows, step, steps, fed_at, fed_steps,
            GATED: tl.constexpr, KNOWN: tl.constexpr, DROP: tl.constexpr, FED: tl.constexpr, WIDTH: tl.constexpr,
            ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr, PRECISE: tl.constexpr,
            EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    GATES: tl.constexpr = 4 if GATED else 3
    side = tl.program_id(2).to(tl.int64)
    known += side * rows * steps * (GATES * WIDTH)
    state += side * rows * (steps + 1) * WIDTH
    carry += side * rows * (steps + 1) * WIDTH
    kept += side * rows * steps * (4 * WIDTH)
    own += side * (GATES * WIDTH * WIDTH)
    own_bias += side * (GATES * WIDTH)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    live = (row < rows)[:, None] & (unit < WIDTH)[None, :]
    long = row.to(tl.int64)
    one = tl.zeros([ROWS, UNITS], tl.float32)
    two, three, four = one, one, one
    x = fed + (long * fed_steps + fed_at) * FED
    for first in range(0, FED, DEPTH):
        deep = first + tl.arange(0, DEPTH)
        inside = (row < rows)[:, None] & (deep < FED)[None, :]
        left = tl.load(x[:, None] + deep[None, :], mask=inside, other=0.0)
        if DROP:
            some = tl.load(drop + long[:, None] * FED + deep[None, :], mask=inside, other=0.0)
            left = (left.to(tl.float32) * some.to(tl.float32)).to(left.dtype)
        mask = (unit < WIDTH)[None, :] & (deep < FED)[:, None]
        right = into + unit[None, :] * FED + deep[:, None]
        one = dot(left, tl.load(right, mask=mask, other=0.0), one, PRECISE)
        two = dot(left, tl.load(right + WIDTH * FED, mask=mask, other=0.0), two, PRECISE)
        three = dot(left, tl.load(right + 2 * WIDTH * FED, mask=mask, other=0.0), three, PRECISE)
        if GATED:
            four = dot(left, tl.load(right + 3 * WIDTH * FED, mask=mask, other=0.0), four, PRECISE)
    x = state + (long * (steps + 1) + step) * WIDTH
    for first in range(0, WIDTH, DEPTH):
        deep = first + tl.arange(0, DEPTH)
        left = tl.load(x[:, None] + deep[None, :], mask=(row < rows)[:, None] & (deep < WIDTH)[None, :], other=0.0)
        mask = (unit < WIDTH)[None, :] & (deep < WIDTH)[:, None]
        right = own + unit[None, :] * WIDTH + deep[:, None]
        one = dot(left, tl.load(right, mask=mask, other=0.0), one, PRECISE)
        two = dot(left, tl.load(right + WIDTH * WIDTH, mask=mask, other=0.0), two, PRECISE)
        last = tl.load(right + 2 * WIDTH * WIDTH, mask=mask, other=0.0)
        if GATED:
            three = dot(left, last, three, PRECISE)
            last = tl.load(right + 3 * WIDTH * WIDTH, mask=mask, other=0.0)
        four = dot(left, last, four, PRECISE)
    one += _gates(known, bias, row, unit, live, step, steps, rows, 0, GATES, WIDTH, KNOWN)
    two += _gates(known, bias, row, unit, live, step, steps, rows, 1, GATES, WIDTH, KNOWN)
    three += _gates(known, bias, row, unit, live, step, steps, rows, 2, GATES, WIDTH, KNOWN)
    shift = own_bias + unit
    one = tl.sigmoid(one + tl.load(shift, mask=unit < WIDTH, other=0.0).to(tl.float32)[None, :])
    two = tl.sigmoid(two + tl.load(shift + WIDTH, mask=unit < WIDTH, other=0.0).to(tl.float32)[None, :])
    last_bias = tl.load(shift + 2 * WIDTH, mask=unit < WIDTH, other=0.0).to(tl.float32)[None, :]
    before = ((long * (steps + 1) + step) * WIDTH)[:, None] + unit[None, :]
    if GATED:
        three = tanh(three + last_bias, False)
        four += _gates(known, bias, row, unit, live, step, steps, rows, 3, GATES, WIDTH, KNOWN)
        four = tl.sigmoid(four + tl.load(shift + 3 * WIDTH, mask=unit < WIDTH, other=0.0).to(tl.float32)[None, :])
        inner = two * tl.load(carry + before, mask=live, other=0.0) + one * three
        after = four * tanh(inner, False)
    else:
        four += last_bias
        three = tanh(three + one * four, False)
        after = three + two * (tl.load(carry + before, mask=live, other=0.0) - three)
        inner = after
    tl.store(carry + before + WIDTH, inner, mask=live)
    tl.store(state + before + WIDTH, after, mask=live)
    here = ((long * steps + step) * (4 * WIDTH))[:, None] + unit[None, :]
    tl.store(kept + here, one, mask=live)
    tl.store(kept + here + WIDTH, two, mask=live)
    tl.store(kept + here + 2 * WIDTH, three, mask=live)
    tl.store(kept + here + 3 * WIDTH, four, mask=live)


@triton.jit
@no_type_check
def turned(after, kept, carry, back, gates, row, unit, live, step, steps, GATED: tl.constexpr, WIDTH: tl.constexpr):
    """Back through the gates of one step: from the gradient of its state to those of its gates and of its carry."""
    here = (row * steps + step) * (4 * WIDTH) + unit
    before = (row * (steps + 1) + step) * WIDTH + unit
    one = tl.load(kept + here, mask=live, other=0.0).to(tl.float32)
    two = tl.load(kept + here + WIDTH, mask=live, other=0.0).to(tl.float32)
    three = tl.load(kept + here + 2 * WIDTH, mask=live, other=0.0).to(tl.float32)
    four = tl.load(kept + here + 3 * WIDTH, mask=live, other=0.0).to(tl.float32)
    whole = tl.load(back + row * WIDTH + unit, mask=live, other=0.0)
    past = tl.load(carry + before, mask=live, other=0.0)
    if GATED:
        shown = tanh(tl.load(carry + before + WIDTH, mask=live, other=0.0), False)
        whole += after * four * (1 - shown * shown)
        first = whole * three * one * (1 - one)
        second = whole * past * two * (1 - two)
        third = whole * one * (1 - three * three)
        fourth = after * shown * four * (1 - four)
    else:
        whole += after
        third = whole * (1 - two) * (1 - three * three)
        first = third * four * one * (1 - one)
        second = whole * (past - three) * two * (1 - two)
        fourth = third * one
    tl.store(gates + here, first, mask=live)
    tl.store(gates + here + WIDTH, second, mask=live)
    tl.store(gates + here + 2 * WIDTH, third, mask=live)
    tl.store(gates + here + 3 * WIDTH, fourth, mask=live)
    tl.store(back + row * WIDTH + unit, whole * two, mask=live)


@triton.jit(do_not_specialize=TURNING)
@no_type_check
def retreat(out, asked, matrix, parts, beside, drop, kept, carry, back, gates, rows, step, steps, asked_at,
            asked_steps, OUT: tl.constexpr, ASKED: tl.constexpr, FED: tl.constexpr, PARTS: tl.constexpr,
            WIDE: tl.constexpr, AT: tl.constexpr, BESIDE: tl.constexpr, DROP: tl.constexpr, GATED: tl.constexpr,
            WIDTH: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr, PRECISE: tl.constexpr,
            EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    side = tl.program_id(2).to(tl.int64)
    out += side * rows * steps * WIDTH
    asked += side * rows * asked_steps * ASKED
    matrix += side * (ASKED * WIDTH)
    kept += side * rows * steps * (4 * WIDTH)
    carry += side * rows * (steps + 1) * WIDTH
    back += side * rows * WIDTH
    gates += side * rows * steps * (4 * WIDTH)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    live = (row < rows)[:, None] & (unit < WIDTH)[None, :]
    long = row.to(tl.int64)
    after = tl.zeros([ROWS, UNITS], tl.float32)
    x = asked + (long * asked_steps + asked_at) * ASKED
    for first in range(0, ASKED, DEPTH):
        deep = first + tl.arange(0, DEPTH)
        left = tl.load(x[:, None] + deep[None, :], mask=(row < rows)[:, None] & (deep < ASKED)[None, :], other=0.0)
        mask = (unit < WIDTH)[None, :] & (deep < ASKED)[:, None]
        right = tl.load(matrix + deep[:, None] * WIDTH + unit[None, :], mask=mask, other=0.0)
        after = dot(left.to(right.dtype), right, after, PRECISE)
    long = long[:, None]
    column = unit[None, :]
    if OUT:
        after += tl.load(out + (long * steps + step) * WIDTH + column, mask=live, other=0.0).to(tl.float32)
    if PARTS > 0:
        reach = FED + WIDTH
        after += total(parts, long * reach + FED + column, rows * reach, live, PARTS)
    if BESIDE > 0:
        found = total(beside, long * WIDE + AT + column, rows * WIDE, live, BESIDE)
        if DROP:
            found *= tl.load(drop + long * WIDTH + column, mask=live, other=0.0).to(tl.float32)
        after += found
    turned(after, kept, carry, back, gates, long, column, live, step, steps, GATED, WIDTH)


@final
@dataclass(frozen=True, slots=True)
class Level:
    """One layer over all steps. `state` and `carry` have a step before all; a GRU's `carry` is its state, unrounded.

    `bias` is None where all that is known ahead, bias and all, comes with the step; `drop` masks what is fed.
    """

    into: Tensor  # gates × fed
    bias: Tensor | None
    own: Tensor  # gates × width
    own_bias: Tensor
    drop: Tensor | None
    state: Tensor  # row, step + 1, width
    carry: Tensor  # row, step + 1, width, float32
    kept: Tensor  # row, step, 4 × width

    @property
    def gated(self) -> bool:
        return self.own.shape[0] == 4 * self.own.shape[1]

    @property
    def steps(self) -> int:
        return self.kept.shape[1]

    def advance(self, step: int, fed: Tensor, at: int, known: Tensor | None) -> None:
        """One step; it is fed what stands at `at` of `fed`."""
        rows, width = self.state.shape[0], self.state.shape[2]
        shape = tile.cut(rows, width, tile.CELL, self.own, gates=4)
        advance[triton.cdiv(width, shape.columns), triton.cdiv(rows, shape.rows)](
            self.own_bias if known is None else known, self.own_bias if self.bias is None else self.bias, fed,
            fed if self.drop is None else self.drop, self.into, self.state, self.own, self.own_bias, self.carry,
            self.kept, rows, step, self.steps, at, fed.shape[1], self.gated, known is not None, self.drop is not None,
            self.into.shape[1], width, shape.rows, shape.columns, tile.DEPTH[self.own.dtype], precise(),
            tile.EARLY, num_warps=4, num_stages=tile.STAGES, launch_pdl=tile.EARLY,
        )  # fmt: skip

    def backing(self) -> Backing:
        """For the way back, on which nothing has come yet."""
        rows, width, fed = self.state.shape[0], self.state.shape[2], self.into.shape[1]
        into = self.into if self.gated else torch.cat([self.into, torch.zeros_like(self.into[:width])])
        both = torch.cat([into, spaced(self.own)], -1)
        gates = torch.empty_like(self.kept)
        return Backing(both, gates, room(gates, fed + width), gates.new_zeros(rows, width, dtype=torch.float32))


def spaced(own: Tensor) -> Tensor:
    """U, in the order of the gradients of a cell: a GRU's third, of what n reads of x, reads nothing of the state."""
    width = own.shape[-1]
    if own.shape[-2] == 4 * width:
        return own
    rest = own[..., 2 * width :, :]
    return torch.cat([own[..., : 2 * width, :], torch.zeros_like(rest), rest], -2)


def owned(gates: Tensor, gated: bool, dim: int = 0) -> Tensor:
    """Of the gradients of a cell those that belong to U and to its bias."""
    if gated:
        return gates
    reset, keep, _, own = gates.chunk(4, dim)
    return torch.cat([reset, keep, own], dim)


@final
@dataclass(frozen=True, slots=True)
class Beside:
    """A sum from another product that belongs to the state too: its parts, and where its units begin in them."""

    parts: Tensor
    at: int
    drop: Tensor | None = None


@final
@dataclass(frozen=True, slots=True)
class Backing:
    """A layer's way back: [F | U], the gradients of all gates, the parts of what goes to its inputs, the carry's."""

    both: Tensor  # 4 × width, fed + width
    gates: Tensor  # row, step, 4 × width
    parts: Tensor  # part, row, fed + width
    carry: Tensor

    @property
    def fed(self) -> int:
        """How wide what was fed is: the first units of the parts."""
        return self.parts.shape[2] - self.carry.shape[1]

    def retreat(self, level: Level, step: int, out: Tensor | None, beside: Beside | None, asked: Asked | None) -> None:
        """Back through the gates of one step, from all that its state went to."""
        rows, width = self.carry.shape
        shape = tile.cut(rows, width, tile.PRODUCT if asked else tile.PRODUCT[-1:], self.both)
        more = beside or Beside(self.parts, 0)
        query, matrix, at, deep = (self.parts, self.both, 0, 0) if asked is None else asked.each()
        retreat[triton.cdiv(width, shape.columns), triton.cdiv(rows, shape.rows)](
            self.gates if out is None else out, query, matrix, self.parts, more.parts,
            self.gates if more.drop is None else more.drop, level.kept, level.carry, self.carry, self.gates, rows, step,
            level.steps, at, query.shape[1], out is not None, deep, self.fed, self.parts.shape[0], more.parts.shape[2],
            more.at, more.parts.shape[0] if beside else 0, more.drop is not None, level.gated, width, shape.rows,
            shape.columns, tile.DEPTH[self.both.dtype], precise(), tile.EARLY, num_warps=4, num_stages=tile.STAGES,
            launch_pdl=tile.EARLY,
        )  # fmt: skip

    def spread(self, step: int) -> None:
        """From the gates of a step to what was fed and to the state before it."""
        spread(self.gates, step, self.both, self.parts)

    def before(self, gated: bool) -> Tensor:
        """What has come back to the state before all steps, without what a query brought."""
        found = self.parts.sum(0)[:, self.fed :]
        return found if gated else found + self.carry


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """The gradient of a query that was made of the state by a matrix: step `at` of (row, step + 1, key)."""

    gradient: Tensor
    matrix: Tensor
    at: int

    def each(self) -> tuple[Tensor, Tensor, int, int]:
        """All of it, and how wide the query is."""
        return self.gradient, self.matrix, self.at, self.gradient.shape[2]
