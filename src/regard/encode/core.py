"""Encoder: token ids → Memory. It does not know what will read it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from torch import nn

from regard.memory import Memory
from regard.source.batch import Padded


class Encoder(nn.Module, ABC):
    width: int  # of the memory's keys and values
    summary: int  # of the memory's summary

    @abstractmethod
    def forward(self, source: Padded) -> Memory: ...

    if TYPE_CHECKING:
        __call__ = forward
