"""Vocabulary: text → ids with their spans of characters, ids → text with theirs. It does not know how it was learned.

Text comes cleaned. Decoding gives back exactly what was encoded, but for unknown characters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, final

from tokenizers import Tokenizer

from regard.fault import Fault
from regard.source.pad import UNK
from regard.source.vocabulary.cut import SPACE, SPECIALS

Kind = Literal["bpe", "unigram", "word", "char"]
Span = tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Tokens:
    """A text in pieces. A space before a word is in no span; one that is a piece by itself is its own span."""

    ids: tuple[int, ...]
    spans: tuple[Span, ...]


@final
class Vocabulary:
    def __init__(self, tokenizer: Tokenizer, kind: Kind) -> None:
        self.tokenizer: Final = tokenizer
        self.kind: Final[Kind] = kind
        ids: dict[str, int] = tokenizer.get_vocab()
        self.labels: Final = tuple(sorted(ids, key=ids.__getitem__))
        self._shown = tuple(label.replace(SPACE, " ") for label in self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def encode(self, text: str) -> Tokens:
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        spans = [_visible(text, start, end) for start, end in encoding.offsets]
        if spans and self.kind != "char" and encoding.tokens[0] == SPACE:
            spans[0] = (0, 0)  # the one before the whole text, which does not stand in it
        elif spans and self.kind != "char":
            spans[0] = encoding.offsets[0]
        return Tokens(tuple(encoding.ids), tuple(spans))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids alone; the quick way for millions of lines."""
        return [each.ids for each in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """Readable text, without padding, beginning and end. What is unknown reads <unk>."""
        return self.spell(ids)[0]

    def spell(self, ids: Sequence[int], unknown: Sequence[str] | None = None) -> tuple[str, tuple[Span, ...]]:
        """The text, and the span of each id in it; an <unk> at position i reads `unknown[i]`."""
        text = ""
        spans: list[Span] = []
        opened = self.kind == "char"  # whether the space before the whole text has been left out
        for at, number in enumerate(ids):
            if number < UNK:
                spans.append((len(text), len(text)))
                continue
            if number == UNK:
                shown = SPECIALS[UNK] if unknown is None else unknown[at]
                if self.kind == "word" and opened:  # an unknown sign is rarer than an unknown word
                    text += " "
            else:
                shown = self._shown[number]
                if not opened:
                    shown = shown.removeprefix(" ")
            opened = True
            hidden = number != UNK and shown.startswith(" ") and shown != " "
            spans.append((len(text) + hidden, len(text) + len(shown)))
            text += shown
        return text, tuple(spans)

    def to_json(self) -> str:
        """The file of the tokenizers library, which other programs read too."""
        return str(self.tokenizer.to_str())

    @staticmethod
    def from_json(text: str, where: str) -> Vocabulary:
        """What `to_json` wrote; `where` is its name in complaints."""
        try:
            kind = _kind(json.loads(text))
            vocabulary = Vocabulary(Tokenizer.from_str(text), kind)
        except Exception as error:  # the library's errors have no type of their own
            reason = str(error).partition("\n")[0]
            raise Fault(f"{where}: is not a vocabulary that regard wrote ({reason})") from None
        if vocabulary.labels[: len(SPECIALS)] != SPECIALS:
            raise Fault(f"{where}: is a vocabulary whose first symbols are not {' '.join(SPECIALS)}")
        return vocabulary


def _visible(text: str, start: int, end: int) -> Span:
    return (start + 1, end) if end - start > 1 and text[start] == " " else (start, end)


def _kind(file: dict[str, Any]) -> Kind:
    kinds: dict[str, Kind] = {"BPE": "bpe", "Unigram": "unigram"}
    model = file["model"]["type"]
    if model in kinds:
        return kinds[model]
    if model != "WordLevel":
        raise ValueError(f"a model of type {model}")
    return "word" if any(step["type"] == "Prepend" for step in file["normalizer"]["normalizers"]) else "char"
