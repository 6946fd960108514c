"""Char: one symbol a code point, from the most frequent on."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Tokenizer, models

from regard.source.vocabulary import alphabet
from regard.source.vocabulary.cut import CHARACTERS, SPECIALS, UNKNOWN, cutter


def learn(size: int, texts: Iterable[str]) -> Tokenizer:
    counts = alphabet.count(texts)
    ranked = sorted(alphabet.choose(counts, len(counts)), key=lambda character: (-counts[character], character))
    chosen = [*SPECIALS, *ranked][:size]
    return cutter(models.WordLevel({symbol: at for at, symbol in enumerate(chosen)}, unk_token=UNKNOWN), CHARACTERS)
