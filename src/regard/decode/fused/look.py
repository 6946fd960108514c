r"""Looks: a row's attention of one step in one program, ahead and back, and the gradients of the keys of all steps.

$e_i = v^\top \tanh(q + k_i)$ or $s\,q^\top k_i$,  $a = \mathrm{softmax}(e)$ over what the mask leaves,
$c = \sum_i a_i m_i$

Backwards: $\delta a = m\,\delta c$,  $\delta e = a\,(\delta a - a \cdot \delta a)$,
$\delta q = \sum_i \delta e_i\, v\,(1 - \tanh^2)$ or $s \sum_i \delta e_i k_i$. The tanh is computed again, so that
nothing of size steps × slots × width is kept. What the mask hides is not even read. Where the query is the state
itself, the program that found its gradient goes on through the cell that made the state.
"""

# ruff: noqa: PLR0913, PLR0917 - a kernel has no objects to put its parameters into

from __future__ import annotations

from dataclasses import dataclass
from typing import final, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.layer.fused import tile
from regard.layer.fused.cell import Asked, Backing, Beside, Level, turned
from regard.layer.fused.product import affine, begin, interpreted, tanh, total

LOOKING = ("rows", "slots", "step", "steps", "at", "length", "cell_at")


@triton.jit
@no_type_check
def _part(memory, place, live, first, WIDTH: tl.constexpr, WIDE: tl.constexpr):
    """Some of the width of all slots that may be read."""
    one = first + tl.arange(0, WIDE)
    return tl.load(
        memory + place[:, None] * WIDTH + one[None, :], mask=live[:, None] & (one < WIDTH)[None, :], other=0.0
    )


@triton.jit(do_not_specialize=LOOKING)
@no_type_check
def _read(query, keys, values, mask, keep, energy, weights, context, slots, step, steps, at, length, scale,
          ADDITIVE: tl.constexpr, DROP: tl.constexpr, FAST: tl.constexpr, KEY: tl.constexpr, VALUE: tl.constexpr,
          SLOTS: tl.constexpr, KEYS: tl.constexpr, VALUES: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    row = tl.program_id(0).to(tl.int64)
    slot = tl.arange(0, SLOTS)
    place = row * slots + slot
    live = tl.load(mask + place, mask=slot < slots, other=0) != 0
    query += (row * length + at) * KEY
    found = tl.zeros([SLOTS, KEYS], tl.float32)
    value = _part(values, place, live, 0, VALUE, VALUES)  # on its way while the weights are found
    for first in range(0, KEY, KEYS):
        one = first + tl.arange(0, KEYS)
        asked = tl.load(query + one, mask=one < KEY, other=0.0).to(tl.float32)[None, :]
        key = _part(keys, place, live, first, KEY, KEYS).to(tl.float32)
        if ADDITIVE:
            found += tanh(key + asked, FAST) * tl.load(energy + one, mask=one < KEY, other=0.0).to(tl.float32)[None, :]
        else:
            found += key * asked
    energies = tl.where(live, tl.sum(found, 1) * scale, float("-inf"))
    top = tl.max(energies, 0)
    odds = tl.exp(energies - tl.where(top > float("-inf"), top, 0.0))  # an empty row has no top, and all its odds are 0
    whole = tl.sum(odds, 0)
    weight = odds / tl.where(whole > 0, whole, 1.0)
    here = (row * steps + step) * slots + slot
    tl.store(weights + here, weight, mask=slot < slots)
    if DROP:
        weight *= tl.load(keep + here, mask=slot < slots, other=0.0).to(tl.float32)
    for first in range(0, VALUE, VALUES):
        one = first + tl.arange(0, VALUES)
        read = tl.sum(value.to(tl.float32) * weight[:, None], 0)
        tl.store(context + (row * steps + step) * VALUE + one, read, mask=one < VALUE)
        value = _part(values, place, live, first + VALUES, VALUE, VALUES)


@triton.jit(do_not_specialize=LOOKING)
@no_type_check
def _unread(query, keys, values, mask, keep, energy, weights, out, parts, contexts, energies, asked, first_state,
            later, cell_parts, beside, kept, carry, back, gates, rows, slots, step, steps, at, length, cell_at, scale,
            ADDITIVE: tl.constexpr, DROP: tl.constexpr, FAST: tl.constexpr, OUT: tl.constexpr, KEY: tl.constexpr,
            VALUE: tl.constexpr, WIDE: tl.constexpr, PARTS: tl.constexpr, LATER: tl.constexpr, FED: tl.constexpr,
            CELL: tl.constexpr, BESIDE: tl.constexpr, ACROSS: tl.constexpr, FROM: tl.constexpr, GATED: tl.constexpr,
            SLOTS: tl.constexpr, KEYS: tl.constexpr, VALUES: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    row = tl.program_id(0).to(tl.int64)
    slot = tl.arange(0, SLOTS)
    place = row * slots + slot
    live = tl.load(mask + place, mask=slot < slots, other=0) != 0
    given = tl.zeros([SLOTS, VALUES], tl.float32)
    key = _part(keys, place, live, 0, KEY, KEYS)  # on its way while the energies are found
    for first in range(0, VALUE, VALUES):
        one = first + tl.arange(0, VALUES)
        mine = (row * steps + step) * VALUE + one
        context = total(parts, row * WIDE + one, rows * WIDE, one < VALUE, PARTS)
        if OUT:
            context += tl.load(out + mine, mask=one < VALUE, other=0.0).to(tl.float32)
        tl.store(contexts + mine, context, mask=one < VALUE)
        given += _part(values, place, live, first, VALUE, VALUES).to(tl.float32) * context[None, :]
    here = (row * steps + step) * slots + slot
    weight = tl.load(weights + here, mask=slot < slots, other=0.0)
    share = weight * tl.sum(given, 1)
    if DROP:
        share *= tl.load(keep + here, mask=slot < slots, other=0.0).to(tl.float32)
    found = share - weight * tl.sum(share, 0)
    tl.store(energies + here, found, mask=slot < slots)
    query += (row * length + at) * KEY
    for first in range(0, KEY, KEYS):
        one = first + tl.arange(0, KEYS)
        within = one < KEY
        some = key.to(tl.float32)
        key = _part(keys, place, live, first + KEYS, KEY, KEYS)
        if ADDITIVE:
            curve = tanh(some + tl.load(query + one, mask=within, other=0.0).to(tl.float32)[None, :], FAST)
            slope = tl.sum((1 - curve * curve) * found[:, None], 0)
            slope *= tl.load(energy + one, mask=within, other=0.0).to(tl.float32)
            tl.store(asked + (row * (steps + 1) + step) * KEY + one, slope, mask=within)
        else:
            after = tl.sum(some * found[:, None], 0) * scale
            if cell_at < 0:
                tl.store(first_state + row * KEY + one, after, mask=within)
            else:
                if LATER:
                    after += tl.load(later + (row * steps + cell_at) * KEY + one, mask=within, other=0.0).to(tl.float32)
                reach = FED + KEY
                after += total(cell_parts, row * reach + FED + one, rows * reach, within, CELL)
                if BESIDE > 0:
                    after += total(beside, row * ACROSS + FROM + one, rows * ACROSS, within, BESIDE)
                turned(after, kept, carry, back, gates, row, one, within, cell_at, steps, GATED, KEY)


@triton.jit(do_not_specialize=LOOKING)
@no_type_check
def _keys(query, keys, mask, energy, energies, back, curved, slots, steps, FAST: tl.constexpr, KEY: tl.constexpr,
          SLOTS: tl.constexpr, KEYS: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    begin(EARLY)
    row = tl.program_id(0).to(tl.int64)
    one = tl.program_id(1) * KEYS + tl.arange(0, KEYS)
    slot = tl.arange(0, SLOTS)
    place = row * slots + slot
    live = tl.load(mask + place, mask=slot < slots, other=0) != 0
    key = _part(keys, place, live, tl.program_id(1) * KEYS, KEY, KEYS).to(tl.float32)
    found = tl.zeros([SLOTS, KEYS], tl.float32)
    seen = tl.zeros([SLOTS, KEYS], tl.float32)
    for step in range(steps):
        asked = tl.load(query + (row * steps + step) * KEY + one, mask=one < KEY, other=0.0).to(tl.float32)
        given = tl.load(energies + (row * steps + step) * slots + slot, mask=slot < slots, other=0.0)[:, None]
        curve = tanh(key + asked[None, :], FAST)
        found += given * (1 - curve * curve)
        seen += given * curve
    found *= tl.load(energy + one, mask=one < KEY, other=0.0).to(tl.float32)[None, :]
    beyond = (slot < slots)[:, None] & (one < KEY)[None, :]
    tl.store(back + place[:, None] * KEY + one[None, :], tl.where(live[:, None], found, 0.0), mask=beyond)
    tl.store(curved + row * KEY + one, tl.sum(tl.where(live[:, None], seen, 0.0), 0), mask=one < KEY)


@final
@dataclass(frozen=True, slots=True)
class Look:
    """One attention over all steps. `asked` is the queries: of an additive score, made by `matrix` and `bias` of the
    state; else they are the states of the top layer themselves, with one before all steps.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor  # row, slot: 0 where there is nothing to read
    keep: Tensor | None  # row, step, slot: dropout
    energy: Tensor | None  # v, of an additive score
    matrix: Tensor | None
    bias: Tensor | None
    scale: float
    asked: Tensor
    weights: Tensor  # row, step, slot, float32, before dropout
    context: Tensor  # row, step, value

    @property
    def additive(self) -> bool:
        return self.energy is not None

    @property
    def fast(self) -> bool:
        return self.keys.dtype == torch.bfloat16 and not interpreted()

    def read(self, step: int, state: Tensor, at: int) -> None:
        """What the state at `at` reads is the context of step `step`."""
        rows, slots, key = self.keys.shape
        if self.matrix is not None and self.bias is not None:
            affine((state, at), None, self.matrix, self.bias, (self.asked, step))
            at = step
        value = self.values.shape[2]
        _read[(rows,)](
            self.asked, self.keys, self.values, self.mask, _or(self.keep, self.weights), _or(self.energy, self.keys),
            self.weights, self.context, slots, step, self.weights.shape[1], at, self.asked.shape[1], self.scale,
            self.additive, self.keep is not None, self.fast, key, value, tile.power(slots, tile.SLOTS),
            tile.wide(slots, key), tile.wide(slots, value), tile.EARLY, num_warps=_warps(slots), launch_pdl=tile.EARLY,
        )  # fmt: skip

    def backing(self) -> LookBacking:
        rows, steps, _ = self.weights.shape
        queries = self.weights.new_empty(rows, steps + 1 if self.additive else 1, self.keys.shape[2])
        queries[:, -1] = 0
        return LookBacking(torch.empty_like(self.context), torch.empty_like(self.weights), queries)


@final
@dataclass(frozen=True, slots=True)
class Through:
    """The cell that made the state which asked: its layer, its step, and where else that state went to. A step before
    all steps has no cell.
    """

    level: Level
    backing: Backing
    step: int
    out: Tensor | None
    beside: Beside | None


@final
@dataclass(frozen=True, slots=True)
class LookBacking:
    """The way back: the gradients of contexts, of energies and of queries: of additive ones (row, step + 1, key), the
    last of them of no step, and of others only what comes to the state before all steps.
    """

    contexts: Tensor
    energies: Tensor
    queries: Tensor

    def unread(self, look: Look, step: int, at: int, out: Tensor | None, parts: Tensor, through: Through) -> None:
        """From what came to the context, the first units of `parts` and `out`, to the query. Where the query is the
        state, on through its cell.
        """
        rows, slots, key = look.keys.shape
        value = look.values.shape[2]
        level, backing = through.level, through.backing
        beside = through.beside or Beside(parts, 0)
        _unread[(rows,)](
            look.asked, look.keys, look.values, look.mask, _or(look.keep, look.weights), _or(look.energy, look.keys),
            look.weights, _or(out, look.context), parts, self.contexts, self.energies, self.queries, self.queries,
            _or(through.out, look.context), backing.parts, beside.parts, level.kept, level.carry, backing.carry,
            backing.gates, rows, slots, step, look.weights.shape[1], step if look.additive else at,
            look.asked.shape[1], through.step, look.scale, look.additive, look.keep is not None, look.fast,
            out is not None, key, value, parts.shape[2], parts.shape[0], through.out is not None, backing.fed,
            backing.parts.shape[0], beside.parts.shape[0] if through.beside else 0, beside.parts.shape[2], beside.at,
            level.gated, tile.power(slots, tile.SLOTS), tile.wide(slots, key), tile.wide(slots, value), tile.EARLY,
            num_warps=_warps(slots), launch_pdl=tile.EARLY,
        )  # fmt: skip

    def asking(self, look: Look, at: int) -> Asked | None:
        """What a cell needs to fetch the gradient of a query by itself."""
        return Asked(self.queries, look.matrix, at) if look.matrix is not None else None

    def of_keys(self, look: Look, states: Tensor) -> tuple[Tensor, Tensor | None]:
        """Over all steps: of the keys and of v; `states` are those which asked."""
        if look.energy is None:
            found = torch.bmm(self.energies.mT.to(states.dtype), states)
            return found if look.scale == 1 else found * look.scale, None
        rows, slots, key = look.keys.shape
        back, curved = torch.empty_like(look.keys), self.queries.new_empty(rows, key)
        wide = tile.wide(slots, key, 4)
        _keys[rows, triton.cdiv(key, wide)](
            look.asked, look.keys, look.mask, look.energy, self.energies, back, curved, slots, look.weights.shape[1],
            look.fast, key, tile.power(slots, tile.SLOTS), wide, tile.EARLY, num_warps=_warps(slots),
            launch_pdl=tile.EARLY,
        )  # fmt: skip
        return back, curved.sum(0, keepdim=True)

    def of_matrix(self, look: Look, states: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Over all steps: of the query's matrix and of its bias."""
        if look.matrix is None:
            return None, None
        queries = self.queries[:, :-1].flatten(0, 1)
        return queries.to(states.dtype).mT @ states.flatten(0, 1), queries.sum(0)

    def of_values(self, look: Look) -> Tensor:
        kept = look.weights if look.keep is None else look.weights * look.keep
        return torch.bmm(kept.mT.to(self.contexts.dtype), self.contexts)


def _or(part: Tensor | None, other: Tensor) -> Tensor:
    """A kernel wants a pointer where it reads nothing too."""
    return other if part is None else part


def _warps(slots: int) -> int:
    return tile.WARPS if slots <= 256 else 2 * tile.WARPS
