r"""Product: $y = W x + b$ for many rows, in bfloat16 where autocast asks for it and the compiled loops are there.

Torch then copies the bias to every row first, makes a narrow copy of W and widens the gradient of W when all is done;
here sums begin with the bias and the gradient is float32 from the start. Anywhere else it is torch's `linear`.
"""

from __future__ import annotations

from typing import Any, cast, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear as by_torch
from torch.nn.functional import pad
from typing_extensions import override

from regard.layer import compiled
from regard.layer.scan import narrow

MANY = 128  # rows; for fewer the weights are not packed


def linear(
    x: Float[Tensor, "*row in"], weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None
) -> Float[Tensor, "*row out"]:
    if (
        x.numel() < MANY * x.shape[-1]
        or x.device.type != "cpu"
        or not compiled.applies(narrow(weight), weight.dtype)
        or not compiled.fits(x)
    ):
        return by_torch(x, weight, bias)
    y = _Linear.apply(x.flatten(0, -2), weight, bias)  # type: ignore[no-untyped-call]
    return cast("Tensor", y).view(*x.shape[:-1], len(weight))


@final
class _Linear(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        read = x.to(torch.bfloat16).contiguous()
        y = torch.empty(len(x), len(weight), dtype=torch.bfloat16)
        shift = None if bias is None else _filled(bias.detach())
        sizes = len(x), weight.shape[1], len(weight)
        compiled.call("linear_ahead", *sizes, read, compiled.packed(weight, turned=True), shift, y)
        ctx.save_for_backward(weight)
        ctx.read, ctx.dtype, ctx.shifted = read, x.dtype, bias is not None
        return y

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_y: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (weight,) = ctx.saved_tensors
        read: Tensor = ctx.read
        of_y = _filled(of_y).contiguous()
        (rows, outputs), inputs = of_y.shape, weight.shape[1]
        of_x = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            of_x = torch.empty_like(read)
            turned = compiled.packed(weight, turned=False)
            compiled.call("linear_ahead", rows, outputs, inputs, of_y, turned, None, of_x)
            of_x = of_x.to(ctx.dtype)
        if ctx.needs_input_grad[1]:
            of_weight, of_bias = compiled.summed(of_y.unsqueeze(0), read.unsqueeze(0))
            of_weight, of_bias = of_weight[: len(weight)], of_bias[: len(weight)] if ctx.shifted else None
        return of_x, of_weight, of_bias


def _filled(x: Tensor) -> Tensor:
    """With zeros behind, so that the last vector is full."""
    missing = -x.shape[-1] % compiled.LANES
    return pad(x, (0, missing)) if missing else x
