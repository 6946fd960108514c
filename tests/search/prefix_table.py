"""Models without parameters: the next symbol's log-probabilities are random numbers that depend on the whole prefix."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.source.batch import BOS


@final
@dataclass(frozen=True, slots=True)
class Prefixes:
    """The state: which language each row speaks, and all it has read."""

    language: Int[Tensor, " row"]
    read: Int[Tensor, "row step"]

    def rows(self, index: Int[Tensor, " row"]) -> Prefixes:
        return Prefixes(self.language[index], self.read[index])


@final
@dataclass(frozen=True, slots=True)
class Table:
    """p(symbol | language, prefix), and a bonus in [-weight, 0] that depends on the prefix as well."""

    symbols: int
    weight: float = 0.0
    sharpness: float = 1.0
    sizes: list[int] = field(default_factory=list)  # rows of every step, for tests of what a search asks for
    known: dict[tuple[int, ...], Tensor] = field(default_factory=dict)

    def start(self, languages: list[int]) -> Prefixes:
        return Prefixes(torch.tensor(languages, dtype=torch.long), torch.zeros(len(languages), 0, dtype=torch.long))

    def next(self, language: int, prefix: tuple[int, ...]) -> Float[Tensor, " symbol"]:
        """For a prefix without BOS."""
        key = (language, *prefix)
        if key not in self.known:
            seeded = torch.Generator().manual_seed(zlib.crc32(repr(key).encode()))
            logits = self.sharpness * torch.randn(self.symbols, generator=seeded, dtype=torch.float64)
            self.known[key] = logits.log_softmax(-1)
        return self.known[key]

    def extra(self, language: int, prefix: tuple[int, ...]) -> float:
        return -self.weight * (zlib.crc32(repr((prefix, language)).encode()) % 1000) / 1000

    def step(self, tokens: Int[Tensor, " row"], state: Prefixes) -> tuple[Float[Tensor, "row symbol"], Prefixes]:
        self.sizes.append(len(tokens))
        state = Prefixes(state.language, torch.cat([state.read, tokens.unsqueeze(-1)], -1))
        assert (state.read[:, 0] == BOS).all()
        rows = zip(state.language.tolist(), state.read.tolist(), strict=True)
        return torch.stack([self.next(language, tuple(read[1:])) for language, read in rows]), state

    def bonus(self, state: Prefixes) -> Float[Tensor, " row"] | None:
        if not self.weight:
            return None
        rows = zip(state.language.tolist(), state.read.tolist(), strict=True)
        return torch.tensor([self.extra(language, tuple(read[1:])) for language, read in rows], dtype=torch.float64)
