r"""Bahdanau's decoder fused: $c_t = \mathrm{Attention}(s_{t-1}, M)$,  $s_t = \mathrm{cell}(x_t + F c_t, s_{t-1})$.

A step is the query's product, the look, and a launch a layer; back, for each layer its gates and its product, and the
look. A score that asks with the state itself needs no product, and its look goes on through the top layer's gates.
"""

from __future__ import annotations

from typing import Any, cast, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.decode.fused.look import Through
from regard.decode.fused.parts import Flat, Given, Plan, Set, given, of_layers, settle
from regard.layer import fused
from regard.layer.fused.cell import Beside
from regard.layer.recurrent import Carry, Stack
from regard.memory import Bound


def bahdanau(
    known: Float[Tensor, "row step gates"],
    memory: Bound,
    attention: Attention | MultiHead,
    stack: Stack,
    carry: Carry,
) -> tuple[Float[Tensor, "row step width"], Float[Tensor, "row step value"]]:
    """The top's state after every step, and the context that each step read."""
    plan, flat = given(known, memory, attention, stack, carry)
    tops, contexts = _Bahdanau.apply(plan, *flat)  # type: ignore[no-untyped-call]
    return cast("Tensor", tops), cast("Tensor", contexts)


@final
class _Bahdanau(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, plan: Plan, *flat: Tensor | None) -> tuple[Tensor, Tensor]:
        done = settle(plan, plan.order.like(flat))
        for step in range(done.known.shape[1]):
            done.look.read(step, done.top.state, step)
            fed, at, known = done.look.context, step, done.known
            for number, level in enumerate(done.levels):
                level.advance(step, fed, at, None if number else known)
                fed, at = level.state, step + 1
        ctx.done, ctx.order = done, plan.order
        ctx.dtypes = [None if part is None else part.dtype for part in flat]
        return done.top.state[:, 1:], done.look.context

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, tops: Tensor, contexts: Tensor) -> tuple[Tensor | None, ...]:
        done: Set = fused.once(ctx.done)
        ctx.done = None  # a loss may be kept for long
        found = _back(done, tops.contiguous(), contexts.contiguous()).flat()
        gradients = zip(found, ctx.dtypes, strict=True)
        return None, *(None if each is None or kind is None else each.to(kind) for each, kind in gradients)


def _back(done: Set, tops: Tensor, contexts: Tensor) -> Given:
    backs, sight = done.backing()
    look, levels, top = done.look, done.levels, backs[-1]
    last = done.known.shape[1] - 1
    if not look.additive:
        top.retreat(done.top, last, tops, None, None)
    for step in range(last, -1, -1):
        if look.additive:
            top.retreat(done.top, step, tops, None, sight.asking(look, step + 1))
        top.spread(step)
        for number in range(len(levels) - 2, -1, -1):
            above = Beside(backs[number + 1].parts, 0, levels[number + 1].drop)
            backs[number].retreat(levels[number], step, None, above, None)
            backs[number].spread(step)
        through = Through(done.top, top, step - 1, tops, None)
        sight.unread(look, step, step, contexts, backs[0].parts, through)
    states = done.top.state[:, :-1]
    layers = of_layers(done, backs, look.context)
    keys, energy = sight.of_keys(look, states)
    hidden = [back.before(level.gated) for back, level in zip(backs, levels, strict=True)]
    asked = sight.queries[:, 0]
    hidden[-1] = hidden[-1] + (asked if look.matrix is None else asked.to(look.matrix.dtype) @ look.matrix)
    matrix, bias = sight.of_matrix(look, states)
    cell: Flat = tuple(back.carry for back in backs) if done.top.gated else ()
    return Given(
        known=layers.known, keys=keys, values=sight.of_values(look), matrix=matrix, bias=bias, energy=energy,
        fed=layers.fed, combine=None, combine_bias=None, hidden=tuple(hidden), cell=cell, owns=layers.owns,
        reads=layers.reads,
    )  # fmt: skip
