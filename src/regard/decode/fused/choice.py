"""Choice: whether the kernels know this attention and this stack, and what they are given of them.

It does not import the kernels: who has no GPU need not have what compiles them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor

from regard.attention import Attention, MultiHead
from regard.attention.score import Additive, Concat
from regard.attention.score.core import Product
from regard.decode.derived import derivable
from regard.layer import fused
from regard.layer.recurrent import Stack
from regard.layer.scan import narrow
from regard.memory import Bound

SLOTS: Final = 1024  # that one program can weigh


def applies(attention: Attention | MultiHead, stack: Stack, memory: Bound) -> bool:
    """Whether these are what is known here, on a GPU, in training, and nobody asks for the weights."""
    return (
        fused.trains(memory.keys.device, narrow(stack.own[0]))
        and derivable(attention, Additive, Concat, Product)
        and memory.keys.dim() == 3
        and 0 < memory.keys.shape[1] <= SLOTS
        and stack.own[0].dtype in fused.KINDS
    )


@final
@dataclass(frozen=True, slots=True)
class Asking:
    """How a state asks: as it is, times `scale`, or through a matrix and v, the energy's."""

    matrix: Tensor | None = None
    bias: Tensor | None = None
    energy: Tensor | None = None
    scale: float = 1.0

    @staticmethod
    def of(attention: Attention | MultiHead, stack: Stack) -> Asking:
        assert isinstance(attention, Attention)
        score = attention.score
        if isinstance(score, Additive):
            return Asking(score.query.weight, score.query.bias, score.energy.weight)
        if isinstance(score, Concat):
            return Asking(score.pair.weight[:, : score.split], None, score.energy.weight)
        assert isinstance(score, Product)
        return Asking(scale=score.scale(stack.width))


def kept(attention: Attention | MultiHead, memory: Bound, steps: int) -> Tensor | None:
    """Dropout of the weights of all steps, scaled so that the mean stays."""
    assert isinstance(attention, Attention)
    if not (attention.training and attention.drop):
        return None
    rows, slots = memory.keys.shape[:2]
    keep = torch.empty(rows, steps, slots, device=memory.keys.device).bernoulli_(1 - attention.drop)
    return keep.div_(1 - attention.drop)
