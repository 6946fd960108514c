"""Loops: the decoders' steps, compiled: one call for all of them ahead and one for all of them back.

Products are of bfloat16, sums and everything between them of float32; states and contexts come as bfloat16, as the next
product would have them. It knows the order in which layer/c wants its parts, and nothing of the mathematics.
"""

from __future__ import annotations

from typing import Any, cast, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.attention.score.core import Product
from regard.decode.derived import derivable, dropping
from regard.layer import compiled
from regard.layer.recurrent import Carry, Stack
from regard.layer.scan import narrow
from regard.memory import Bound

NARROW = torch.bfloat16


@final
class Bahdanau(torch.autograd.Function):
    """What unrolled.py says."""

    @override
    @staticmethod
    def forward(ctx: Any, mask: Tensor, *parts: Any) -> tuple[Tensor, Tensor]:
        known, keys, values, hidden, cell, query, query_bias, energy, fed, own, own_bias = parts
        (rows, steps), (slots, inner) = known.shape[:2], keys.shape[1:]
        width, seen, gated = hidden.shape[-1], values.shape[-1], cell is not None
        given = rows, steps, slots, width, int(gated), inner, seen
        states, contexts = _narrow(rows, steps + 1, width), _narrow(rows, steps, seen)
        queries, weights = torch.empty(rows, steps, inner), torch.zeros(rows, steps, slots)
        kept = torch.empty(rows, steps, 6 if gated else 5, width)
        both, shift = torch.cat([query, own]), torch.cat([query_bias, own_bias])
        read = tuple(part.to(NARROW).contiguous() for part in (keys, values))
        mask, scale = mask.contiguous(), energy.detach().contiguous()
        compiled.call(
            "bahdanau_ahead",
            *(*given, known.to(NARROW).contiguous(), *read, mask),
            *(compiled.packed(both, turned=True), shift, scale, compiled.packed(fed, turned=True)),
            *(hidden.float().contiguous(), None if cell is None else cell.float().contiguous()),
            *(states, contexts, queries, weights, kept),
        )
        ctx.given, ctx.kept = given, (*read, mask, both, scale, queries, weights, kept, states, contexts)
        ctx.save_for_backward(fed)
        ctx.dtypes = [None if part is None else part.dtype for part in parts]
        return states[:, 1:], contexts

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, tops: Tensor, contexts: Tensor) -> tuple[Tensor | None, ...]:
        rows, steps, slots, width, gated, inner, seen = ctx.given
        keys, values, mask, both, scale, queries, weights, kept, states, read = ctx.kept
        (fed,) = ctx.saved_tensors
        gates, asked = _narrow(rows, steps, (3 + gated) * width), _narrow(rows, steps, inner + (3 + gated) * width)
        of_keys, of_values, of_energy = (torch.zeros(rows, *more) for more in ((slots, inner), (slots, seen), (inner,)))
        hidden, cell = torch.zeros(rows, width), torch.zeros(rows, width) if gated else None
        compiled.call(
            "bahdanau_back",
            *(*ctx.given, tops.contiguous(), contexts.contiguous(), keys, values, mask),
            *(compiled.packed(both, turned=False), scale, compiled.packed(fed, turned=False)),
            *(queries, weights, kept, gates, asked, of_keys, of_values, of_energy, hidden, cell),
        )
        of_both, bias = compiled.summed(asked, states[:, :-1])
        of_fed, _ = compiled.summed(gates, read)
        found = (
            *(gates, of_keys, of_values, hidden, cell),
            *(of_both[:inner], bias[:inner], of_energy.sum(0, keepdim=True), of_fed, of_both[inner:], bias[inner:]),
        )
        narrowed = (None if each is None else each.to(kind) for each, kind in zip(found, ctx.dtypes, strict=True))
        return None, *narrowed


def feeds(attention: Attention | MultiHead, stack: Stack, memory: Bound, features: int) -> bool:
    """Whether `luong` knows these, on a processor, in training, and nobody asks for the weights."""
    own, _ = stack.own
    return (
        derivable(attention, Product)
        and not dropping(attention)
        and len(stack.layers) == 1
        and torch.is_grad_enabled()
        and features % compiled.LANES == 0
        and compiled.fits(own, memory.keys, memory.values)
        and compiled.applies(narrow(own), own.dtype)
    )


def luong(
    known: Float[Tensor, "row step gates"],
    memory: Bound,
    attention: Attention | MultiHead,
    stack: Stack,
    carry: Carry,
    combine: nn.Linear,
) -> Float[Tensor, "row step features"]:
    """The features of every step, each fed to the next."""
    assert isinstance(attention, Attention)
    assert isinstance(attention.score, Product)
    assert stack.fed is not None
    mask, scale = memory.mask.expand(memory.keys.shape[:-1]), attention.score.scale(stack.width)
    states = carry.top, carry.cell[0] if carry.cell else None
    weights = *stack.own, stack.fed.weight, combine.weight, combine.bias
    parts = known, memory.keys, memory.values, *states, *weights
    return cast("Tensor", _Luong.apply(mask, scale, *parts))  # type: ignore[no-untyped-call]


@final
class _Luong(torch.autograd.Function):
    """See luong.py, with input feeding and a score that is a product."""

    @override
    @staticmethod
    def forward(ctx: Any, mask: Tensor, scale: float, *parts: Any) -> Tensor:
        known, keys, values, hidden, cell, own, own_bias, fed, combine, bias = parts
        (rows, steps), (slots, width) = known.shape[:2], keys.shape[1:]
        seen, wide, gated = values.shape[-1], len(combine), cell is not None
        given = rows, steps, slots, width, int(gated), seen, wide, float(scale)
        states, contexts, features = (
            _narrow(rows, *sizes) for sizes in ((steps + 1, width), (steps, seen), (steps + 1, wide))
        )
        weights, kept = torch.zeros(rows, steps, slots), torch.empty(rows, steps, 6 if gated else 5, width)
        read, mask = tuple(part.to(NARROW).contiguous() for part in (keys, values)), mask.contiguous()
        compiled.call(
            "luong_ahead",
            *(*given, known.to(NARROW).contiguous(), *read, mask),
            *(compiled.packed(own, turned=True), own_bias.detach(), compiled.packed(fed, turned=True)),
            *(compiled.packed(each, turned=True) for each in combine.split([seen, width], 1)),
            *(bias.detach(), hidden.float().contiguous(), None if cell is None else cell.float().contiguous()),
            *(states, contexts, features, weights, kept),
        )
        ctx.save_for_backward(own, fed, combine)
        ctx.given, ctx.kept = given, (*read, mask, states, contexts, features, weights, kept)
        ctx.dtypes = [None if part is None else part.dtype for part in parts]
        return features[:, 1:]

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_features: Tensor) -> tuple[Tensor | None, ...]:
        rows, steps, slots, width, gated, seen, wide, _ = ctx.given
        *read, states, contexts, features, weights, kept = ctx.kept
        own, fed, combine = ctx.saved_tensors
        gates, owned, before = (_narrow(rows, steps, size) for size in ((3 + gated) * width, (3 + gated) * width, wide))
        of_keys, of_values = torch.zeros(rows, slots, width), torch.zeros(rows, slots, seen)
        hidden, cell = torch.zeros(rows, width), torch.zeros(rows, width) if gated else None
        compiled.call(
            "luong_back",
            *(*ctx.given, of_features.contiguous(), *read),
            *(compiled.packed(each, turned=False) for each in (own, fed, *combine.split([seen, width], 1))),
            *(states, features, weights, kept, gates, owned, before, of_keys, of_values, hidden, cell),
        )
        of_own, own_bias = compiled.summed(owned, states[:, :-1])
        of_fed, _ = compiled.summed(gates, features[:, :-1])
        of_combine, bias = compiled.summed(before, torch.cat([contexts, states[:, 1:]], -1))
        found = gates, of_keys, of_values, hidden, cell, of_own, own_bias, of_fed, of_combine, bias
        narrowed = (None if each is None else each.to(kind) for each, kind in zip(found, ctx.dtypes, strict=True))
        return None, None, *narrowed


def _narrow(*sizes: int) -> Tensor:
    return torch.empty(sizes, dtype=NARROW)
