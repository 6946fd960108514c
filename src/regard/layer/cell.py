r"""Cells: one step of a recurrence, and its derivative by hand.

GRU (Cho 2014): $h' = (1 - z)\,n + z\,h$,  $n = \tanh(x_n + r\,h_n)$,  $r, z = \sigma(x_{rz} + h_{rz})$
LSTM (Hochreiter 1997): $h' = o \tanh c'$,  $c' = f\,c + i\,g$,  $i, f, o = \sigma(\cdot)$, $g = \tanh(\cdot)$

The products of input (`gates`) and of state (`own`) with their matrices are made already. What a step `kept` is what
its derivative needs. A cell does not know where its gates come from.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Gates = Float[Tensor, "row gates"]
Width = Float[Tensor, "row width"]
Kept = tuple[Tensor, ...]


class After(NamedTuple):
    """The state after a step. A GRU has no `cell`."""

    hidden: Width
    cell: Width | None
    kept: Kept


class Before(NamedTuple):
    """The gradients of what a step read; those of the state are without what goes through `own`."""

    gates: Gates
    own: Gates
    hidden: Width | None
    cell: Width | None


def eager(gates: Gates, own: Gates, hidden: Width, cell: Width | None) -> After:
    """For automatic differentiation; on a GPU one kernel does all of it."""
    if not gates.is_cuda:
        return forward(gates, own, hidden, cell)
    if cell is None:
        return After(torch.ops.aten._thnn_fused_gru_cell(gates, own, hidden)[0], None, ())
    after, inner, _ = torch.ops.aten._thnn_fused_lstm_cell(gates, own, cell)
    return After(after, inner, ())


def forward(gates: Gates, own: Gates, hidden: Width, cell: Width | None) -> After:
    return _gru(gates, own, hidden) if cell is None else _lstm(gates, own, cell)


def backward(hidden: Width, cell: Width | None, before: Width, kept: Kept) -> Before:
    """From the gradients of the state after a step; `before` is the GRU's hidden state, or the LSTM's cell."""
    return _gru_back(hidden, before, kept) if cell is None else _lstm_back(hidden, cell, before, kept)


def _gru(gates: Gates, own: Gates, hidden: Width) -> After:
    width = hidden.shape[-1]
    both = torch.sigmoid(gates[:, : 2 * width] + own[:, : 2 * width])
    reset, keep = both.chunk(2, -1)
    seen = own[:, 2 * width :]
    new = torch.tanh(torch.addcmul(gates[:, 2 * width :], reset, seen))
    return After(torch.lerp(new, hidden, keep), None, (both, new, seen))


def _gru_back(after: Width, hidden: Width, kept: Kept) -> Before:
    both, new, seen = kept
    reset, keep = both.chunk(2, -1)
    width = hidden.shape[-1]
    own = both.new_empty(len(both), 3 * width)
    gates = torch.empty_like(own)
    back = after * keep
    inner = (after - back) * (1 - new * new)
    own[:, :width] = inner * seen
    own[:, width : 2 * width] = after * (hidden - new)
    own[:, : 2 * width] *= both * (1 - both)
    gates[:, : 2 * width] = own[:, : 2 * width]
    gates[:, 2 * width :] = inner
    torch.mul(inner, reset, out=own[:, 2 * width :])
    return Before(gates, own, back, None)


def _lstm(gates: Gates, own: Gates, cell: Width) -> After:
    into, keep, new, out = (gates + own).chunk(4, -1)
    into, keep, new, out = into.sigmoid(), keep.sigmoid(), new.tanh(), out.sigmoid()
    kept = torch.addcmul(keep * cell, into, new)
    shown = kept.tanh()
    return After(out * shown, kept, (into, keep, new, out, shown))


def _lstm_back(after: Width, later: Width, cell: Width, kept: Kept) -> Before:
    into, keep, new, out, shown = kept
    width = cell.shape[-1]
    whole = torch.addcmul(later, after * out, 1 - shown * shown)
    gates = whole.new_empty(len(whole), 4 * width)
    gates[:, :width] = whole * new * (into * (1 - into))
    gates[:, width : 2 * width] = whole * cell * (keep * (1 - keep))
    gates[:, 2 * width : 3 * width] = whole * into * (1 - new * new)
    gates[:, 3 * width :] = after * shown * (out * (1 - out))
    return Before(gates, gates, None, whole * keep)
