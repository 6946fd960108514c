"""Cut: text → the parts inside which pieces are learned. It does not know how many pieces there will be.

A space becomes ▁, the first letter of the word that follows it, and one more stands before the whole text: so a word
is the same piece at the beginning of a text as inside it, and joining the pieces gives back the exact text. A ▁ that
stands in the text itself becomes a NUL, which is in no vocabulary.
"""

from __future__ import annotations

from typing import Final

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from regard.source.pad import UNK

SPACE: Final = "▁"
NOTHING: Final = "\0"
SPECIALS: Final = ("<pad>", "<s>", "</s>", "<unk>")
UNKNOWN: Final = SPECIALS[UNK]

# A letter is never parted from its marks, and joiners belong to the letters they join.
_LETTER: Final = r"\p{L}\p{M}\x{200c}\x{200d}"

# Words with the apostrophes inside them (which side of it l' and 's belong to is for the learner to find), digits one
# by one, other signs in runs of the same. No part holds more than one of < s >: no text can spell a special.
PIECES: Final = rf"▁?(?:[{_LETTER}]+(?:'[{_LETTER}]+)*|\p{{N}}|([^{_LETTER}\p{{N}}▁])\1*)|▁"
# Words, whole numbers, and every other sign by itself.
WORDS: Final = rf"▁?(?:[{_LETTER}]+|\p{{N}}+|[^{_LETTER}\p{{N}}▁])|▁"
# Code points: a vowel sign is a symbol of its own. Letters with their signs would be thousands of symbols in an Indic
# script, most of them too rare to learn; joining code points gives back the exact text all the same.
CHARACTERS: Final = r"[\s\S]"


def cutter(model: models.Model, parts: str) -> Tokenizer:
    """A tokenizer of that model over those parts of a text."""
    tokenizer = Tokenizer(model)
    steps = [normalizers.Replace(SPACE, NOTHING), normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
    if parts == CHARACTERS:  # no words there, so nothing that should look alike at the beginning and inside
        del steps[1]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(parts), behavior="isolated")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never" if parts == CHARACTERS else "always")
    return tokenizer


def plain(text: str) -> str:
    """Text to learn from: without what is in no vocabulary."""
    return text.replace(SPACE, " ").replace(NOTHING, " ")
