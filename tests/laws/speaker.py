"""Every decoder there is, over small products of cells, layers and attentions, and a memory to decode from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import torch
from torch import Tensor

from regard.attention import Attention, MultiHead
from regard.attention.align import Align, Hard, Monotonic, Soft
from regard.attention.scope import Everywhere, LocalM, LocalP, Scope
from regard.attention.score import Additive, Concat, Dot, General, Location, LocationAware, ScaledDot, Score
from regard.decode import BahdanauDecoder, Decoder, LuongDecoder, PlainDecoder, State, TransformerDecoder
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Cell, Stack
from regard.memory import Memory

ROWS, STEPS, SLOTS, WIDTH, WORD, FEATURES, SUMMARY, SYMBOLS, HEADS = 3, 5, 7, 6, 5, 4, 3, 11, 2
LENGTHS = (7, 4, 1)
EACH = WIDTH // HEADS

Parts = tuple[Callable[[int], Score], Callable[[int], Scope], Callable[[], Align]]


def anywhere(width: int) -> Scope:
    return Everywhere()


def additive(width: int) -> Score:
    return Additive(width, width, 5)


ATTENTIONS: dict[str, Parts] = {
    "dot": (lambda _: Dot(), anywhere, Soft),
    "scaled_dot": (lambda _: ScaledDot(), anywhere, Soft),
    "general": (lambda width: General(width, width), anywhere, Soft),
    "additive": (additive, anywhere, Soft),
    "concat": (lambda width: Concat(width, width, 5), anywhere, Soft),
    "location": (lambda width: Location(width, SLOTS), anywhere, Soft),
    "location_aware": (lambda width: LocationAware(width, width, 5, 3, 2), anywhere, Soft),
    "local_m": (additive, lambda _: LocalM(2), Soft),
    "local_p": (lambda _: Dot(), lambda width: LocalP(width, 5, 2), Soft),
    "monotonic": (additive, anywhere, Monotonic),
    "hard": (additive, anywhere, Hard),
}

Kind = Literal["plain", "bahdanau", "tutorial", "luong", "luong_unfed", "sinusoidal", "rotary"]


@final
@dataclass(frozen=True, slots=True)
class Speaker:
    """A decoder by name."""

    kind: Kind
    cell: Cell = "gru"
    layers: int = 1
    attention: str = ""
    heads: bool = False

    def __str__(self) -> str:
        named = [self.attention] if self.attention else []
        return "-".join([self.kind, self.cell, str(self.layers), *named, *["heads"] * self.heads])

    def make(self, *, drop: float = 0.0) -> Decoder[Any]:
        torch.manual_seed(1)
        return self._make(drop).double().train(drop > 0)

    def _make(self, drop: float) -> Decoder[Any]:
        embedding = Embedding(SYMBOLS, WIDTH if self.kind in {"sinusoidal", "rotary"} else WORD, drop=drop)

        def stack(fed: int) -> Stack:
            return Stack(self.cell, WORD, WIDTH, self.layers, fed=fed, drop=drop)

        match self.kind:
            case "plain":
                return PlainDecoder(embedding, stack(0), SUMMARY)
            case "bahdanau" | "tutorial":
                features = FEATURES if self.kind == "bahdanau" else None
                return BahdanauDecoder(embedding, self._attention(drop), stack(WIDTH), SUMMARY, features)
            case "luong" | "luong_unfed":
                fed = FEATURES if self.kind == "luong" else 0
                return LuongDecoder(embedding, self._attention(drop), stack(fed), SUMMARY, WIDTH, FEATURES)
            case "sinusoidal" | "rotary":
                rotary = self.kind == "rotary"
                return TransformerDecoder(
                    embedding, self.layers, HEADS, 9, WIDTH, rotary=rotary, drop=drop, drop_weights=drop
                )

    def _attention(self, drop: float) -> Attention | MultiHead:
        score, scope, align = ATTENTIONS[self.attention]
        if not self.heads:
            return Attention(score(WIDTH), scope(WIDTH), align(), drop=drop)
        return MultiHead(Attention(score(EACH), scope(EACH), align(), drop=drop), HEADS, WIDTH, WIDTH, WIDTH)


LOOKS: tuple[Kind, ...] = ("bahdanau", "luong", "luong_unfed")
TRANSFORMERS: tuple[Kind, ...] = ("sinusoidal", "rotary")
CELLS: tuple[Cell, ...] = ("gru", "lstm")
DEPTHS = (1, 2)
MANY = ("general", "location_aware", "local_p", "monotonic", "hard")  # the attentions that are also tried with heads

_all = [
    *(Speaker("plain", cell, depth) for cell in CELLS for depth in DEPTHS),
    *(Speaker(kind, "gru", 1, name) for kind in LOOKS for name in ATTENTIONS),
    *(Speaker(kind, cell, depth, "additive") for kind in LOOKS for cell in CELLS for depth in DEPTHS),
    *(Speaker(kind, "lstm", 2, name, heads=True) for kind in LOOKS for name in MANY),
    *(Speaker("tutorial", cell, 1, "additive") for cell in CELLS),
    *(Speaker(kind, layers=depth) for kind in TRANSFORMERS for depth in DEPTHS),
]
ALL = list(dict.fromkeys(_all))


def memory() -> Memory:
    values = torch.randn(ROWS, SLOTS, WIDTH).double()
    mask = torch.arange(SLOTS) < torch.tensor(LENGTHS).unsqueeze(-1)
    return Memory(values, values, mask, torch.randn(ROWS, SUMMARY).double())


def bare(read: Memory, row: int) -> Memory:
    """One row without its padding."""
    one, n = read.rows(torch.tensor([row])), LENGTHS[row]
    return replace(one, keys=one.keys[:, :n], values=one.values[:, :n], mask=one.mask[:, :n])


def tokens() -> Tensor:
    return torch.randint(SYMBOLS, (ROWS, STEPS))


def walk(decoder: Decoder[Any], given: Tensor, state: State) -> tuple[Tensor, Tensor | None, Any]:
    """One step at a time: features, log-probabilities of what was sampled, and where it ends."""
    features, log_probs = [], []
    for word in given.unbind(1):
        stepped = decoder.step(word, state)
        state = stepped.state
        features.append(stepped.features)
        log_probs.append(stepped.log_prob)
    known = [each for each in log_probs if each is not None]
    return torch.stack(features, 1), torch.stack(known, 1) if known else None, state


def tensors(state: object) -> list[Tensor]:
    """Every tensor in a state, in order."""
    if isinstance(state, Tensor):
        return [state]
    if isinstance(state, tuple):
        return [found for part in state for found in tensors(part)]
    slots = getattr(type(state), "__slots__", ())
    return [found for name in slots for found in tensors(getattr(state, name))]
