"""The papers' decoders, one sentence, one step, one gate at a time, from the weights of ours."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.layer.recurrent import Stack
from regard.memory import Memory


def softmax_read(energies: list[Tensor], values: Tensor) -> Tensor:
    odds = [torch.exp(energy) for energy in energies]
    return sum((odd / sum(odds) * value for odd, value in zip(odds, values, strict=True)), torch.zeros(()))


def begin(memory: Memory, row: int, hidden: torch.nn.Linear, width: int) -> list[Tensor]:
    """s_0 = tanh(W z), a part for each layer."""
    assert memory.summary is not None
    return list(torch.split(torch.tanh(hidden(memory.summary[row])), width))


def gru(stack: Stack, number: int, x: Tensor, before: Tensor) -> Tensor:
    """Cho 2014 as torch has it: r and z gate, n = tanh(W x + r (U h))."""
    layer = stack.layers[number]
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    read, own, read_bias, own_bias = (layer.get_parameter(name) for name in names)
    fed = [stack.fed.weight] if number == 0 and stack.fed is not None else []  # [y; fed] is one input
    of_x = (torch.cat([read, *fed], 1) @ x + read_bias).chunk(3)
    of_h = (own @ before + own_bias).chunk(3)
    reset = torch.sigmoid(of_x[0] + of_h[0])
    keep = torch.sigmoid(of_x[1] + of_h[1])
    new = torch.tanh(of_x[2] + reset * of_h[2])
    return (1 - keep) * new + keep * before


def steps_of(stack: Stack, x: Tensor, before: list[Tensor]) -> list[Tensor]:
    """Every layer reads the one below it."""
    after: list[Tensor] = []
    for number, own in enumerate(before):
        x = gru(stack, number, x, own)
        after.append(x)
    return after
