r"""Recurrent encoder: $h_i = [\overrightarrow{h}_i; \overleftarrow{h}_i]$ (Bahdanau 2015, 3.2), or one direction alone.

The summary is what each direction of the top layer knows after its last word. With `reverse`, the words are read last
to first (Sutskever 2014, 3.3), and slot i of the memory is still word i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from regard.encode import loops
from regard.encode.core import Encoder
from regard.encode.sides import sides
from regard.layer.dropout import locked
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Cell, Stack
from regard.memory import Memory
from regard.source.batch import Padded


@final
class RecurrentEncoder(Encoder):
    def __init__(
        self,
        embedding: Embedding,
        cell: Cell,
        width: int,
        layers: int = 1,
        *,
        bidirectional: bool = True,
        reverse: bool = False,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        if bidirectional and width % 2:
            raise ValueError(f"two directions share the width, so it must be even, got {width}")
        self.embedding = embedding
        self.width = self.summary = width
        self.reverse = reverse
        self.drop = drop
        each = width // 2 if bidirectional else width
        first = embedding.table.embedding_dim
        inputs = [first, *[width] * (layers - 1)]
        self.ahead = cast("Sequence[Stack]", _stacks(cell, inputs, each))
        self.back = cast("Sequence[Stack]", _stacks(cell, inputs if bidirectional else [], each))

    @override
    def forward(self, source: Padded) -> Memory:
        turned = reversed_rows(source.mask)
        x = self.embedding(source.ids)
        x = _take(x, turned) if self.reverse else x
        summary = x[:, 0]
        last = (source.mask.sum(-1) - 1).clamp(min=0)
        for number, ahead in enumerate(self.ahead):
            x = locked(x, self.drop, self.training and number > 0)
            if self.back and loops.applies(ahead, self.back[number], x):
                x = loops.both(x, source.mask.sum(-1), ahead, self.back[number])
                summary = torch.cat([_at(x, last)[:, : ahead.width], x[:, 0, ahead.width :]], -1)
                continue
            stacks = ahead, *self.back[number : number + 1]
            parts = sides(stacks, [x, *(_take(x, turned) for _ in stacks[1:])])
            summary = torch.cat([_at(part, last) for part in parts], -1)
            x = torch.cat([parts[0], *(_take(part, turned) for part in parts[1:])], -1)
        x = _take(x, turned) if self.reverse else x
        x = locked(x, self.drop, self.training) * source.mask.unsqueeze(-1)
        return Memory(x, x, source.mask, summary * source.mask.any(-1, keepdim=True))


def _stacks(cell: Cell, inputs: Sequence[int], width: int) -> nn.ModuleList:
    return nn.ModuleList(Stack(cell, size, width) for size in inputs)


def reversed_rows(mask: Bool[Tensor, "row slot"]) -> Tensor:
    """For each place, the place that stands there when a row's real slots are read last to first. Padding stays."""
    place = torch.arange(mask.shape[-1], device=mask.device).expand(mask.shape)
    return torch.where(mask, mask.sum(-1, keepdim=True) - 1 - place, place)


def _at(x: Float[Tensor, "row slot width"], slot: Int[Tensor, " row"]) -> Float[Tensor, "row width"]:
    return x.gather(1, slot[:, None, None].expand(-1, 1, x.shape[-1])).squeeze(1)


def _take(x: Float[Tensor, "row slot width"], place: Int[Tensor, "row slot"]) -> Float[Tensor, "row slot width"]:
    rows = torch.arange(place.shape[0], device=place.device).unsqueeze(-1) * place.shape[1]
    return cast("Tensor", _Turned.apply(x, (place + rows).flatten()))  # type: ignore[no-untyped-call]


@final
class _Turned(torch.autograd.Function):
    """Whole slots in another order. Turned twice they stand as before, so the way back is the way there."""

    @override
    @staticmethod
    def forward(ctx: Any, x: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(place)
        return x.flatten(0, 1).index_select(0, place).view(x.shape)

    @override
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (place,) = ctx.saved_tensors
        return cast("Tensor", _Turned.apply(grad, place)), None  # type: ignore[no-untyped-call]
