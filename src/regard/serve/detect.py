r"""Detect: $p(\ell \mid x) \propto |V_\ell|^{-n_\ell(x)}$: whose vocabulary spells the text in fewest pieces?

A vocabulary was learned from one language, so its own texts fall into few long pieces and others into many short ones;
what it has no letters for costs most. So any language that a bundle was trained for is known, and no other. Where both
sides share a vocabulary and a script they cannot be told apart, and the confidence says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from regard.source.clean import Cleaner
from regard.source.pad import UNK
from regard.source.vocabulary.core import Vocabulary

READ: Final = 1_000  # characters of a text that are looked at
PRICE: Final = math.log(100_000)  # of a character that a vocabulary does not have
LEAST: Final = 1.0  # per cent below which a language is not named


@final
@dataclass(frozen=True, slots=True)
class Detected:
    """A language and how sure it is, from 0 to 100."""

    language: str
    confidence: float

    def record(self) -> dict[str, object]:
        """As the API has it."""
        return {"confidence": round(self.confidence, 1), "language": self.language}


@final
class Profile:
    """One language by a vocabulary that was learned from it."""

    def __init__(self, language: str, vocabulary: Vocabulary) -> None:
        self.language: Final = language
        self._vocabulary = vocabulary
        self._price = math.log(max(len(vocabulary), 2))

    def price(self, text: str) -> tuple[float, int]:
        """What it costs to spell a clean text, in nats; and how many of its letters cannot be spelt."""
        tokens = self._vocabulary.encode(text)
        price, strange = 0.0, 0
        for number, (start, end) in zip(tokens.ids, tokens.spans, strict=True):
            if number == UNK:
                letters = sum(each.isalpha() for each in text[start:end])
                strange += letters
                price += max(letters, 1) * PRICE
            else:
                price += self._price
        return price, strange


@final
class Detector:
    """All languages of a server; one that several bundles know is spelt by the one that does it best."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        self._profiles = tuple(profiles)
        self._languages = tuple(dict.fromkeys(each.language for each in profiles))
        self._cleaner = Cleaner(("nfc", "space", "control", "width", "quotes", "joiners"))

    def detect(self, texts: Iterable[str]) -> list[Detected]:
        """The likely languages, the likeliest first; never empty. A text without letters is of no known language."""
        text = " ".join(texts)[:READ].encode(errors="replace").decode()
        words = self._cleaner.text("".join(each if each.isalpha() or not each.isalnum() else " " for each in text))
        letters = sum(each.isalpha() for each in words)
        if not letters:
            return [Detected(self._languages[0], 0.0)]
        prices: dict[str, float] = {}
        known: dict[str, float] = {}
        for profile in self._profiles:
            price, strange = profile.price(words)
            if price < prices.get(profile.language, math.inf):
                prices[profile.language], known[profile.language] = price, 1 - strange / letters
        least = min(prices.values())
        shares = {each: math.exp(least - price) for each, price in prices.items()}
        whole = sum(shares.values())
        found = [Detected(each, 100 * known[each] * share / whole) for each, share in shares.items()]
        found.sort(key=lambda each: -each.confidence)
        return [each for each in found if each.confidence >= LEAST] or found[:1]
