r"""Scans: several recurrent layers side by side, $h_t = \mathrm{cell}(x_t, U h_{t-1} + b)$, as the two directions of an
encoder are. A step of all of them is one launch, ahead and back. They begin from nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import torch
import triton
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.layer import fused
from regard.layer.fused import tile
from regard.layer.fused.cell import advance, owned, retreat, spaced
from regard.layer.fused.product import precise


def scans(
    gates: Sequence[Float[Tensor, "row step gates"]],
    owns: Sequence[Float[Tensor, "gates width"]],
    biases: Sequence[Float[Tensor, " gates"]],
    dtype: torch.dtype,
) -> tuple[Float[Tensor, "row step width"], ...]:
    """The hidden states of each after each step. Products are of `dtype`."""
    found: tuple[Tensor, ...] = _Scans.apply(dtype, *gates, *owns, *biases)  # type: ignore[no-untyped-call]
    return found


@final
class _Scans(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *flat: Tensor) -> tuple[Tensor, ...]:
        many = len(flat) // 3
        known, own, bias = (torch.stack([x.to(dtype) for x in flat[at : at + many]]) for at in range(0, 3 * many, many))
        rows, steps, width = *known.shape[1:3], own.shape[2]
        state = known.new_empty(many, rows, steps + 1, width)
        carry = torch.empty_like(state, dtype=torch.float32)
        state[:, :, 0], carry[:, :, 0] = 0, 0
        kept = known.new_empty(many, rows, steps, 4 * width)
        gated = own.shape[1] == 4 * width
        shape = tile.cut(many * rows, width, tile.CELL, own, gates=4)
        for step in range(steps):
            advance[triton.cdiv(width, shape.columns), triton.cdiv(rows, shape.rows), many](
                known, bias, known, known, own, state, own, bias, carry, kept, rows, step, steps, 0, 1, gated, True,
                False, 0, width, shape.rows, shape.columns, tile.DEPTH[dtype], precise(), tile.EARLY, num_warps=4,
                num_stages=tile.STAGES, launch_pdl=tile.EARLY,
            )  # fmt: skip
        ctx.done, ctx.gated = (state, carry, kept, own), gated
        ctx.dtypes = [part.dtype for part in flat]
        return tuple(each[:, 1:] for each in state)

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *states: Tensor) -> tuple[Tensor | None, ...]:
        state, carry, kept, own = fused.once(ctx.done)
        ctx.done = None  # a loss may be kept for long
        many, rows, steps, width = kept.shape[0], kept.shape[1], kept.shape[2], own.shape[2]
        out, matrix = torch.stack(states), spaced(own)
        gates, inner = torch.empty_like(kept), torch.zeros_like(carry[:, :, 0])
        shape = tile.cut(many * rows, width, tile.PRODUCT, own)
        for step in range(steps - 1, -1, -1):
            deep = 4 * width if step + 1 < steps else 0  # nothing comes back to the last step
            retreat[triton.cdiv(width, shape.columns), triton.cdiv(rows, shape.rows), many](
                out, gates, matrix, inner, inner, gates, kept, carry, inner, gates, rows, step, steps, step + 1, steps,
                True, deep, 0, 0, 1, 0, 0, False, ctx.gated, width, shape.rows, shape.columns, tile.DEPTH[own.dtype],
                precise(), tile.EARLY, num_warps=4, num_stages=tile.STAGES, launch_pdl=tile.EARLY,
            )  # fmt: skip
        weights = gates.flatten(1, 2).mT @ state[:, :, :-1].flatten(1, 2)
        bias = gates.sum((1, 2), dtype=torch.float32)
        found = (
            gates if ctx.gated else gates[..., : 3 * width],
            owned(weights, ctx.gated, 1),
            owned(bias, ctx.gated, 1),
        )
        each = [one for part in found for one in part]
        return None, *(one.to(kind) for one, kind in zip(each, ctx.dtypes, strict=True))
