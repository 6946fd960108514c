"""The directions of a layer by the kernels are torch's own, in what they write and in every gradient.

Without a GPU they run as Python, one program after another.
"""

from __future__ import annotations

import os

import pytest
import torch
from torch.testing import assert_close

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
pytest.importorskip("triton")

from regard.encode.sides import sides
from regard.layer import fused
from regard.layer.recurrent import Cell, Stack

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("many", [1, 2])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_they_are_the_layers_in_outputs_and_every_gradient(
    cell: Cell, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    stacks = [Stack(cell, 7, 11).to(DEVICE) for _ in range(many)]
    inputs = [torch.randn(4, 6, 7, device=DEVICE, requires_grad=True) for _ in stacks]
    aims = [torch.randn(4, 6, 11, device=DEVICE) for _ in stacks]
    leaves = [*inputs, *(weight for stack in stacks for weight in stack.parameters())]
    found = []
    for ready in (True, False):
        monkeypatch.setattr(fused, "ready", lambda _, ready=ready: ready)
        each = sides(stacks, inputs)
        loss = torch.stack([(one * aim).sum() for one, aim in zip(each, aims, strict=True)]).sum()
        found.append((*each, *torch.autograd.grad(loss, leaves)))
    for one, other in zip(*found, strict=True):
        assert_close(one, other, rtol=1e-4, atol=1e-5)
        assert one.abs().max() > 0
