"""Bundles of every kind, untrained, and the sentences they know."""

from __future__ import annotations

from typing import Any

import torch

from regard import config
from regard.model import build
from regard.source.vocabulary import learn
from regard.task.bundle import Bundle

ENGLISH = ["We live here.", "Who are you?", "I have a dog.", "He lives in Pune."] * 3
MARATHI = ["आम्ही इथे राहतो.", "तू कोण आहेस?", "माझ्याकडे कुत्रा आहे.", "तो पुण्यात राहतो."] * 3
SIZES: dict[str, Any] = {"width": 8}
RECURRENT = {**SIZES, "embedding": 8}
KINDS: dict[str, dict[str, Any]] = {
    "seq2seq": {"kind": "seq2seq", "cell": "lstm", **RECURRENT},
    "bahdanau": {"kind": "bahdanau", **RECURRENT},
    "bahdanau-tied": {"kind": "bahdanau", "tied": True, **RECURRENT},
    "bahdanau-shared": {"kind": "bahdanau", "tied": True, "shared": True, **RECURRENT},
    "luong": {"kind": "luong", "cell": "lstm", "score": "general", **RECURRENT},
    "luong-heads": {"kind": "luong", "heads": 2, "scope": "local_p", "align": "hard", **RECURRENT},
    "location-aware": {"kind": "bahdanau", "score": "location_aware", **RECURRENT},
    "tutorial-gru": {"kind": "tutorial-gru", **RECURRENT},
    "transformer": {"kind": "transformer", "heads": 2, "inner": 12, **SIZES},
    "transformer-shared": {"kind": "transformer", "heads": 2, "inner": 12, "shared": True, **SIZES},
    "transformer-rotary": {
        "kind": "transformer",
        "heads": 2,
        "inner": 12,
        "positions": "rotary",
        "tied": False,
        **SIZES,
    },
}


def made(name: str = "bahdanau", seed: int = 1, **tables: Any) -> Bundle:
    """An untrained model; a vocabulary for both sides where its embeddings are shared."""
    model, shared = KINDS[name], KINDS[name].get("shared", False)
    side = {"kind": "word" if name == "tutorial-gru" else "bpe", "size": 60}
    data = {"source": side, "target": side, "shared_vocabulary": shared}
    recipe = config.build({"model": model, "data": data, "train": {"updates": 1}, **tables}, "test")
    torch.manual_seed(seed)
    source = learn(recipe.data.source.kind, 60, ENGLISH + MARATHI if shared else ENGLISH)
    target = source if shared else learn(recipe.data.target.kind, 60, MARATHI)
    built = build(recipe.model, len(source), len(target), recipe.train).eval()
    return Bundle(recipe, built, source, target, {"licence": "CC0", "choice": None})
