"""Word: the most frequent words, numbers and signs. It does not know what <unk> will be replaced by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tokenizers import Tokenizer, models, trainers

from regard.source.vocabulary.cut import SPACE, SPECIALS, UNKNOWN, WORDS, cutter, plain

ENOUGH: Final = 10_000  # words of text from which on a word that stands once is left out, so that <unk> is learned too


def learn(size: int, texts: Iterable[str]) -> Tokenizer:
    running = sum(text.count(" ") + 1 for text in texts)
    counted = cutter(models.WordLevel(unk_token=UNKNOWN), WORDS)
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=2 if running > ENOUGH else 1, special_tokens=[], show_progress=False
    )
    counted.train_from_iterator((plain(text) for text in texts), trainer)
    ids: dict[str, int] = counted.get_vocab()
    words = [word for word in sorted(ids, key=ids.__getitem__) if word != SPACE]  # from the most frequent on
    chosen = [*SPECIALS, SPACE, *words][:size]
    return cutter(models.WordLevel({word: at for at, word in enumerate(chosen)}, unk_token=UNKNOWN), WORDS)
