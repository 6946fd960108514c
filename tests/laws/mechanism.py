"""Every attention there is: score × scope × align, alone and with heads, and how to read a memory with any of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from regard.attention import Attended, Attention, MultiHead, record
from regard.attention.align import Align, Hard, Monotonic, Soft
from regard.attention.scope import Causal, Everywhere, LocalM, LocalP, Scope
from regard.attention.score import Additive, Concat, Dot, General, Location, LocationAware, ScaledDot, Score
from regard.memory import Bound, Memory, Past

ROWS, STEPS, SLOTS, WIDTH, VALUE, HEADS = 3, 5, 11, 7, 13, 3
LENGTHS = (11, 7, 2)

SCORES: dict[str, Callable[[], Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": lambda: General(WIDTH, WIDTH),
    "additive": lambda: Additive(WIDTH, WIDTH, 5),
    "concat": lambda: Concat(WIDTH, WIDTH, 5),
    "location": lambda: Location(WIDTH, 9),  # fewer than there are slots
    "location_aware": lambda: LocationAware(WIDTH, WIDTH, 5, 3, 2),
}
SCOPES: dict[str, Callable[[], Scope]] = {
    "everywhere": Everywhere,
    "causal": Causal,
    "local_m": lambda: LocalM(2),
    "local_p": lambda: LocalP(WIDTH, 5, 3),
}
ALIGNS: dict[str, Callable[[], Align]] = {"soft": Soft, "hard": Hard, "monotonic": Monotonic}


@final
@dataclass(frozen=True, slots=True)
class Mechanism:
    score: str
    scope: str
    align: str
    heads: bool

    def __str__(self) -> str:
        return "-".join([self.score, self.scope, self.align, *["heads"] * self.heads])

    def make(self, *, drop: float = 0.0, seed: int = 1) -> Attention | MultiHead:
        torch.manual_seed(seed)
        attention = Attention(SCORES[self.score](), SCOPES[self.scope](), ALIGNS[self.align](), drop=drop)
        return MultiHead(attention, HEADS, WIDTH, VALUE, HEADS * WIDTH) if self.heads else attention

    def memory(self, lengths: tuple[int, ...] = LENGTHS, slots: int = SLOTS) -> Memory:
        values = torch.randn(len(lengths), slots, VALUE)
        keys = values if self.heads else torch.randn(len(lengths), slots, WIDTH)
        return Memory(keys, values, torch.arange(slots) < torch.tensor(lengths).unsqueeze(-1))

    def query(self, rows: int = ROWS, steps: int = STEPS) -> Tensor:
        return torch.randn(rows, steps, WIDTH)


ALL = [Mechanism(*choice) for choice in itertools.product(SCORES, SCOPES, ALIGNS, (False, True))]


def core(attention: Attention | MultiHead) -> Attention:
    return attention.attention if isinstance(attention, MultiHead) else attention


def walk(attention: Attention | MultiHead, query: Tensor, bound: Bound, past: Past) -> Attended:
    """One query at a time."""
    contexts, log_probs = [], []
    for one in torch.split(query, 1, -2):
        read = attention(one, bound, past)
        past = read.past
        contexts.append(read.context)
        log_probs.append(read.log_prob)
    known = [each for each in log_probs if each is not None]
    return Attended(torch.cat(contexts, -2), past, torch.cat(known, -1) if known else None)


def read(attention: Attention | MultiHead, query: Tensor, bound: Bound) -> Attended:
    """All queries, as fast as this attention allows."""
    past = attention.start(bound)
    return walk(attention, query, bound, past) if core(attention).sequential else attention(query, bound, past)


def watched(attention: Attention | MultiHead, query: Tensor, bound: Bound) -> tuple[Attended, Tensor]:
    """The same with its weights, (row, head, step, slot)."""
    with record(attention) as calls:
        seen = read(attention, query, bound)
    return seen, torch.cat([call.weights for call in calls], 2)


def contents(model: nn.Module) -> list[tuple[object, ...]]:
    """What stands on a module and all its parts, down to the versions of its tensors."""
    found: list[tuple[object, ...]] = []
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            entries = value.items() if isinstance(value, dict) else [("", value)]
            found += [(name, key, k, id(v), v._version if isinstance(v, Tensor) else 0) for k, v in entries]
    return found
