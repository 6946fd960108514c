"""Translator: sentences → translations, each with what it looked at. It holds a bundle and knows how to use it.

A sentence's translation does not depend on its neighbours: batches are formed by length and change nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Final, final, overload

import torch

from regard.fault import Fault
from regard.model import Steps
from regard.search.beam import beam
from regard.search.core import Hypothesis
from regard.search.rule import Never, NoLoop, NoRepeat, Rule
from regard.search.sample import sample
from regard.source.batch import BOS, EOS, PAD, UNK, Padded, Pairs
from regard.source.clean import Cleaned, Cleaner
from regard.source.vocabulary import Tokens
from regard.task.bundle import Bundle
from regard.task.reading import head, labelled, large, read, replacements
from regard.task.translation import Translation, Wish
from regard.trace import fold
from regard.trace.alignment import Link, links
from regard.trace.choice import chosen
from regard.trace.core import Axis, Trace
from regard.trace.terminal import Heatmap

CHARACTERS: Final = 20_000  # of a line that are read
CELLS: Final = 16_000  # hypotheses × source pieces that are decoded at once
WORD: Final = 1000  # characters; what is longer, without a space, is no word of any language
SENTENCE_END: Final = re.compile(r"(?<=[.!?।॥…])\s+|(?<=[。！？])\s*")
_RUN: Final = re.compile(rf"(\S{{{WORD + 1},}})")


@final
class Translator:
    """A bundle in use. It runs on the GPU where there is one."""

    def __init__(self, made: Bundle, device: torch.device | str | None = None) -> None:
        self.bundle: Final = made
        self.device: Final = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.model: Final = made.model.to(self.device).eval()
        self.cleaner: Final = Cleaner(made.recipe.data.clean)

    @property
    def wish(self) -> Wish:
        """What the bundle's recipe says of searching."""
        return Wish(self.bundle.recipe.search)

    @overload  # a string is a sequence of strings too, and its own case comes first
    def translate(self, texts: str, wish: Wish | None = None) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, texts: Sequence[str], wish: Wish | None = None) -> list[Translation]: ...

    def translate(self, texts: str | Sequence[str], wish: Wish | None = None) -> Translation | list[Translation]:
        """One translation for a text; for a list, a list in the same order."""
        wish = wish or self.wish
        if isinstance(texts, str):
            return self._all([texts], wish)[0]
        return self._all(list(texts), wish)

    def traces(self, pairs: Sequence[tuple[str, Sequence[int]]]) -> list[Trace]:
        """What was looked at while these ids were written from these texts."""
        cut = [self._cut(text) for text, _ in pairs]
        found = read(self.model, [(tokens.ids, ids) for (_, tokens), (_, ids) in zip(cut, pairs, strict=True)])
        target = self.bundle.target
        return [
            labelled(text, cleaned, tokens, target, ids, readings)
            for (text, ids), (cleaned, tokens), readings in zip(pairs, cut, found, strict=True)
        ]

    @property
    def looks(self) -> bool:
        """Has the model an attention on the source, which links and pictures are read off?"""
        return bool(self.traces([("", ())])[0].of())

    def pieces(self, text: str) -> tuple[int, ...]:
        """The ids of a source text."""
        return self._cut(text)[1].ids

    def forced(self, text: str) -> tuple[int, ...]:
        """The ids of a translation that somebody gives."""
        return self.bundle.target.encode(self.cleaner.text(_read(text))).ids

    def given(self, text: str, target: str) -> Translation:
        """A translation that somebody gives, with what the model thinks of it."""
        ids = self.forced(target)
        if large(self._cut(text)[1].ids, ids):
            raise Fault("these texts are too long to be looked at together; give a sentence and its translation")
        pairs = Pairs.of([[*self._cut(text)[1].ids, EOS]], [[BOS, *ids, EOS]]).to(self.device)
        with torch.inference_mode():
            scores = self.model.scores(pairs)[0]
        log_prob = float(scores.gather(-1, pairs.target.ids[0, 1:, None]).sum())
        score = log_prob / (len(ids) + 1) ** self.wish.search.length
        return Translation(text, self.bundle.target.decode(ids), score, log_prob, ids=ids, translator=self)

    def links(self, trace: Trace) -> tuple[Link, ...]:
        """Word links, counted over the words of both sides; none in a model without attention."""
        folded = fold.words(trace)
        if not folded.of():
            return ()
        source, target = _numbers(folded.source), _numbers(folded.target)
        found = links(folded.heat(*self.choice(folded)), folded.source, folded.target)
        return tuple(
            replace(each, source=None if each.source is None else source[each.source], target=target[each.target])
            for each in found
        )

    def heatmap(self, trace: Trace, reader: str | None = None, head: int | None = None) -> Heatmap:
        """One matrix over words, ready to be drawn; that of the links where none is asked for."""
        folded = fold.words(trace)
        if reader is None and head is None:
            reader, head = self.choice(folded)
        return chosen(folded, reader, head)

    def choice(self, trace: Trace) -> tuple[str | None, int | None]:
        """The reader and head that links are read from."""
        return head(trace, self.bundle.about.get("choice"))

    def _cut(self, text: str) -> tuple[Cleaned, Tokens]:
        cleaned = self.cleaner.clean(_read(text))
        return cleaned, self.bundle.source.encode(cleaned.text)

    def _all(self, texts: list[str], wish: Wish) -> list[Translation]:
        """Long texts go in parts, which are put together again; the same part is decoded once."""
        parts = [self._parts(text) for text in texts]
        first = self._done([each[0] for each in parts if each], wish)
        later = self._done([part for each in parts for part in each[1:]], replace(wish, prefix=""))
        return [
            _whole(text, [(later if at else first)[part] for at, part in enumerate(each)])
            for text, each in zip(texts, parts, strict=True)
        ]

    def _done(self, parts: Sequence[str], wish: Wish) -> dict[str, Translation]:
        """Each part once. What is no language is carried over as it stands."""
        fresh = [part for part in dict.fromkeys(parts) if not _strange(part)]
        done = {part: Translation(part, part) for part in parts if _strange(part)}
        return done | dict(zip(fresh, self._decoded(fresh, wish), strict=True))

    def _parts(self, text: str) -> list[str]:
        """The text itself or, where it has more pieces than the model was trained on, its sentences, else its words."""
        most = self.bundle.recipe.data.longest
        cut = self._cut(text)[1].ids
        if len(cut) <= most and len(text) <= CHARACTERS:
            return [text] if cut else []
        parts: list[str] = []
        for run in _RUN.split(text[:CHARACTERS]):
            for sentence in [run] if _strange(run) else SENTENCE_END.split(run):
                parts += self._pieces(sentence, most)
        return [part for part in parts if self._cut(part)[1].ids]

    def _pieces(self, sentence: str, most: int) -> Iterator[str]:
        """As many words at a time as have `most` pieces; of a text without spaces, as many letters."""
        rest = sentence.strip()
        while not _strange(rest):
            cleaned, tokens = self._cut(rest)
            if len(tokens.ids) <= most:
                break
            end = max(cleaned.span(*tokens.spans[most - 1])[1], 1)
            space = max(rest.rfind(space, 1, end + 1) for space in (" ", "\t"))
            if space > end // 2:
                end = space
            while end > 1 and unicodedata.category(rest[end : end + 1] or " ")[0] == "M":  # a sign stays at its letter
                end -= 1
            yield rest[:end]
            rest = rest[end:].lstrip()
        yield rest

    def _decoded(self, texts: Sequence[str], wish: Wish) -> list[Translation]:
        rows = [self._cut(text)[1].ids for text in texts]
        found: list[Translation | None] = [None] * len(texts)
        width = wish.best if wish.draw else max(wish.search.beam, wish.best)
        for some in batches([len(row) + 1 for row in rows], CELLS // width):
            source = Padded.of([[*rows[at], EOS] for at in some]).to(self.device)
            for at, best in zip(some, self._search(source, [texts[at] for at in some], wish), strict=True):
                first, *others = (self._spelt(texts[at], one, wish) for one in best)
                found[at] = replace(first, alternatives=tuple(others))
        return [each for each in found if each is not None]

    @torch.inference_mode()
    def _search(self, source: Padded, texts: Sequence[str], wish: Wish) -> list[list[Hypothesis]]:
        steps = Steps([self.model], coverage=wish.search.coverage)
        prefix = self.forced(wish.prefix)
        limits = (wish.room * source.mask.sum(-1)).long() + 20 + len(prefix)  # of each sentence alone
        prefixes = [prefix] * len(texts) if prefix else None
        length, rules = wish.search.length, self.rules(wish)
        state = steps.start(source)
        if wish.draw is not None:
            return sample(
                steps, state, limits, list(map(_number, texts)), wish.best, wish.draw, length, rules, prefixes
            )
        width = max(wish.search.beam, wish.best)
        return beam(steps, state, limits, width, wish.best, length, rules, prefixes)

    def rules(self, wish: Wish) -> list[Rule]:
        """What the wish forbids an output, for any search that is asked instead of this one."""
        # Only a vocabulary of words learns when <unk> is right: the source word then takes its place.
        never = [PAD, BOS] if self.bundle.target.kind == "word" else [PAD, BOS, UNK]
        rules: list[Rule] = [Never(never)]
        if wish.search.no_loops:
            rules.append(NoLoop())
        if wish.search.no_repeat:
            rules.append(NoRepeat(wish.search.no_repeat))
        return rules

    def _spelt(self, source: str, found: Hypothesis, wish: Wish) -> Translation:
        text = self.bundle.target.decode(found.ids)
        if wish.search.replace_unknown and UNK in found.ids:
            trace = self.traces([(source, found.ids)])[0]
            if trace.of():
                words = replacements(trace, found.ids, self.choice(trace))
                text, _ = self.bundle.target.spell(found.ids, words)
        return Translation(source, text, found.score, found.log_prob, found.finished, found.ids, translator=self)


def batches(lengths: Sequence[int], cells: int) -> Iterator[list[int]]:
    """Rows of about the same length together, the longest first."""
    order = iter(sorted(range(len(lengths)), key=lambda at: -lengths[at]))
    for first in order:
        yield [first, *islice(order, max(1, cells // max(lengths[first], 1)) - 1)]


def _read(text: str) -> str:
    """As much of a text as is read. Half characters, as a broken file name has them, are in no vocabulary."""
    return text[:CHARACTERS].encode(errors="replace").decode()


def _strange(text: str) -> bool:
    """Is it no word, but the letters of a file or of an address? Scripts without spaces have long runs of their own."""
    return len(text) > WORD and _RUN.fullmatch(text) is not None and not any(map(_unspaced, text[:WORD]))


def _unspaced(letter: str) -> bool:
    return unicodedata.name(letter, "").partition(" ")[0] in fold.UNSPACED


def _whole(text: str, parts: Sequence[Translation]) -> Translation:
    if len(parts) == 1 and len(text) <= CHARACTERS:
        return replace(parts[0], source=text)
    return Translation(
        text,
        " ".join(part.text for part in parts),
        sum((part.score for part in parts), 0.0),
        sum((part.log_prob for part in parts), 0.0),
        len(text) <= CHARACTERS and all(part.finished for part in parts),
    )


def _number(text: str) -> int:
    """What names a sentence to the random generator: its text, so that neighbours do not matter."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=7).digest(), "little")


def _numbers(axis: Axis) -> list[int]:
    """For each label, how many words stand before it: labels of no character (`</s>`) are not counted."""
    spans = axis.spans or tuple((at, at + 1) for at in range(len(axis)))
    counted, numbers = 0, []
    for start, end in spans:
        numbers.append(counted)
        counted += end > start
    return numbers
