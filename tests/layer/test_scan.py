"""All steps as one function with a derivative by hand are what torch's own layers do, in outputs and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from regard.layer.scan import scan

ROWS, STEPS, INPUTS, WIDTH = 3, 7, 4, 5


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_it_is_torchs_layer_in_outputs_and_every_gradient(kind: type[nn.GRU | nn.LSTM]) -> None:
    torch.manual_seed(1)
    layer = kind(INPUTS, WIDTH, batch_first=True).double()
    x = torch.randn(ROWS, STEPS, INPUTS, dtype=torch.float64, requires_grad=True)
    first = [torch.randn(ROWS, WIDTH, dtype=torch.float64, requires_grad=True) for _ in range(1 + (kind is nn.LSTM))]
    weights = dict(layer.named_parameters())

    def by_hand() -> Tensor:
        gates = nn.functional.linear(x, weights["weight_ih_l0"], weights["bias_ih_l0"])
        return scan(gates, weights["weight_hh_l0"], weights["bias_hh_l0"], first[0], first[1] if first[1:] else None)

    def by_torch() -> Tensor:
        begin = [state.unsqueeze(0) for state in first]
        whole: Tensor = layer(x, begin[0] if len(begin) == 1 else tuple(begin))[0]
        return whole

    aim = torch.randn(ROWS, STEPS, WIDTH, dtype=torch.float64)
    leaves = [x, *first, *weights.values()]
    found = [torch.autograd.grad((way() * aim).sum(), leaves) for way in (by_hand, by_torch)]
    torch.testing.assert_close(by_hand(), by_torch())
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
        assert one.abs().max() > 0
