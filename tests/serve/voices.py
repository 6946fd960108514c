"""Voices that are no models, for what is asked thousands of times."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from regard.serve.said import WORD, Joined, Said, Unit


def shuffled(unit: Unit) -> Said:
    """Every word in capitals, in an order that depends on the text alone; some words go, some become two."""
    chance = random.Random(unit.text)
    words = [each.span() for each in WORD.finditer(unit.text)]
    chance.shuffle(words)
    text, links = "", []
    for start, end in words:
        for _ in range(chance.choice((0, 1, 1, 1, 1, 2))):
            text += " " if text else ""
            word = unit.text[start:end].upper()
            links.append(Joined((start, end), (len(text), len(text) + len(word)), chance.random()))
            text += word
    return Said(text, tuple(links) if unit.linked else (), 0.5, tuple(f"{text} {n}" for n in range(1, unit.best)))


def exact(unit: Unit) -> Said:
    """Every word in capitals, where it stood."""
    links = tuple(Joined(each.span(), each.span(), 1.0) for each in WORD.finditer(unit.text))
    return Said(unit.text.upper(), links if unit.linked else (), 0.5)


def saying(one: Callable[[Unit], Said]) -> Callable[[Unit], Awaitable[Said]]:
    async def say(unit: Unit) -> Said:
        return one(unit)

    return say
