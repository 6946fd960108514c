r"""Likelihood: $-(1-\varepsilon)\log p_{y} - \frac{\varepsilon}{V}\sum_v \log p_v$ of each symbol, a pass each way.

No probability is ever written: on the way back the exponentials are made again of the scores and of the logarithm of
their sum. The gradient is $p - (1-\varepsilon)\,\mathbb{1}_y - \varepsilon/V$, times what comes back.
"""

from __future__ import annotations

from typing import Any, Final, final, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.layer.fused import tile

WIDE: Final = 8192  # symbols at hand at once


@triton.jit
@no_type_check
def _ahead(scores, gold, whole, each, smoothing, SYMBOLS: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    scores += row * SYMBOLS
    top = tl.max(tl.full([WIDE], float("-inf"), tl.float32), 0)
    odds, total = 0.0, 0.0
    for first in range(0, SYMBOLS, WIDE):
        symbol = first + tl.arange(0, WIDE)
        some = tl.load(scores + symbol, mask=symbol < SYMBOLS, other=float("-inf")).to(tl.float32)
        greatest = tl.maximum(top, tl.max(some, 0))
        odds = odds * tl.exp(top - greatest) + tl.sum(tl.exp(some - greatest), 0)
        total += tl.sum(tl.where(symbol < SYMBOLS, some, 0.0), 0)
        top = greatest
    found = top + tl.log(odds)
    own = found - tl.load(scores + tl.load(gold + row)).to(tl.float32)
    tl.store(whole + row, found)
    tl.store(each + row, (1 - smoothing) * own + smoothing * (found - total / SYMBOLS))


@triton.jit
@no_type_check
def _back(scores, gold, whole, given, grad, smoothing, SYMBOLS: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    found, back, wanted = tl.load(whole + row), tl.load(given + row).to(tl.float32), tl.load(gold + row)
    for first in range(0, SYMBOLS, WIDE):
        symbol = first + tl.arange(0, WIDE)
        some = tl.load(scores + row * SYMBOLS + symbol, mask=symbol < SYMBOLS, other=0.0).to(tl.float32)
        odds = tl.exp(some - found) - smoothing / SYMBOLS - tl.where(symbol == wanted, 1 - smoothing, 0.0)
        tl.store(grad + row * SYMBOLS + symbol, odds * back, mask=symbol < SYMBOLS)


@final
class Surprise(torch.autograd.Function):
    """Of scores (row, symbol) and gold (row)."""

    @override
    @staticmethod
    def forward(ctx: Any, scores: Tensor, gold: Tensor, smoothing: float) -> Tensor:
        rows, symbols = scores.shape
        scores, gold = scores.contiguous(), gold.contiguous()
        whole, each = torch.empty(2, rows, device=scores.device).unbind()
        wide = min(WIDE, tile.power(symbols))
        _ahead[(rows,)](scores, gold, whole, each, float(smoothing), symbols, wide, num_warps=8)
        ctx.save_for_backward(scores, gold, whole)
        ctx.smoothing = float(smoothing)
        return each

    @override
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, each: Tensor) -> tuple[Tensor, None, None]:
        scores, gold, whole = ctx.saved_tensors
        rows, symbols = scores.shape
        grad = torch.empty_like(scores)
        wide = min(WIDE, tile.power(symbols))
        _back[(rows,)](scores, gold, whole, each.contiguous(), grad, ctx.smoothing, symbols, wide, num_warps=8)
        return grad, None, None
