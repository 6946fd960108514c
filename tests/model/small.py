"""Small models of every composition and choice, and a batch for them."""

from __future__ import annotations

from typing import Any

import torch

from regard.config import RecurrentModel, Train, TransformerModel
from regard.model import Model, build
from regard.source.batch import Pairs

SOURCE, TARGET = 13, 11  # symbols
SIZES: dict[str, Any] = {"embedding": 6, "width": 8}

CHOICES: list[dict[str, Any]] = [
    {"kind": "seq2seq"},
    {"kind": "seq2seq", "cell": "lstm", "encoder_layers": 2, "decoder_layers": 2, "bidirectional": False},
    {"kind": "seq2seq", "reverse_source": True},
    *({"kind": kind, "cell": "lstm", "decoder_layers": 2} for kind in ("bahdanau", "luong", "tutorial-gru")),
    *(
        {"kind": "bahdanau", "score": score}
        for score in ("dot", "scaled_dot", "general", "additive", "concat", "location", "location_aware")
    ),
    *({"kind": "luong", "scope": scope, "reach": 2} for scope in ("everywhere", "local_m", "local_p")),
    *({"kind": "luong", "score": "dot", "scope": scope, "input_feeding": False} for scope in ("everywhere", "local_m")),
    *({"kind": kind, "align": align} for kind in ("bahdanau", "luong") for align in ("hard", "monotonic")),
    {"kind": "luong", "score": "location_aware", "input_feeding": False, "heads": 4},
    {"kind": "bahdanau", "heads": 2, "score": "scaled_dot", "bidirectional": False, "encoder_layers": 2},
    {"kind": "tutorial-gru", "heads": 2, "align": "hard"},
    {"kind": "luong", "heads": 2, "scope": "local_p", "reverse_source": True},
    {"kind": "bahdanau", "tied": True},
    {"kind": "luong", "tied": True},
    {"kind": "transformer", "positions": "sinusoidal"},
    {"kind": "transformer", "positions": "rotary", "tied": False},
]


def name(choice: dict[str, Any]) -> str:
    return ",".join(str(value) if key == "kind" else f"{key}={value}" for key, value in choice.items())


def make(choice: dict[str, Any], train: Train | None = None, *, seed: int = 1, **more: Any) -> Model:
    torch.manual_seed(seed)
    if choice["kind"] == "transformer":
        sizes: dict[str, Any] = {"width": 8, "heads": 2, "inner": 12, "encoder_layers": 2, "decoder_layers": 2}
        return build(TransformerModel(**({"dropout": 0.0, **sizes} | choice | more)), SOURCE, TARGET, train)
    return build(RecurrentModel(**(SIZES | choice | more)), SOURCE, TARGET, train)


def pairs() -> Pairs:
    """Three rows of different lengths on either side."""
    return Pairs.of([[4, 9, 12, 5, 2], [7, 2], [6, 6, 2]], [[1, 5, 2], [1, 9, 4, 10, 2], [1, 2]])
