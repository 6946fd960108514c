r"""Unigram: $p(x) = \sum_{\text{cuts}} \prod_k p(x_k)$ over pieces, learned by EM and pruned (Kudo 2018, https://arxiv.org/abs/1804.10959).

The library's own trainer walks a hash table in an order that differs from run to run, and so do its vocabularies.
This one sums in a fixed order, whole arrays of edges at a time.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models

from regard.source.pad import UNK
from regard.source.vocabulary import alphabet
from regard.source.vocabulary.cut import PIECES, SPACE, SPECIALS, cutter, plain

LONGEST: Final = 12  # characters a piece
REACH: Final = 24  # characters a word: the product of so many probabilities is still a number
WORDS: Final = 100_000  # different words looked at, the most frequent ones
SEEDS: Final = 8  # pieces to begin with, for each that is to be left
KEEP: Final = 0.75  # share left by one pruning
STEEPNESS: Final = 0.2  # Kudo's alpha: below 1 the cuts drawn are more even than their probabilities

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def learn(size: int, texts: Iterable[str]) -> Tokenizer:
    room = size - len(SPECIALS)
    characters = alphabet.choose(alphabet.count(texts), room // 2)
    words, counts = _words(texts, set(characters))
    pieces = _seeds(words, counts, characters, SEEDS * room)
    while True:
        for _ in range(2):
            weight = _expected(pieces, words, counts)
            lasting = [len(piece) == 1 or each >= 0.5 for piece, each in zip(pieces, weight, strict=True)]
            pieces = {
                piece: max(each, 0.1) for piece, each, lasts in zip(pieces, weight, lasting, strict=True) if lasts
            }
        if len(pieces) <= room:
            break
        pieces = _pruned(pieces, max(room, int(KEEP * len(pieces))))
    total = sum(pieces.values())
    ranked = sorted(pieces.items(), key=lambda item: (-item[1], item[0]))
    scored = [(piece, math.log(each / total)) for piece, each in ranked]
    specials = [(special, 0.0) for special in SPECIALS]
    return cutter(models.Unigram([*specials, *scored], unk_id=UNK), PIECES)


@final
class Cuts:
    """Draws cuts of a piece by their probability under a vocabulary; `dropout` is the probability of drawing at all."""

    def __init__(self, tokenizer: Tokenizer, dropout: float) -> None:
        scored = json.loads(tokenizer.to_str())["model"]["vocab"][len(SPECIALS) :]
        self._score = {piece: STEEPNESS * score for piece, score in scored}
        self._dropout = dropout

    def cut(self, piece: str, draw: Callable[[], float]) -> list[str]:
        if draw() >= self._dropout:
            return [piece]
        above = [1.0]  # of the cuts of each beginning of the piece, the sum of their probabilities
        for end in range(1, len(piece) + 1):
            above.append(sum(above[start] * self._odds(piece[start:end]) for start in range(end)))
        parts: list[str] = []
        end = len(piece)
        while end:
            left = draw() * above[end]
            for start in range(end):
                share = above[start] * self._odds(piece[start:end])
                if share:
                    last = start
                    left -= share
                    if left < 0:
                        break
            parts.append(piece[last:end])
            end = last
        return parts[::-1]

    def _odds(self, piece: str) -> float:
        return math.exp(self._score[piece]) if piece in self._score else 0.0


def _words(texts: Iterable[str], characters: set[str]) -> tuple[list[str], Floats]:
    spaced: Counter[str] = Counter()
    for text in texts:
        spaced.update(plain(text).split(" "))
    parts: Counter[str] = Counter()
    cut = cutter(models.Unigram(), PIECES).pre_tokenizer.pre_tokenize_str
    for word, number in spaced.items():
        for part, _ in cut(SPACE + word):
            if len(part) > 1 and characters.issuperset(part):
                for at in range(0, len(part), REACH):  # scripts without spaces make long ones
                    parts[part[at : at + REACH]] += number
    ranked = sorted(parts.items(), key=lambda item: (-item[1], item[0]))[:WORDS]
    return [word for word, _ in ranked], np.array([number for _, number in ranked], dtype=np.float64)


def _seeds(words: Sequence[str], counts: Floats, characters: Sequence[str], most: int) -> dict[str, float]:
    """The characters, and the parts of words that cover most of the text."""
    found: dict[str, float] = {}
    for word, number in zip(words, counts.tolist(), strict=True):
        for start in range(len(word)):
            for end in range(start + 2, min(len(word), start + LONGEST) + 1):
                part = word[start:end]
                found[part] = found.get(part, 0.0) + number
    ranked = sorted(
        (part for part, number in found.items() if number >= 2), key=lambda part: (-found[part] * len(part), part)
    )
    singles: Counter[str] = Counter()
    for word, number in zip(words, counts.tolist(), strict=True):
        for character in word:
            singles[character] += number
    seeds = {character: max(1.0, float(singles[character])) for character in characters}
    return seeds | {part: found[part] for part in ranked[:most]}


@final
class _Lattice:
    """All edges of all words: piece `piece` leads from `start` to `end` of `word`. Sorted by end, then word."""

    def __init__(self, words: Sequence[str], pieces: dict[str, float], whole: bool) -> None:
        number = {piece: at for at, piece in enumerate(pieces)}
        edges: list[tuple[int, int, int, int]] = []
        for at, word in enumerate(words):
            for start in range(len(word)):
                for end in range(start + 1, min(len(word), start + LONGEST) + 1):
                    piece = number.get(word[start:end])
                    if piece is not None and (whole or end - start < len(word)):
                        edges.append((end, at, start, piece))
        table = np.array(edges, dtype=np.int32).reshape(-1, 4)
        table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
        self.end, self.word, self.start, self.piece = table.T
        self.lengths = np.array([len(word) for word in words], dtype=np.int64)
        self._stops = np.searchsorted(self.end, np.arange(REACH + 2))

    def ending(self, at: int) -> slice:
        return slice(int(self._stops[at]), int(self._stops[at + 1]))


def _expected(pieces: dict[str, float], words: Sequence[str], counts: Floats) -> list[float]:
    """How often each piece is used, over all cuts by their probability."""
    lattice = _Lattice(words, pieces, whole=True)
    weights = np.array(list(pieces.values()))
    odds = (weights / weights.sum())[lattice.piece]
    many = len(words)
    ahead = np.zeros((REACH + 1, many))
    ahead[0] = 1.0
    for at in range(1, REACH + 1):
        here = lattice.ending(at)
        word = lattice.word[here]
        ahead[at] = np.bincount(word, odds[here] * ahead[lattice.start[here], word], many)
    behind = np.zeros((REACH + 1, many))
    behind[lattice.lengths, np.arange(many)] = 1.0
    for at in range(REACH, 0, -1):
        here = lattice.ending(at)
        word, start = lattice.word[here], lattice.start[here].astype(np.int64)
        behind += np.bincount(start * many + word, odds[here] * behind[at, word], (REACH + 1) * many).reshape(
            REACH + 1, many
        )
    whole = np.maximum(ahead[lattice.lengths, np.arange(many)], 1e-300)
    used = ahead[lattice.start, lattice.word] * odds * behind[lattice.end, lattice.word]
    used *= (counts / whole)[lattice.word]
    expected: list[float] = (
        np.bincount(lattice.piece, used, len(pieces)).astype(np.float64).tolist()
    )  # of none: integers
    return expected


def _pruned(pieces: dict[str, float], most: int) -> dict[str, float]:
    """Without those whose loss costs the text least: what a piece is used for would be cut in the next best way."""
    longer = [piece for piece in pieces if len(piece) > 1]
    lattice = _Lattice(longer, pieces, whole=False)
    weights = np.array(list(pieces.values()))
    scores = np.log(weights / weights.sum())
    best = np.full((REACH + 1, len(longer)), -np.inf)
    best[0] = 0.0
    for at in range(1, LONGEST + 1):
        here = lattice.ending(at)
        if here.start == here.stop:
            continue
        word = lattice.word[here]
        reached = best[lattice.start[here], word] + scores[lattice.piece[here]]
        first = np.flatnonzero(np.diff(word, prepend=-1))
        best[at, word[first]] = np.maximum.reduceat(reached, first)
    own = np.array([weight for piece, weight in pieces.items() if len(piece) > 1])
    loss = own * (np.log(own / weights.sum()) - best[lattice.lengths, np.arange(len(longer))])
    order = sorted(range(len(longer)), key=lambda at: (-loss[at], longer[at]))
    kept = {longer[at] for at in order[: max(0, most - (len(pieces) - len(longer)))]}
    return {piece: weight for piece, weight in pieces.items() if len(piece) == 1 or piece in kept}
