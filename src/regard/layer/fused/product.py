r"""Products of one step: $f(W_1 x_1 + W_2 x_2 + b)$ ahead, and the sums that come back through a matrix.

What comes back, $\delta W$, is the longest sum of a step: several programs share it, and whoever reads it adds up their
parts. Steps stand side by side in a row's memory: (row, step, width).
"""

# ruff: noqa: PLR0913, PLR0917 - a kernel has no objects to put its parameters into

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from regard.layer.fused import tile

MOVING = ("step", "steps", "rows", "first_at", "first_steps", "second_at", "second_steps", "out_at", "out_steps")


@triton.jit
@no_type_check
def tanh(x, FAST: tl.constexpr):
    """FAST: by the instruction for it, to eleven bits."""
    if FAST:
        found = tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        found = 1 - 2 / (tl.exp(2 * x) + 1)
    return found


@triton.jit
@no_type_check
def begin(EARLY: tl.constexpr):
    """EARLY: the launch stands ready, and lets the next one stand ready, but reads nothing before it may."""
    if EARLY:
        gdc_wait()
        gdc_launch_dependents()


@triton.jit
@no_type_check
def total(parts, at, stride, live, PARTS: tl.constexpr):
    """The sum of what several programs found of it."""
    found = tl.load(parts + at, mask=live, other=0.0)
    for part in tl.static_range(1, PARTS):
        found += tl.load(parts + part * stride + at, mask=live, other=0.0)
    return found


@triton.jit
@no_type_check
def dot(left, right, found, PRECISE: tl.constexpr):
    """found + left right; as Python there are no products of bfloat16."""
    if PRECISE == "python":
        found = tl.dot(left.to(tl.float32), right.to(tl.float32), found, input_precision="ieee")
    else:
        found = tl.dot(left, right, found, input_precision=PRECISE)
    return found


@triton.jit
@no_type_check
def added(found, x, weight, row, column, rows, WIDE: tl.constexpr, STRIDE: tl.constexpr, COLUMNS: tl.constexpr,
          DEPTH: tl.constexpr, PRECISE: tl.constexpr):  # fmt: skip
    """found + x Wᵀ; `x` points at each row, a column of `weight` is STRIDE long."""
    for first in range(0, WIDE, DEPTH):
        deep = first + tl.arange(0, DEPTH)
        left = tl.load(x[:, None] + deep[None, :], mask=(row < rows)[:, None] & (deep < WIDE)[None, :], other=0.0)
        mask = (column < COLUMNS)[None, :] & (deep < WIDE)[:, None]
        right = tl.load(weight + column[None, :] * STRIDE + deep[:, None], mask=mask, other=0.0)
        found = dot(left, right, found, PRECISE)
    return found


@triton.jit(do_not_specialize=MOVING)
@no_type_check
def _affine(first, second, weight, bias, out, rows, first_at, first_steps, second_at, second_steps, out_at, out_steps,
            FIRST: tl.constexpr, SECOND: tl.constexpr, WIDTH: tl.constexpr, CURVED: tl.constexpr, ROWS: tl.constexpr,
            COLUMNS: tl.constexpr, DEPTH: tl.constexpr, PRECISE: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    long = row.to(tl.int64)
    found = tl.zeros([ROWS, COLUMNS], tl.float32)
    x = first + (long * first_steps + first_at) * FIRST
    found = added(found, x, weight, row, column, rows, FIRST, FIRST + SECOND, WIDTH, DEPTH, PRECISE)
    if SECOND > 0:
        y = second + (long * second_steps + second_at) * SECOND
        found = added(found, y, weight + FIRST, row, column, rows, SECOND, FIRST + SECOND, WIDTH, DEPTH, PRECISE)
    found += tl.load(bias + column, mask=column < WIDTH, other=0.0).to(tl.float32)[None, :]
    if CURVED:
        found = tanh(found, False)
    place = ((long * out_steps + out_at) * WIDTH)[:, None] + column[None, :]
    tl.store(out + place, found, mask=(row < rows)[:, None] & (column < WIDTH)[None, :])


@triton.jit(do_not_specialize=MOVING)
@no_type_check
def _spread(given, weight, parts, rows, step, steps, DEEP: tl.constexpr, WIDTH: tl.constexpr, PARTS: tl.constexpr,
            ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, PRECISE: tl.constexpr,
            EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(2)
    SHARE: tl.constexpr = (DEEP + PARTS * DEPTH - 1) // (PARTS * DEPTH) * DEPTH
    long = row.to(tl.int64)
    x = given + (long * steps + step) * DEEP
    found = tl.zeros([ROWS, COLUMNS], tl.float32)
    for first in range(0, SHARE, DEPTH):
        deep = part * SHARE + first + tl.arange(0, DEPTH)
        left = tl.load(x[:, None] + deep[None, :], mask=(row < rows)[:, None] & (deep < DEEP)[None, :], other=0.0)
        mask = (column < WIDTH)[None, :] & (deep < DEEP)[:, None]
        right = tl.load(weight + deep[:, None] * WIDTH + column[None, :], mask=mask, other=0.0)
        found = dot(left, right, found, PRECISE)
    place = (part * rows + row)[:, None] * WIDTH + column[None, :]
    tl.store(parts + place, found, mask=(row < rows)[:, None] & (column < WIDTH)[None, :])


@triton.jit(do_not_specialize=MOVING)
@no_type_check
def _uncurve(given, parts, curved, back, rows, step, steps, WIDTH: tl.constexpr, WIDE: tl.constexpr,
             PARTS: tl.constexpr, MANY: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    flat = tl.program_id(0) * MANY + tl.arange(0, MANY)
    row, unit = flat // WIDTH, flat % WIDTH
    live = row < rows
    place = (row.to(tl.int64) * steps + step) * WIDTH + unit
    found = tl.load(given + place, mask=live, other=0.0).to(tl.float32)
    found += total(parts, row * WIDE + unit, rows * WIDE, live, PARTS)
    seen = tl.load(curved + place + (row.to(tl.int64) + 1) * WIDTH, mask=live, other=0.0).to(tl.float32)
    tl.store(back + place, found * (1 - seen * seen), mask=live)


def affine(
    first: tuple[Tensor, int],
    second: tuple[Tensor, int] | None,
    weight: Tensor,
    bias: Tensor,
    out: tuple[Tensor, int],
    *,
    curved: bool = False,
) -> None:
    """Each of `first`, `second` and `out` is a tensor and which of its steps."""
    (x, x_at), (y, y_at), (z, at) = first, second or first, out
    rows, width = z.shape[0], z.shape[2]
    shape = tile.cut(rows, width, tile.PRODUCT, weight)
    _affine[triton.cdiv(width, shape.columns), triton.cdiv(rows, shape.rows)](
        x, y, weight, bias, z, rows, x_at, x.shape[1], y_at, y.shape[1], at, z.shape[1],
        x.shape[2], y.shape[2] if second else 0, width, curved, shape.rows, shape.columns, tile.DEPTH[weight.dtype],
        precise(), tile.EARLY, num_warps=4, num_stages=tile.STAGES, launch_pdl=tile.EARLY,
    )  # fmt: skip


def spread(given: Tensor, step: int, weight: Tensor, parts: Tensor) -> None:
    """What step `step` of `given` is through `weight` (deep, width), in as many parts as `parts` has room for."""
    rows, steps, deep = given.shape
    width = weight.shape[1]
    shape = sharing(rows, width, weight)
    _spread[triton.cdiv(width, shape.columns), triton.cdiv(rows, shape.rows), shape.parts](
        given, weight, parts, rows, step, steps, deep, width, shape.parts, shape.rows, shape.columns,
        tile.DEPTH[weight.dtype], precise(), tile.EARLY, num_warps=4, num_stages=tile.STAGES, launch_pdl=tile.EARLY,
    )  # fmt: skip


def sharing(rows: int, width: int, like: Tensor) -> tile.Tile:
    return tile.cut(rows, width, tile.PRODUCT, like, parts=tile.PARTS)


def room(like: Tensor, width: int) -> Tensor:
    """For the parts of a sum that comes back to so many units of each row, through a matrix of numbers `like` these;
    nothing has come yet.
    """
    rows = like.shape[0]
    return like.new_zeros(sharing(rows, width, like).parts, rows, width, dtype=torch.float32)


def uncurve(given: Tensor, parts: Tensor, curved: Tensor, back: Tensor, step: int) -> None:
    """Through a tanh: (given + what the first units of `parts` hold) (1 − curved²). `curved` has a step before all."""
    rows, steps, width = given.shape
    many = 512
    _uncurve[(triton.cdiv(rows * width, many),)](
        given, parts, curved, back, rows, step, steps, width, parts.shape[2], parts.shape[0], many, tile.EARLY,
        num_warps=4, launch_pdl=tile.EARLY,
    )  # fmt: skip


def precise() -> str:
    """Of products of float32, as torch is told to make them."""
    if interpreted():
        return "python"
    return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def interpreted() -> bool:
    """Whether kernels run as Python, one program after another."""
    return not isinstance(_affine, triton.runtime.JITFunction)
