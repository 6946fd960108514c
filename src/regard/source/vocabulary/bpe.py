"""BPE: the most frequent pair of neighbours becomes one piece, again and again (Sennrich 2016, arXiv:1508.07909).

BPE-dropout (Provilkov 2020, arXiv:1910.13267): a text is cut with each merge left out with probability p.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Final, final

from tokenizers import Tokenizer, models, trainers

from regard.source.vocabulary import alphabet
from regard.source.vocabulary.cut import PIECES, SPECIALS, UNKNOWN, cutter, plain

LONGEST: Final = 24  # characters a piece


def learn(size: int, texts: Iterable[str]) -> Tokenizer:
    characters = alphabet.choose(alphabet.count(texts), size // 2)
    tokenizer = cutter(models.BPE(unk_token=UNKNOWN, fuse_unk=True), PIECES)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=list(SPECIALS),
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        max_token_length=LONGEST,
        show_progress=False,
    )
    tokenizer.train_from_iterator((plain(text) for text in texts), trainer)
    trained = json.loads(tokenizer.to_str())
    trained["added_tokens"] = []  # else a text that spells </s> would be taken for one
    return Tokenizer.from_str(json.dumps(trained))


@final
class Dropout:
    """Cuts a piece by the merges of a vocabulary, each left out with probability `dropout`."""

    def __init__(self, tokenizer: Tokenizer, dropout: float) -> None:
        model = json.loads(tokenizer.to_str())["model"]
        self._rank = {(left, right): rank for rank, (left, right) in enumerate(model["merges"])}
        self._dropout = dropout

    def cut(self, piece: str, draw: Callable[[], float]) -> list[str]:
        parts = list(piece)
        while True:
            best, at = len(self._rank), -1
            for place in range(len(parts) - 1):
                rank = self._rank.get((parts[place], parts[place + 1]), best)
                if rank < best and draw() >= self._dropout:
                    best, at = rank, place
            if at < 0:
                return parts
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
