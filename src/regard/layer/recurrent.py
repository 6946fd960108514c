r"""Recurrent stack: $h_t^l = \mathrm{cell}(h_t^{l-1}, h_{t-1}^l)$, GRU (Cho 2014) or LSTM (Hochreiter 1997).

All steps at once when the inputs are known, one step at a time when a part of them is fed back; both give the same. It
does not know what its inputs are, nor where a row ends: padding stands after the last real step and cannot reach back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.layer import cell as cells
from regard.layer.dropout import mask
from regard.layer.product import linear as product
from regard.layer.scan import scan

Cell = Literal["gru", "lstm"]
Layers = tuple[Float[Tensor, "row width"], ...]


@final
@dataclass(frozen=True, slots=True)
class Carry:
    """What a stack carries from step to step, one tensor a layer. A GRU has no `cell`.

    `masks` are the dropout masks between the layers, the same for all steps of a row; empty where nothing is dropped.
    """

    hidden: Layers
    cell: Layers = ()
    masks: Layers = ()

    def rows(self, index: Int[Tensor, " row"]) -> Carry:
        return Carry(*(tuple(x[index] for x in part) for part in (self.hidden, self.cell, self.masks)))

    @property
    def top(self) -> Float[Tensor, "row width"]:
        return self.hidden[-1]


@final
class Stack(nn.Module):
    """`layers` cells of `width`, with locked dropout between them. `fed` more inputs are known only step by step."""

    def __init__(
        self, cell: Cell, inputs: int, width: int, layers: int = 1, *, fed: int = 0, drop: float = 0.0
    ) -> None:
        super().__init__()
        kind: type[nn.GRU | nn.LSTM] = nn.LSTM if cell == "lstm" else nn.GRU
        self.gated = cell == "lstm"
        self.width = width
        self.drop = drop
        stack = (kind(inputs if layer == 0 else width, width, batch_first=True) for layer in range(layers))
        self.layers = cast("Sequence[nn.GRU | nn.LSTM]", nn.ModuleList(stack))
        self.fed = nn.Linear(fed, (4 if self.gated else 3) * width, bias=False) if fed else None
        _initialise(self)

    def zero(self, like: Float[Tensor, "row *rest"]) -> Carry:
        hidden = (like.new_zeros(like.shape[0], self.width),) * len(self.layers)
        return Carry(hidden, hidden if self.gated else ())

    def begin(self, carry: Carry) -> Carry:
        """The same before the first step of a sequence: with new dropout masks, in training."""
        if not (self.training and self.drop):
            return carry
        return replace(carry, masks=tuple(mask(carry.top, self.width, self.drop) for _ in self.layers[1:]))

    def run(self, x: Float[Tensor, "row step inputs"], carry: Carry) -> Float[Tensor, "row step width"]:
        """Every step at once, where nothing is fed back."""
        assert self.fed is None
        for number, layer in enumerate(self.layers):
            if number and carry.masks:
                x = x * carry.masks[number - 1].unsqueeze(1)
            if x.device.type == "cpu" and torch.is_grad_enabled():
                weights, inner = _weights(layer), carry.cell[number] if self.gated else None
                gates = product(x, weights.read, weights.read_bias)
                x = scan(gates, weights.own, weights.own_bias, carry.hidden[number], inner)
                continue
            x = x.to(_weights(layer).own.dtype)  # autocast narrows what it likes inside, but wants it in one type
            first = [part[number].unsqueeze(0).to(x.dtype) for part in (carry.hidden, carry.cell) if part]
            x, _ = layer(x, first[0] if len(first) == 1 else tuple(first))
        return x

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The first layer's: the matrices of what it reads and of its state, and the biases of both."""
        return _weights(self.layers[0])

    @property
    def own(self) -> tuple[Tensor, Tensor]:
        """What the first layer's state goes through: a matrix and its bias."""
        first = _weights(self.layers[0])
        return first.own, first.own_bias

    def known(self, x: Float[Tensor, "*row inputs"]) -> Float[Tensor, "*row gates"]:
        """What the inputs known ahead add to the first layer's gates: no recurrence, so one product for all steps."""
        first = _weights(self.layers[0])
        return product(x, first.read, first.read_bias)

    def step(self, known: Float[Tensor, "row gates"], fed: Float[Tensor, "row fed"] | None, carry: Carry) -> Carry:
        """One step; the new top is its output."""
        gates = known if fed is None or self.fed is None else known + self.fed(fed)
        hidden: list[Tensor] = []
        cell: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            weights = _weights(layer)
            if number:
                x = hidden[-1] * carry.masks[number - 1] if carry.masks else hidden[-1]
                gates = linear(x, weights.read, weights.read_bias)
            before = carry.hidden[number]
            own = linear(before, weights.own, weights.own_bias)
            after = cells.eager(gates, own, before, carry.cell[number] if self.gated else None)
            hidden.append(after.hidden)
            if after.cell is not None:
                cell.append(after.cell)
        return Carry(tuple(hidden), tuple(cell), carry.masks)


class _Weights(NamedTuple):
    """A layer's weights by name: of what it reads, and of its own state."""

    read: Tensor
    own: Tensor
    read_bias: Tensor
    own_bias: Tensor


def _weights(layer: nn.GRU | nn.LSTM) -> _Weights:
    return _Weights(*layer.all_weights[0])


def _initialise(stack: Stack) -> None:
    """Orthogonal recurrences keep gradients alive over many steps; an LSTM begins by remembering."""
    for weights in map(_weights, stack.layers):
        for gate in torch.split(weights.own.data, stack.width):
            nn.init.orthogonal_(gate)
        nn.init.xavier_uniform_(weights.read)
        nn.init.zeros_(weights.read_bias)
        nn.init.zeros_(weights.own_bias)
        if stack.gated:
            weights.read_bias.data[stack.width : 2 * stack.width] = 1.0
    if stack.fed is not None:  # both parts are one matrix
        known, fed = _weights(stack.layers[0]).read.data, stack.fed.weight.data
        whole = nn.init.xavier_uniform_(torch.cat([known, fed], -1))
        known.copy_(whole[:, : known.shape[1]])
        fed.copy_(whole[:, known.shape[1] :])
