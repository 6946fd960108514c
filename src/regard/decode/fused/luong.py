r"""Luong's decoder with input feeding, fused: $s_t = \mathrm{cell}(x_t + F \tilde h_{t-1}, s_{t-1})$,
$c_t = \mathrm{Attention}(s_t, M)$,  $\tilde h_t = \tanh(W [c_t; s_t] + b)$.

A step is a launch a layer, the query's product, the look, and the product of h̃; back the same ways, each with what it
sends through its matrix. A score that asks with the state itself goes from its look on through the top layer's gates.
"""

from __future__ import annotations

from typing import Any, cast, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.decode.fused.look import Through
from regard.decode.fused.parts import Flat, Given, Plan, Set, given, of_layers, settle
from regard.layer import fused
from regard.layer.fused.cell import Beside
from regard.layer.fused.product import affine, room, spread, uncurve
from regard.layer.recurrent import Carry, Stack
from regard.memory import Bound


def luong(
    known: Float[Tensor, "row step gates"],
    memory: Bound,
    attention: Attention | MultiHead,
    stack: Stack,
    carry: Carry,
    combine: nn.Linear,
) -> Float[Tensor, "row step features"]:
    """h̃ of every step; before the first it is nothing."""
    plan, flat = given(known, memory, attention, stack, carry, combine)
    return cast("Tensor", _Luong.apply(plan, *flat))  # type: ignore[no-untyped-call]


@final
class _Luong(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, plan: Plan, *flat: Tensor | None) -> Tensor:
        done = settle(plan, plan.order.like(flat))
        assert done.combine is not None
        assert done.combine_bias is not None
        rows, steps = done.known.shape[:2]
        features = done.known.new_zeros(rows, steps + 1, len(done.combine))
        for step in range(steps):
            fed, at = features, step
            for number, level in enumerate(done.levels):
                level.advance(step, fed, at, None if number else done.known)
                fed, at = level.state, step + 1
            done.look.read(step, done.top.state, step + 1)
            first, second, out = (done.look.context, step), (done.top.state, step + 1), (features, step + 1)
            affine(first, second, done.combine, done.combine_bias, out, curved=True)
        ctx.done, ctx.features = done, features
        ctx.dtypes = [None if part is None else part.dtype for part in flat]
        return features[:, 1:]

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, features: Tensor) -> tuple[Tensor | None, ...]:
        done, curved = fused.once(ctx.done), ctx.features
        ctx.done = ctx.features = None  # a loss may be kept for long
        found = _back(done, curved, features.contiguous()).flat()
        gradients = zip(found, ctx.dtypes, strict=True)
        return None, *(None if each is None or kind is None else each.to(kind) for each, kind in gradients)


def _back(done: Set, curved: Tensor, features: Tensor) -> Given:
    assert done.combine is not None
    backs, sight = done.backing()
    look, levels, top = done.look, done.levels, backs[-1]
    inner = torch.empty_like(features, dtype=curved.dtype)  # before the tanh
    looked = room(inner, done.combine.shape[1])
    beside = Beside(looked, look.context.shape[2])
    for step in range(features.shape[1] - 1, -1, -1):
        uncurve(features, backs[0].parts, curved, inner, step)
        spread(inner, step, done.combine, looked)
        sight.unread(look, step, step + 1, None, looked, Through(done.top, top, step, None, beside))
        if look.additive:
            top.retreat(done.top, step, None, beside, sight.asking(look, step))
        top.spread(step)
        for number in range(len(levels) - 2, -1, -1):
            above = Beside(backs[number + 1].parts, 0, levels[number + 1].drop)
            backs[number].retreat(levels[number], step, None, above, None)
            backs[number].spread(step)
    states = done.top.state[:, 1:]
    layers = of_layers(done, backs, curved[:, :-1])
    keys, energy = sight.of_keys(look, states)
    matrix, bias = sight.of_matrix(look, states)
    seen = torch.cat([look.context, states], -1)
    cell: Flat = tuple(back.carry for back in backs) if done.top.gated else ()
    return Given(
        known=layers.known, keys=keys, values=sight.of_values(look), matrix=matrix, bias=bias, energy=energy,
        fed=layers.fed, combine=inner.flatten(0, 1).mT @ seen.flatten(0, 1),
        combine_bias=inner.sum((0, 1), dtype=torch.float32),
        hidden=tuple(back.before(level.gated) for back, level in zip(backs, levels, strict=True)), cell=cell,
        owns=layers.owns, reads=layers.reads,
    )  # fmt: skip
