r"""Scan: all steps of a recurrent layer, $h_t = \mathrm{cell}(x_t, U h_{t-1} + b)$, as one function, derived by hand.

Automatic differentiation adds to the gradient of U at every step, in products too thin for the machine; here it is one
product over all steps, made at the end: $\nabla U = \sum_t \delta_t h_{t-1}^\top$. It gives what the loop gives, and is
for processors: on a GPU cuDNN does the same.
"""

from __future__ import annotations

from typing import Any, cast, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.layer import cell as cells
from regard.layer import compiled


def scan(
    gates: Float[Tensor, "row step gates"],
    weight: Float[Tensor, "gates width"],
    bias: Float[Tensor, " gates"],
    hidden: Float[Tensor, "row width"],
    cell: Float[Tensor, "row width"] | None,
) -> Float[Tensor, "row step width"]:
    """The hidden states after each step. Products are of the type that autocast asks for, all else of the weights'."""
    parts, dtype = (gates, weight, bias, hidden, cell), narrow(weight)
    if compiled.applies(dtype, weight.dtype) and compiled.fits(gates, weight):
        return cast("Tensor", _Compiled.apply(*parts))  # type: ignore[no-untyped-call]
    return cast("Tensor", _Scan.apply(*parts, dtype))  # type: ignore[no-untyped-call]


def narrow(like: Tensor) -> torch.dtype:
    """The type in which products are to be made here."""
    kind = like.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else like.dtype


@final
class _Scan(torch.autograd.Function):
    @override
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor, cell: Tensor | None, dtype: torch.dtype
    ) -> Tensor:
        wide, small, shift = weight.dtype, weight.to(dtype), bias.to(dtype)
        state, inner = hidden.to(wide), None if cell is None else cell.to(wide)
        befores, kept, found = [], [], []
        for here in gates.to(wide).unbind(1):
            befores.append((state, inner))
            own = torch.addmm(shift, state.to(dtype), small.mT).to(wide)
            state, inner, each = cells.forward(here, own, state, inner)
            kept.append(each)
            found.append(state)
        ctx.befores, ctx.kept, ctx.small = befores, kept, small
        ctx.dtypes = gates.dtype, hidden.dtype, None if cell is None else cell.dtype
        return torch.stack(found, 1)

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, after: Tensor) -> tuple[Tensor | None, ...]:
        small: Tensor = ctx.small
        befores: list[tuple[Tensor, Tensor | None]] = ctx.befores
        hidden: Tensor = torch.zeros_like(befores[0][0])
        cell: Tensor | None = None if befores[0][1] is None else torch.zeros_like(befores[0][1])
        read, owned = [], []
        for step in reversed(range(len(befores))):
            state, inner = befores[step]
            found = cells.backward(hidden + after[:, step], cell, state if inner is None else inner, ctx.kept[step])
            through = (found.own.to(small.dtype) @ small).to(hidden.dtype)
            hidden = through if found.hidden is None else found.hidden + through
            cell = found.cell
            read.append(found.gates)
            owned.append(found.own)
        gates, states = torch.stack(read[::-1], 1), torch.stack([state for state, _ in befores], 1)
        whole = gates if cell is not None else torch.stack(owned[::-1], 1)
        weight, bias = summed(whole, states, small.dtype)
        of_gates, of_hidden, of_cell = ctx.dtypes
        first = None if cell is None else cell.to(of_cell)
        return gates.to(of_gates), weight, bias, hidden.to(of_hidden), first, None


@final
class _Compiled(torch.autograd.Function):
    """The same in one call each way, with products of bfloat16; the states come as bfloat16, for the next product."""

    @override
    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor, cell: Tensor | None) -> Tensor:
        rows, steps, width = *gates.shape[:2], weight.shape[1]
        states = torch.empty(rows, steps + 1, width, dtype=torch.bfloat16)
        kept = torch.empty(rows, steps, 5 if cell is None else 6, width)
        given = rows, steps, width, int(cell is not None), None, 0, gates.shape[-1], 0, width
        own, known = compiled.packed(weight, turned=True), gates.to(torch.bfloat16).contiguous()
        first, inner = hidden.float().contiguous(), None if cell is None else cell.float().contiguous()
        compiled.call("layer_ahead", *given, known, own, bias.detach(), first, inner, states, None, kept)
        ctx.given, ctx.states, ctx.kept, ctx.weight = given, states, kept, weight
        ctx.dtypes = gates.dtype, hidden.dtype, None if cell is None else cell.dtype
        return states[:, 1:]

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, after: Tensor) -> tuple[Tensor | None, ...]:
        rows, steps, width, gated, *_ = ctx.given
        known = torch.empty(rows, steps, (3 + gated) * width, dtype=torch.bfloat16)
        own = torch.empty_like(known)
        hidden = torch.zeros(rows, width)
        cell = torch.zeros(rows, width) if gated else None
        back = compiled.packed(ctx.weight, turned=False)
        compiled.call("layer_back", *ctx.given, after.contiguous(), back, ctx.kept, known, own, hidden, cell)
        weight, bias = compiled.summed(own, ctx.states[:, :-1])
        of_gates, of_hidden, of_cell = ctx.dtypes
        first = None if cell is None else cell.to(of_cell)
        return known.to(of_gates), weight, bias, hidden.to(of_hidden), first


def summed(
    out: Float[Tensor, "row step out"], into: Float[Tensor, "row step in"], dtype: torch.dtype
) -> tuple[Float[Tensor, "out in"], Float[Tensor, " out"]]:
    """The gradients of a matrix and of its bias over all steps at once."""
    outs, ins = out.flatten(0, 1), into.flatten(0, 1)
    return (outs.to(dtype).mT @ ins.to(dtype)).to(out.dtype), outs.sum(0)
