"""Parts: what a decoder's kernels are given, what its gradients are, and what is set up of it for all steps.

It does not know in which order a decoder looks and steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from regard.attention import Attention, MultiHead
from regard.decode.fused.choice import Asking, kept
from regard.decode.fused.look import Look, LookBacking
from regard.layer.fused.cell import Backing, Level, owned
from regard.layer.recurrent import Carry, Stack
from regard.layer.scan import narrow
from regard.memory import Bound

Flat = tuple[Tensor | None, ...]


@final
@dataclass(frozen=True, slots=True)
class Given:
    """Everything that has a gradient. Of the first layer, what is known comes with `known`; `reads` are of the others:
    matrix, bias, matrix, bias, ..., as are `owns` of all.
    """

    known: Tensor | None
    keys: Tensor | None
    values: Tensor | None
    matrix: Tensor | None
    bias: Tensor | None
    energy: Tensor | None
    fed: Tensor | None
    combine: Tensor | None
    combine_bias: Tensor | None
    hidden: Flat
    cell: Flat
    owns: Flat
    reads: Flat

    def flat(self) -> Flat:
        return tuple(_flat(getattr(self, field.name) for field in fields(self)))

    def like(self, flat: Sequence[Tensor | None]) -> Given:
        """The same made of other tensors."""
        coming = iter(flat)
        here = [getattr(self, field.name) for field in fields(self)]
        made: list[Any] = [tuple(next(coming) for _ in x) if isinstance(x, tuple) else next(coming) for x in here]
        return Given(*made)


def _flat(parts: Iterator[Tensor | Flat | None]) -> Iterator[Tensor | None]:
    for part in parts:
        if isinstance(part, tuple):
            yield from part
        else:
            yield part


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What has no gradient: masks, dropout, and how products are made. `order` is a `Given` without tensors."""

    mask: Tensor
    keep: Tensor | None
    drops: tuple[Tensor | None, ...]
    scale: float
    dtype: torch.dtype
    order: Given


def given(
    known: Tensor,
    memory: Bound,
    attention: Attention | MultiHead,
    stack: Stack,
    carry: Carry,
    combine: torch.nn.Linear | None = None,
) -> tuple[Plan, Flat]:
    assert stack.fed is not None
    asking = Asking.of(attention, stack)
    each = [layer.all_weights[0] for layer in stack.layers]  # of what is read, of the own state, and their biases
    found = Given(
        known=known,
        keys=memory.keys,
        values=memory.values,
        matrix=asking.matrix,
        bias=asking.bias,
        energy=asking.energy,
        fed=stack.fed.weight,
        combine=None if combine is None else combine.weight,
        combine_bias=None if combine is None else combine.bias,
        hidden=carry.hidden,
        cell=carry.cell,
        owns=tuple(part for weights in each for part in (weights[1], weights[3])),
        reads=tuple(part for weights in each[1:] for part in (weights[0], weights[2])),
    )
    flat = found.flat()
    dtype = narrow(stack.own[0])
    plan = Plan(
        mask=memory.mask.expand(memory.keys.shape[:-1]).contiguous().view(torch.uint8),
        keep=kept(attention, memory, known.shape[1]),
        drops=(None, *(carry.masks or (None,) * len(stack.layers[1:]))),
        scale=asking.scale,
        dtype=dtype,
        order=found.like([None] * len(flat)),
    )
    return plan, flat


@final
@dataclass(frozen=True, slots=True)
class Set:
    """What is set up before the first step: layers, and the attention that the top one asks."""

    known: Tensor
    levels: tuple[Level, ...]
    look: Look
    combine: Tensor | None
    combine_bias: Tensor | None

    @property
    def top(self) -> Level:
        return self.levels[-1]

    def backing(self) -> tuple[list[Backing], LookBacking]:
        return [level.backing() for level in self.levels], self.look.backing()


def settle(plan: Plan, here: Given) -> Set:
    """Every part in the type of the products, and room for what each step leaves."""

    def small(part: Tensor | None) -> Tensor | None:
        return None if part is None else part.detach().to(plan.dtype).contiguous()

    assert here.known is not None
    assert here.keys is not None
    assert here.values is not None
    rows, steps = here.known.shape[:2]
    levels = []
    for number, hidden in enumerate(here.hidden):
        assert hidden is not None
        own, own_bias = here.owns[2 * number : 2 * number + 2]
        into, bias = here.reads[2 * number - 2 : 2 * number] if number else (here.fed, None)
        first = here.cell[number] if here.cell else hidden
        assert first is not None
        width = hidden.shape[1]
        state = hidden.new_empty(rows, steps + 1, width, dtype=plan.dtype)
        carry = hidden.new_empty(rows, steps + 1, width, dtype=torch.float32)
        state[:, 0], carry[:, 0] = hidden, first
        left = state.new_empty(rows, steps, 4 * width)
        levels.append(
            Level(_there(small(into)), small(bias), _there(small(own)), _there(small(own_bias)),
                  small(plan.drops[number]), state, carry, left)
        )  # fmt: skip
    matrix, bias, keys = small(here.matrix), small(here.bias), _there(small(here.keys))
    slots, key, value = here.keys.shape[1], here.keys.shape[2], here.values.shape[2]
    look = Look(
        keys=keys,
        values=_there(small(here.values)),
        mask=plan.mask,
        keep=plan.keep,
        energy=small(here.energy),
        matrix=matrix,
        bias=matrix.new_zeros(len(matrix)) if matrix is not None and bias is None else bias,
        scale=plan.scale,
        asked=levels[-1].state if matrix is None else keys.new_empty(rows, steps, key, dtype=torch.float32),
        weights=keys.new_empty(rows, steps, slots, dtype=torch.float32),
        context=keys.new_empty(rows, steps, value),
    )
    return Set(_there(small(here.known)), tuple(levels), look, small(here.combine), small(here.combine_bias))


def _there(part: Tensor | None) -> Tensor:
    assert part is not None
    return part


@final
class OfLayers(NamedTuple):
    """Gradients over all steps at once: of the gates known ahead, of the matrix of what is fed, `owns` and `reads`."""

    known: Tensor
    fed: Tensor
    owns: Flat
    reads: Flat


def of_layers(done: Set, backs: Sequence[Backing], fed: Tensor) -> OfLayers:
    """`fed` is what the first layer was fed, step by step."""
    owns: list[Tensor] = []
    intos: list[Tensor] = []
    for level, back in zip(done.levels, backs, strict=True):
        width = back.carry.shape[1]
        gates = back.gates.flatten(0, 1)
        if level.drop is not None:
            fed = fed * level.drop.unsqueeze(1)
        own, into = (gates.mT @ part.flatten(0, 1) for part in (level.state[:, :-1], fed))
        bias = gates.sum(0, dtype=torch.float32)
        owns += [owned(own, level.gated), owned(bias, level.gated)]
        many = (4 if level.gated else 3) * width
        intos += [into[:many], bias[:many]]
        fed = level.state[:, 1:]
    gates = backs[0].gates
    known = gates if done.levels[0].gated else gates[..., : 3 * backs[0].carry.shape[1]]
    return OfLayers(known, intos[0], tuple(owns), tuple(intos[2:]))
