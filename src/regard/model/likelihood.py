r"""Likelihood: $-(1-\varepsilon)\log p_{y} - \frac{\varepsilon}{V}\sum_v \log p_v$ of each symbol (Szegedy 2016, 7).

Torch has it too, and writes six tables of symbols × vocabulary on the way back where one is enough: on a processor that
is half the time of an update. The gradient is $p - (1-\varepsilon)\,\mathbb{1}_y - \varepsilon/V$.
"""

from __future__ import annotations

from typing import Any, cast, final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.layer import compiled, fused


def surprise(
    logits: Float[Tensor, "*row symbol"], gold: Int[Tensor, "*row"], smoothing: float = 0.0
) -> Float[Tensor, "*row"]:
    """How little each symbol was expected, in nats; padding is for the caller to leave out."""
    way = _way(logits)
    each = way.apply(logits.flatten(0, -2), gold.flatten(), smoothing)  # type: ignore[no-untyped-call]
    return cast("Tensor", each).view(gold.shape)


def _way(logits: Tensor) -> type[torch.autograd.Function]:
    if logits.device.type == "cpu" and compiled.applies(logits.dtype, torch.float32):
        return _Compiled
    if fused.trains(logits.device, logits.dtype):
        from regard.layer.fused.likelihood import Surprise

        return Surprise
    return _Surprise


@final
class _Surprise(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, logits: Tensor, gold: Tensor, smoothing: float) -> Tensor:
        wide = torch.promote_types(logits.dtype, torch.float32)
        odds = torch.softmax(logits, -1, dtype=wide)
        gold = gold.unsqueeze(-1)
        # log of the sum of exponentials, without a second pass of them: the greatest odds are exp(0) over that sum
        greatest, at = logits.max(-1, keepdim=True)
        whole = greatest - odds.gather(-1, at).log()
        ctx.save_for_backward(odds, gold)
        ctx.smoothing, ctx.dtype = smoothing, logits.dtype
        own = (whole - logits.gather(-1, gold)).squeeze(-1)
        if not smoothing:
            return own
        return (1 - smoothing) * own + smoothing * (whole.squeeze(-1) - logits.mean(-1, dtype=wide))

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, each: Tensor) -> tuple[Tensor, None, None]:
        odds, gold = ctx.saved_tensors
        each = each.unsqueeze(-1)
        grad = odds * each
        if ctx.smoothing:
            grad -= ctx.smoothing / grad.shape[-1] * each
        grad.scatter_add_(-1, gold, (ctx.smoothing - 1) * each)
        return grad.to(ctx.dtype), None, None


@final
class _Compiled(torch.autograd.Function):
    """The same for logits of bfloat16, in one pass each way; the exponentials are made again rather than kept."""

    @override
    @staticmethod
    def forward(ctx: Any, logits: Tensor, gold: Tensor, smoothing: float) -> Tensor:
        rows, symbols = logits.shape
        logits, gold = logits.contiguous(), gold.long().contiguous()
        whole, each = torch.empty(2, rows).unbind()
        compiled.call("surprise_ahead", rows, symbols, float(smoothing), logits, gold, whole, each)
        ctx.save_for_backward(logits, gold, whole)
        ctx.smoothing = float(smoothing)
        return each

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, each: Tensor) -> tuple[Tensor, None, None]:
        logits, gold, whole = ctx.saved_tensors
        grad = torch.empty_like(logits)
        each = each.contiguous()
        compiled.call("surprise_back", *logits.shape, ctx.smoothing, logits, gold, whole, each, grad)
        return grad, None, None
