"""A trace to look at: English read by Marathi, two layers of two heads."""

from __future__ import annotations

import re

import torch

from regard.trace.core import Axis, Reading, Trace

HOSTILE = "</script><img src=x onerror=alert(1)>"


def axis(text: str) -> Axis:
    """The words of a text, and the end of the sentence."""
    spans = tuple(match.span() for match in re.finditer(r"\S+", text))
    labels = tuple(text[start:end] for start, end in spans)
    return Axis((*labels, "</s>"), (*spans, (len(text), len(text))), text)


def made(source: Axis, target: Axis, layers: int = 2, heads: int = 2) -> Trace:
    random = torch.Generator().manual_seed(layers * 10 + heads)
    size = (heads, len(target), len(source))
    readings = (
        Reading(f"layer{at}", "source", (3 * torch.randn(size, generator=random)).softmax(-1)) for at in range(layers)
    )
    return Trace(source, target, tuple(readings))


STUDENTS = made(axis("Where do the good students live?"), axis("चांगले विद्यार्थी कुठे राहतात?"))
NAMES = ("Rahul", HOSTILE, "\"quoted' &amp;", "\x1b]0;\u202etitle\x07", "שלום", "a\ud800b")
EVIL = made(Axis(NAMES), Axis((HOSTILE, "مرحبا", "日本語", "ক্ষ", "x" * 90)), 1, 2)
