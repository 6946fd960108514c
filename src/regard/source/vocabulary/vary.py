"""Vary: the same text in other pieces, drawn anew in each epoch, in training only (Provilkov 2020; Kudo 2018).

Each piece has a few ways of cutting it further, drawn from (seed, id) when it is first met; which of them stands at a
place is a hash of (seed, epoch, sentence, place). So a run can be stopped and resumed, and no generator is asked.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from regard.source.vocabulary import bpe, unigram
from regard.source.vocabulary.core import Vocabulary
from regard.source.vocabulary.cut import SPECIALS

WAYS: Final = 32  # a power of two

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@final
class Vary:
    """Of a word or char vocabulary, and with a dropout of 0, every piece stays as it is: then `of` gives None."""

    def __init__(self, vocabulary: Vocabulary, dropout: float, seed: int) -> None:
        self.vocabulary: Final = vocabulary
        self.dropout: Final = dropout
        self.seed: Final = seed
        self._cutter = _cutter(vocabulary, dropout)
        self._ids = {label: number for number, label in enumerate(vocabulary.labels)}
        many = len(vocabulary)
        self._start = np.zeros((many, WAYS), dtype=np.int64)
        self._length = np.zeros((many, WAYS), dtype=np.int64)
        self._pool = np.zeros(1024, dtype=np.int64)
        self._filled = 0
        self._met = np.zeros(many, dtype=np.bool_)

    @staticmethod
    def of(vocabulary: Vocabulary, dropout: float, seed: int) -> Vary | None:
        made = Vary(vocabulary, dropout, seed)
        return None if made._cutter is None else made

    def variants(self, number: int) -> list[list[int]]:
        """The ways of cutting one piece."""
        self._meet(np.array([number]))
        spans = zip(self._start[number].tolist(), self._length[number].tolist(), strict=True)
        return [self._pool[start : start + length].tolist() for start, length in spans]

    def rows(self, ids: Ints, lengths: Ints, epoch: int, numbers: Ints) -> tuple[Ints, Ints]:
        """Rows that lie one after another in `ids`, as they read in that epoch; `numbers` says which sentences."""
        if self._cutter is None or not len(ids):
            return ids, lengths
        self._meet(ids)
        first = np.cumsum(lengths) - lengths
        place = np.arange(len(ids)) - np.repeat(first, lengths)
        sentence = _mixed(_mixed(_word(self.seed) + _mixed(_word(epoch))) + numbers.astype(np.uint64))
        way = (_mixed(np.repeat(sentence, lengths) + place.astype(np.uint64)) >> np.uint64(59)).astype(np.int64)
        counts = self._length[ids, way]
        begins = np.cumsum(counts) - counts
        varied = self._pool[np.arange(int(counts.sum())) + np.repeat(self._start[ids, way] - begins, counts)]
        # the sum over each row, rows without pieces too
        total = np.concatenate([[0], np.cumsum(counts)])
        return varied, total[first + lengths] - total[first]

    def _meet(self, ids: Ints) -> None:
        fresh = ids[~self._met[ids]]
        if not len(fresh):
            return
        for number in np.unique(fresh).tolist():
            cuts = self._cuts(number)
            lengths = [len(cut) for cut in cuts]
            need = self._filled + sum(lengths)
            if need > len(self._pool):
                self._pool = np.concatenate([self._pool, np.zeros(max(need, len(self._pool)), dtype=np.int64)])
            self._pool[self._filled : need] = [part for cut in cuts for part in cut]
            self._start[number] = self._filled + np.cumsum([0, *lengths[:-1]])
            self._length[number] = lengths
            self._filled = need
            self._met[number] = True

    def _cuts(self, number: int) -> list[list[int]]:
        label = self.vocabulary.labels[number]
        if self._cutter is None or number < len(SPECIALS) or len(label) == 1:
            return [[number]] * WAYS
        draws = iter(np.random.Generator(np.random.PCG64([self.seed, number])).random, None)
        cuts = [self._cutter.cut(label, draws.__next__) for _ in range(WAYS)]
        # a piece whose characters have no symbols of their own stays whole
        return [
            [self._ids[part] for part in cut] if all(part in self._ids for part in cut) else [number] for cut in cuts
        ]


def _cutter(vocabulary: Vocabulary, dropout: float) -> bpe.Dropout | unigram.Cuts | None:
    if not dropout:
        return None
    if vocabulary.kind == "bpe":
        return bpe.Dropout(vocabulary.tokenizer, dropout)
    return unigram.Cuts(vocabulary.tokenizer, dropout) if vocabulary.kind == "unigram" else None


def _word(number: int) -> Hashes:
    return np.array([number & 0xFFFF_FFFF_FFFF_FFFF], dtype=np.uint64)  # of one: scalars warn where arrays wrap around


def _mixed(number: Hashes) -> Hashes:
    """The finaliser of SplitMix64: every bit of the number changes every bit of the hash."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
