"""The kernels of several recurrent layers side by side give what torch's own layers give, and so do their gradients.

Without a GPU they run as Python, one program after another.
"""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
pytest.importorskip("triton")

from regard.layer.fused import tile
from regard.layer.fused.scan import scans

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ROWS, STEPS, INPUTS, WIDTH = 5, 4, 7, 19


@pytest.mark.parametrize("many", [1, 2])
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_they_are_torchs_layers_in_outputs_and_every_gradient(
    kind: type[nn.GRU | nn.LSTM], many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tile, "DEPTH", {torch.float32: 16})
    monkeypatch.setattr(tile, "CELL", ((16, 16),))
    monkeypatch.setattr(tile, "PRODUCT", ((16, 32),))
    torch.manual_seed(1)
    layers = [kind(INPUTS, WIDTH, batch_first=True, device=DEVICE) for _ in range(many)]
    x = torch.randn(ROWS, STEPS, INPUTS, device=DEVICE, requires_grad=True)
    weights = [layer.all_weights[0] for layer in layers]  # read, own, and their biases
    aims = torch.randn(many, ROWS, STEPS, WIDTH, device=DEVICE)
    leaves = [x, *(part for each in weights for part in each)]

    def by_hand() -> list[Tensor]:
        gates = [nn.functional.linear(x, read, bias) for read, _, bias, _ in weights]
        return list(scans(gates, [each[1] for each in weights], [each[3] for each in weights], torch.float32))

    def by_torch() -> list[Tensor]:
        return [layer(x)[0] for layer in layers]

    (ours, one), (theirs, other) = (
        (found, torch.autograd.grad(sum(((a * b).sum() for a, b in zip(found, aims, strict=True))), leaves))
        for found in (by_hand(), by_torch())
    )
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a, b, rtol=1e-5, atol=1e-5)
    for a, b in zip(one, other, strict=True):
        assert_close(a, b, rtol=1e-4, atol=1e-5)
        assert a.abs().max() > 0


def test_narrow_products_stay_near() -> None:
    torch.manual_seed(1)
    layer = nn.LSTM(INPUTS, WIDTH, batch_first=True, device=DEVICE)
    gates = torch.randn(ROWS, STEPS, 4 * WIDTH, device=DEVICE)
    own, bias = layer.all_weights[0][1], layer.all_weights[0][3]
    (wide,), (narrow,) = (scans([gates], [own], [bias], dtype) for dtype in (torch.float32, torch.bfloat16))
    assert narrow.dtype == torch.bfloat16
    assert (narrow - wide).norm() < 0.02 * wide.norm()
    one, other = (torch.autograd.grad(each.float().sum(), own)[0] for each in (wide, narrow))
    assert one.dtype == other.dtype
    assert (one - other).norm() < 0.05 * one.norm()
