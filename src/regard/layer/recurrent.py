r"""Recurrent stack: $h_t^l = \mathrm{cell}(h_t^{l-1}, h_{t-1}^l)$, GRU (Cho 2014) or LSTM (Hochreiter 1997).

All steps at once when the inputs are known, one step at a time when they are not; both give the same. It does not know
what its inputs are, nor where a row ends: padding stands after the last real step and cannot reach back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layer.dropout import locked, mask

Cell = Literal["gru", "lstm"]


@final
@dataclass(frozen=True, slots=True)
class Carry:
    """What a stack carries from step to step. A GRU has no `cell`."""

    hidden: Float[Tensor, "row layer width"]
    cell: Float[Tensor, "row layer width"] | None = None

    def rows(self, index: Int[Tensor, " row"]) -> Carry:
        return Carry(self.hidden[index], None if self.cell is None else self.cell[index])

    @property
    def top(self) -> Float[Tensor, "row width"]:
        return self.hidden[:, -1]


@final
class Stack(nn.Module):
    """`layers` cells of `width`, with locked dropout between them."""

    def __init__(self, cell: Cell, inputs: int, width: int, layers: int = 1, *, drop: float = 0.0) -> None:
        super().__init__()
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.gated = cell == "lstm"
        self.width = width
        self.drop = drop
        self.layers = nn.ModuleList(
            kind(inputs if layer == 0 else width, width, batch_first=True) for layer in range(layers)
        )
        for layer in self.layers:
            _initialise(layer, width, self.gated)

    def zero(self, like: Float[Tensor, "row *rest"]) -> Carry:
        hidden = like.new_zeros(like.shape[0], len(self.layers), self.width)
        return Carry(hidden, hidden if self.gated else None)

    def masks(self, like: Float[Tensor, "row *rest"]) -> Float[Tensor, "layer row width"] | None:
        """The dropout masks that a row keeps for all its steps; None where nothing is dropped."""
        if not (self.training and self.drop and len(self.layers) > 1):
            return None
        return torch.stack([mask(like, self.width, self.drop) for _ in self.layers[1:]])

    def run(self, x: Float[Tensor, "row step inputs"], carry: Carry) -> Float[Tensor, "row step width"]:
        """Every step at once."""
        for number, layer in enumerate(self.layers):
            x = locked(x, self.drop, self.training and number > 0)
            x, _ = layer(x, self._first(carry, number, x.dtype))
        return x

    def step(
        self, x: Float[Tensor, "row inputs"], carry: Carry, masks: Float[Tensor, "layer row width"] | None = None
    ) -> Carry:
        """One step; the new top is its output."""
        hidden, cell = [], []
        for number, layer in enumerate(self.layers):
            if number and masks is not None:
                x = x * masks[number - 1]
            weights = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
            if carry.cell is None:
                x = torch.gru_cell(x, carry.hidden[:, number], *weights)
            else:
                x, kept = torch.lstm_cell(x, (carry.hidden[:, number], carry.cell[:, number]), *weights)
                cell.append(kept)
            hidden.append(x)
        return Carry(torch.stack(hidden, 1), torch.stack(cell, 1) if cell else None)

    def _first(self, carry: Carry, layer: int, dtype: torch.dtype) -> Tensor | tuple[Tensor, Tensor]:
        hidden = carry.hidden[:, layer].unsqueeze(0).to(dtype).contiguous()
        if carry.cell is None:
            return hidden
        return hidden, carry.cell[:, layer].unsqueeze(0).to(dtype).contiguous()


def _initialise(layer: nn.Module, width: int, gated: bool) -> None:
    """Orthogonal recurrences keep gradients alive over many steps; an LSTM begins by remembering."""
    for name, parameter in layer.named_parameters():
        if name.startswith("weight_hh"):
            for gate in parameter.data.split(width):
                nn.init.orthogonal_(gate)
        elif name.startswith("weight_ih"):
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
            if gated and name.startswith("bias_ih"):
                parameter.data[width : 2 * width] = 1.0
