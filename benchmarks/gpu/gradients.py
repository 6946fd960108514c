"""How far the kernels are from the steps one by one: every choice of decoder, cell, score, layers and dropout.

‖kernel − steps‖ / ‖steps‖ of the features and of the worst gradient, in float32; in bfloat16 against the steps in
float32, beside what the steps themselves lose by bfloat16. A query's bias shifts all energies of a row alike, which the
softmax ignores but for the curve of tanh: its gradient is what is left of terms a thousand times as large, and so it,
and the query's matrix after it, lose most by any rounding.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from chip import DEVICE
from torch import Tensor

from regard.attention import Attention, record
from regard.attention.score import Additive, Dot, General, Score
from regard.decode import BahdanauDecoder, LuongDecoder
from regard.layer.embedding import Embedding
from regard.layer.recurrent import Cell, Stack
from regard.memory import Memory

SYMBOLS = 100
SCORES = ("additive", "dot", "general")


@dataclass(frozen=True)
class Asked:
    """One choice, at one size."""

    kind: str
    cell: Cell
    score: str
    layers: int
    drop: float
    rows: int = 37
    slots: int = 29
    steps: int = 13
    width: int = 512

    def __str__(self) -> str:
        layers = "two layers" if self.layers == 2 else "one layer"
        return f"{self.kind}, {self.cell.upper()}, {self.score}, {layers}{', dropout' if self.drop else ''}"


def gradients(asked: argparse.Namespace) -> None:
    print("| kernels against steps | float32: features | worst gradient | bfloat16: features | worst gradient | "
          "the steps' own by bfloat16, the same gradient |\n|---|---|---|---|---|---|")  # fmt: skip
    for choice in choices(asked.smoke, asked.few):
        print(row(choice), flush=True)
    print()
    each = next(choices(asked.smoke, asked.few))
    print(f"All gradients of {each}:\n\n| | float32 | bfloat16 | the steps' own by bfloat16 |\n|---|---|---|---|")
    found = differences(each)
    for name, values in found.items():
        print(f"| {name} | {' | '.join(f'{value:.1e}' for value in values)} |")
    print(flush=True)


def choices(smoke: bool, few: bool) -> Iterator[Asked]:
    every = product(("bahdanau", "luong"), ("lstm", "gru"), SCORES, (1, 2), (0.0, 0.3))
    for kind, cell, score, layers, drop in every:
        if few and (cell, score, layers, drop) not in (("lstm", "additive", 1, 0.0), ("gru", "general", 2, 0.3)):
            continue
        if not drop or layers == 2:
            small = {"rows": 3, "slots": 5, "steps": 2, "width": 32} if smoke else {}
            yield Asked(kind, cell, score, layers, drop, **small)
            if smoke:
                return


def row(asked: Asked) -> str:
    found = differences(asked)
    features = found.pop("features")
    worst, worst_narrow = (max(found, key=lambda name: found[name][at]) for at in (0, 1))
    return (
        f"| {asked} | {features[0]:.1e} | {found[worst][0]:.1e} {worst} | {features[1]:.1e} "
        f"| {found[worst_narrow][1]:.1e} {worst_narrow} | {found[worst_narrow][2]:.1e} |"
    )


def differences(asked: Asked) -> dict[str, tuple[float, float, float]]:
    decoder, memory = made(asked)
    wanted, wide = (found(decoder, memory, asked, fused=fused, narrow=False) for fused in (False, True))
    narrow, steps = (found(decoder, memory, asked, fused=fused, narrow=True) for fused in (True, False))
    return {name: tuple(away(each[name], wanted[name]) for each in (wide, narrow, steps)) for name in wanted}


def made(asked: Asked) -> tuple[BahdanauDecoder | LuongDecoder, Memory]:
    torch.manual_seed(1)
    width = asked.width
    stack = Stack(asked.cell, width, width, asked.layers, fed=width, drop=asked.drop)
    attention, embedding = Attention(score(asked)), Embedding(SYMBOLS, width)
    if asked.kind == "bahdanau":
        decoder = BahdanauDecoder(embedding, attention, stack, width, width)
    else:
        decoder = LuongDecoder(embedding, attention, stack, width, width, width)
    values = torch.randn(asked.rows, asked.slots, width, device=DEVICE, requires_grad=True)
    keys = torch.randn(asked.rows, asked.slots, width, device=DEVICE).mul_(0.2).requires_grad_()
    lengths = torch.randint(1, asked.slots + 1, (asked.rows, 1), device=DEVICE)
    lengths[0] = 0
    mask = torch.arange(asked.slots, device=DEVICE) < lengths
    summary = torch.randn(asked.rows, width, device=DEVICE, requires_grad=True)
    return decoder.to(DEVICE), Memory(keys, values, mask, summary)


def score(asked: Asked) -> Score:
    match asked.score:
        case "additive":
            return Additive(asked.width, asked.width, asked.width)
        case "dot":
            return Dot()
    return General(asked.width, asked.width)


def found(
    decoder: BahdanauDecoder | LuongDecoder, memory: Memory, asked: Asked, *, fused: bool, narrow: bool
) -> dict[str, Tensor]:
    """Features and gradients; who is recorded takes the steps one by one."""
    generator = torch.Generator(DEVICE).manual_seed(2)
    tokens = torch.randint(0, SYMBOLS, (asked.rows, asked.steps), generator=generator, device=DEVICE)
    leaves = {
        "keys": memory.keys,
        "values": memory.values,
        "summary": memory.summary,
        **dict(decoder.named_parameters()),
    }
    torch.manual_seed(3)  # the same dropout
    with torch.autocast(DEVICE.type, torch.bfloat16, enabled=narrow):
        if fused:
            features = decoder(tokens, memory).features
        else:
            with record(decoder):
                features = decoder(tokens, memory).features
    aim = torch.randn(features.shape, generator=generator, device=DEVICE)
    each = torch.autograd.grad((features.float() * aim).sum(), list(leaves.values()))
    return {"features": features.detach()} | dict(zip(leaves, each, strict=True))


def away(one: Tensor, other: Tensor) -> float:
    return float((one.double() - other.double()).norm() / other.double().norm())
