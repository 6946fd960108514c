"""Batch: padded token ids with their mask. It does not know what a token stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.source.pad import BOS, EOS, PAD, UNK, Ints, padded

__all__ = ["BOS", "EOS", "PAD", "UNK", "Ints", "Padded", "Pairs", "up"]


@final
@dataclass(frozen=True, slots=True)
class Padded:
    """Rows of token ids, padded on the right."""

    ids: Int[Tensor, "row token"]
    mask: Bool[Tensor, "row token"]

    @staticmethod
    def of(rows: Sequence[Sequence[int]]) -> Padded:
        ids, mask = padded(rows)
        return Padded(torch.from_numpy(ids), torch.from_numpy(mask))

    @staticmethod
    def flat(
        ids: Ints,
        lengths: Ints,
        *,
        bos: bool = False,
        eos: bool = False,
        multiple: int = 1,
        filler: bool = False,
        size: tuple[int, int] = (0, 0),
    ) -> Padded:
        """Rows that lie one after another in `ids`; the quick way. Each gets a BOS before it and an EOS behind it, as
        asked. Both sizes are `size` at least, and a multiple of `multiple`; with `filler`, the rows that are too many
        begin with an EOS.
        """
        many, widths = len(lengths), lengths + (bos + eos)
        high, wide = max(many, size[0]), max(int(widths.max(initial=0)), size[1])
        padded = np.full((up(high, multiple), up(wide, multiple)), PAD, dtype=np.int64)
        mask = np.zeros(padded.shape, dtype=np.bool_)
        place = np.arange(padded.shape[1])
        mask[:many] = place < widths[:, None]
        padded[:many][(place >= bos) & (place < bos + lengths[:, None])] = ids
        padded[:many, :bos] = BOS
        if eos:
            padded[np.arange(many), widths - 1] = EOS
        if filler:  # a row with nothing to read has no gradient that every kernel agrees on
            padded[many:, :1] = EOS
            mask[many:, :1] = True
        return Padded(torch.from_numpy(padded), torch.from_numpy(mask))

    def to(self, device: torch.device | str) -> Padded:
        return Padded(self.ids.to(device, non_blocking=True), self.mask.to(device, non_blocking=True))


@final
@dataclass(frozen=True, slots=True)
class Pairs:
    """Source and target of the same rows. Target rows begin with BOS and end with EOS; source rows end with EOS."""

    source: Padded
    target: Padded
    tokens: int  # target symbols to predict, counted where the batch is made: a device is never asked

    @staticmethod
    def of(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Pairs:
        return Pairs(Padded.of(sources), Padded.of(targets), sum(max(0, len(row) - 1) for row in targets))

    def to(self, device: torch.device | str) -> Pairs:
        return Pairs(self.source.to(device), self.target.to(device), self.tokens)


def up(size: int, multiple: int) -> int:
    """The multiple that holds it."""
    return -(-size // multiple) * multiple
