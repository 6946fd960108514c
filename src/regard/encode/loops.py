r"""Loops: both directions of an encoder's layer, compiled: $h_i = [\overrightarrow{h}_i; \overleftarrow{h}_i]$.

What the two read is one product, each writes where it belongs, and no row is turned round to be read from its end. It
is what encode/recurrent.py makes of two stacks, in training on a processor, with products of bfloat16.
"""

from __future__ import annotations

from typing import Any, cast, final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.layer import compiled
from regard.layer.recurrent import Stack
from regard.layer.scan import narrow

NARROW = torch.bfloat16


def applies(ahead: Stack, back: Stack, x: Float[Tensor, "row slot inputs"]) -> bool:
    own, _ = ahead.own
    return (
        len(ahead.layers) == len(back.layers) == 1
        and torch.is_grad_enabled()
        and compiled.fits(own, x)
        and compiled.applies(narrow(own), own.dtype)
    )


def both(
    x: Float[Tensor, "row slot inputs"], lengths: Int[Tensor, " row"], ahead: Stack, back: Stack
) -> Float[Tensor, "row slot width"]:
    """The states of both directions at each slot, side by side."""
    weights = *ahead.weights, *back.weights
    return cast("Tensor", _Both.apply(x, lengths.contiguous(), ahead.gated, *weights))  # type: ignore[no-untyped-call]


@final
class _Both(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, x: Tensor, lengths: Tensor, gated: bool, *weights: Tensor) -> Tensor:
        (rows, steps, inputs), width = x.shape, weights[1].shape[1]
        gates, read = (3 + gated) * width, x.to(NARROW).contiguous()
        matrix, shift = torch.cat([weights[0], weights[4]]), torch.cat([weights[2], weights[6]])
        known, told = (torch.empty(rows, steps, 2 * size, dtype=NARROW) for size in (gates, width))
        into = compiled.packed(matrix, turned=True)
        compiled.call("linear_ahead", rows * steps, inputs, 2 * gates, read, into, shift, known)
        zero, passes = torch.zeros(rows, width), []
        for number, order in enumerate((None, lengths)):
            given = rows, steps, width, int(gated), order, number * gates, 2 * gates, number * width, 2 * width
            states = torch.empty(rows, steps + 1, width, dtype=NARROW)
            kept = torch.empty(rows, steps, 6 if gated else 5, width)
            own, bias = compiled.packed(weights[4 * number + 1], turned=True), weights[4 * number + 3].detach()
            compiled.call("layer_ahead", *given, known, own, bias, zero, zero, states, told, kept)
            passes.append((given, states, kept))
        ctx.save_for_backward(*weights)
        ctx.passes, ctx.read, ctx.matrix, ctx.dtype = passes, read, matrix, x.dtype
        return told

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, told: Tensor) -> tuple[Tensor | None, ...]:
        weights, read, told = ctx.saved_tensors, ctx.read, told.contiguous()
        rows, steps, width, gated, *_ = ctx.passes[0][0]
        gates = (3 + gated) * width
        known, owned = (torch.empty(rows, steps, size, dtype=NARROW) for size in (2 * gates, gates))
        of_own = []
        for number, (given, states, kept) in enumerate(ctx.passes):
            hidden, cell = torch.zeros(2, rows, width).unbind()
            turned = compiled.packed(weights[4 * number + 1], turned=False)
            compiled.call("layer_back", *given, told, turned, kept, known, owned, hidden, cell)
            of_own.append(compiled.summed(owned, states[:, :-1]))
        of_matrix, of_shift = compiled.summed(known, read)
        of_x = torch.empty_like(read)
        turned = compiled.packed(ctx.matrix, turned=False)
        compiled.call("linear_ahead", rows * steps, 2 * gates, read.shape[-1], known, turned, None, of_x)
        found = []
        for of_read, (own, bias), shift in zip(of_matrix.chunk(2), of_own, of_shift.chunk(2), strict=True):
            found += [of_read, own, shift, bias]
        return of_x.to(ctx.dtype), None, None, *found
