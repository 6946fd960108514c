"""Learn: texts → a vocabulary of one of the four kinds. The same texts give the same vocabulary, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from regard.fault import Fault
from regard.source.vocabulary import bpe, char, unigram, word
from regard.source.vocabulary.core import Kind, Vocabulary
from regard.source.vocabulary.cut import SPECIALS

SMALLEST: Final = len(SPECIALS) + 4
_LEARN: Final = {"bpe": bpe.learn, "unigram": unigram.learn, "word": word.learn, "char": char.learn}


def learn(kind: Kind, size: int, texts: Iterable[str]) -> Vocabulary:
    """At most `size` symbols, the four special ones among them; fewer where the texts cannot fill it."""
    if size < SMALLEST:
        raise Fault(f"a vocabulary of {size} symbols is too small; give it {SMALLEST} or more")
    again = list(texts) if isinstance(texts, Iterator) else texts  # they are read twice
    if not any(again):
        raise Fault("there is no text to learn a vocabulary from")
    return Vocabulary(_LEARN[kind](size, again), kind)
