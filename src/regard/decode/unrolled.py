r"""Unrolled: Bahdanau's decoder over all steps of a given output, as one function with a derivative by hand.

$e_{ti} = v^\top \tanh(W s_{t-1} + k_i)$,  $a_t = \mathrm{softmax}(e_t)$,  $c_t = \sum_i a_{ti} m_i$,
$s_t = \mathrm{cell}(x_t + F c_t,\; U s_{t-1} + b)$

Backwards, step by step: $\delta a_t = m\,\delta c_t$,  $\delta e_t = a_t (\delta a_t - a_t \cdot \delta a_t)$,
$\delta(W s_{t-1}) = \sum_i \delta e_{ti}\, v (1 - \tanh^2)$. What is summed over steps (the gradients of W, U, F and m)
is one product at the end, and the tanh is computed again, so that nothing of size steps × slots × width is kept. It
gives what the steps give one by one; it knows additive soft attention to everything, and one layer, no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.attention import Attention, MultiHead
from regard.attention.score import Additive
from regard.decode import loops
from regard.decode.derived import derivable, dropping
from regard.layer import cell as cells
from regard.layer import compiled
from regard.layer.recurrent import Stack
from regard.layer.scan import narrow, summed
from regard.memory import Bound


def applies(attention: Attention | MultiHead, stack: Stack, like: Tensor) -> bool:
    """Whether these are what is known here, on a processor, in training, and nobody asks for the weights."""
    return (
        derivable(attention, Additive)
        and not dropping(attention)
        and len(stack.layers) == 1
        and like.device.type == "cpu"
        and torch.is_grad_enabled()
    )


@final
@dataclass(frozen=True, slots=True)
class Weights:
    """The matrices of the equations: W and its bias, v, F, U and its bias."""

    query: Tensor
    query_bias: Tensor
    energy: Tensor
    fed: Tensor
    own: Tensor
    own_bias: Tensor

    @staticmethod
    def of(attention: Attention | MultiHead, stack: Stack) -> Weights:
        assert isinstance(attention, Attention)
        assert isinstance(attention.score, Additive)
        assert stack.fed is not None
        score, own = attention.score, stack.own
        return Weights(score.query.weight, score.query.bias, score.energy.weight, stack.fed.weight, *own)

    def each(self) -> tuple[Tensor, ...]:
        return self.query, self.query_bias, self.energy, self.fed, self.own, self.own_bias


def unrolled(
    known: Float[Tensor, "row step gates"],
    memory: Bound,
    weights: Weights,
    hidden: Float[Tensor, "row width"],
    cell: Float[Tensor, "row width"] | None,
) -> tuple[Float[Tensor, "row step width"], Float[Tensor, "row step value"]]:
    """The state after every step, and the context that each one read."""
    mask = memory.mask.expand(memory.keys.shape[:-1])
    dtype = narrow(weights.own)
    parts = known, memory.keys, memory.values, hidden, cell, *weights.each()
    if compiled.applies(dtype, weights.own.dtype) and compiled.fits(hidden, memory.keys, memory.values):
        tops, contexts = loops.Bahdanau.apply(mask, *parts)  # type: ignore[no-untyped-call]
        return cast("Tensor", tops), cast("Tensor", contexts)
    tops, contexts = _Unrolled.apply(mask, dtype, *parts)  # type: ignore[no-untyped-call]
    return cast("Tensor", tops), cast("Tensor", contexts)


@final
class _Unrolled(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, mask: Tensor, dtype: torch.dtype, *parts: Any) -> tuple[Tensor, Tensor]:
        known, keys, values, hidden, cell, query, query_bias, energy, fed, own, own_bias = parts
        wide = own.dtype
        steps = _Steps(
            keys.to(dtype),
            values.to(dtype),
            mask,
            torch.cat([query, own]).to(dtype),
            torch.cat([query_bias, own_bias]).to(dtype),
            energy[0].to(dtype),
            fed.to(dtype),
        )
        state, inner = hidden.to(wide), None if cell is None else cell.to(wide)
        marks, tops = [], []
        for gates in known.to(wide).unbind(1):
            mark, state, inner = steps.ahead(gates, state, inner)
            marks.append(mark)
            tops.append(state)
        ctx.steps, ctx.marks = steps, marks
        ctx.dtypes = [None if part is None else part.dtype for part in parts]
        return torch.stack(tops, 1), torch.stack([mark.context for mark in marks], 1).to(wide)

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, tops: Tensor, contexts: Tensor) -> tuple[Tensor | None, ...]:
        steps: _Steps = ctx.steps
        marks: list[_Mark] = ctx.marks
        hidden = torch.zeros_like(marks[0].state)
        cell = None if marks[0].cell is None else torch.zeros_like(marks[0].cell)
        sums = _Sums(
            torch.zeros_like(steps.keys, dtype=hidden.dtype), torch.zeros_like(steps.energy, dtype=hidden.dtype)
        )
        backs = []
        for step in reversed(range(len(marks))):
            back, hidden, cell = steps.back(marks[step], hidden + tops[:, step], cell, contexts[:, step], sums)
            backs.append(back)
        backs.reverse()

        def over(pick: str) -> Tensor:
            return torch.stack([getattr(each, pick) for each in backs], 1)

        gates, of_context, dtype, slots = over("gates"), over("context"), steps.keys.dtype, steps.keys.shape[-1]
        both, bias = summed(over("both"), torch.stack([mark.state for mark in marks], 1), dtype)
        fed, _ = summed(gates, torch.stack([mark.context for mark in marks], 1), dtype)
        values = torch.stack([mark.weights for mark in marks], 2).to(dtype) @ of_context
        found = (
            *(gates, sums.keys, values, hidden, cell),
            *(both[:slots], bias[:slots], sums.energy.unsqueeze(0), fed, both[slots:], bias[slots:]),
        )
        narrowed = (None if each is None else each.to(kind) for each, kind in zip(found, ctx.dtypes, strict=True))
        return None, None, *narrowed


@final
@dataclass(slots=True)
class _Sums:
    """The gradients of the keys and of v, as far as they are summed."""

    keys: Tensor
    energy: Tensor


@final
@dataclass(frozen=True, slots=True)
class _Mark:
    """What is kept of one step: what it began from, what it asked for, read and weighed, and what its cell kept."""

    state: Tensor
    cell: Tensor | None
    query: Tensor
    weights: Tensor
    context: Tensor
    kept: cells.Kept


@final
@dataclass(frozen=True, slots=True)
class _Back:
    """The gradients of one step that are summed in the end."""

    gates: Tensor
    both: Tensor  # of W s and of U s, side by side
    context: Tensor


@final
@dataclass(frozen=True, slots=True)
class _Steps:
    """One step ahead and one back. `both` is W above U: the state goes through them in one product."""

    keys: Tensor
    values: Tensor
    mask: Tensor
    both: Tensor
    shift: Tensor
    energy: Tensor
    fed: Tensor

    def ahead(self, gates: Tensor, state: Tensor, cell: Tensor | None) -> tuple[_Mark, Tensor, Tensor | None]:
        wide, dtype = state.dtype, self.keys.dtype
        asked = torch.addmm(self.shift, state.to(dtype), self.both.mT)
        query, own = asked[:, : self.keys.shape[-1]], asked[:, self.keys.shape[-1] :]
        energy = (torch.tanh(self.keys + query.unsqueeze(1)) @ self.energy).to(wide)
        weights = torch.softmax(energy.masked_fill(~self.mask, torch.finfo(wide).min), -1) * self.mask
        context = (weights.to(dtype).unsqueeze(1) @ self.values).squeeze(1)
        after = cells.forward(gates + (context @ self.fed.mT).to(wide), own.to(wide), state, cell)
        return _Mark(state, cell, query, weights, context, after.kept), after.hidden, after.cell

    def back(
        self, mark: _Mark, hidden: Tensor, cell: Tensor | None, of_context: Tensor, sums: _Sums
    ) -> tuple[_Back, Tensor, Tensor | None]:
        dtype = self.keys.dtype
        found = cells.backward(hidden, cell, mark.state if mark.cell is None else mark.cell, mark.kept)
        context = of_context.to(dtype) + found.gates.to(dtype) @ self.fed
        of_weights = (self.values @ context.unsqueeze(-1)).squeeze(-1).to(hidden.dtype)
        share = mark.weights * of_weights
        energy = (share - mark.weights * share.sum(-1, keepdim=True)).to(dtype)
        curve = torch.tanh(self.keys + mark.query.unsqueeze(1))
        sums.energy += energy.flatten() @ curve.flatten(0, 1)
        slope = energy.unsqueeze(-1) * self.energy
        slope = torch.addcmul(slope, slope, curve.square_(), value=-1)
        sums.keys += slope
        both = torch.cat([slope.sum(1), found.own.to(dtype)], -1)
        through = (both @ self.both).to(hidden.dtype)
        before = through if found.hidden is None else found.hidden + through
        return _Back(found.gates, both, context), before, found.cell
