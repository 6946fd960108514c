"""Translator: sentences → translations, each with what it looked at. It holds a bundle and knows how to use it.

A sentence's translation does not depend on its neighbours: batches are formed by length and change nothing. Who does
the arithmetic is the engine's to know.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar, final, overload

from regard.fault import Fault
from regard.search.beam import beam
from regard.search.core import Hypothesis
from regard.search.rule import Never, NoLoop, NoRepeat, Rule
from regard.search.sample import sample
from regard.source.clean import Cleaned, Cleaner
from regard.source.pad import BOS, PAD, UNK
from regard.source.vocabulary.core import Tokens
from regard.task import engine as engines
from regard.task.bundle import Bundle, Opened
from regard.task.engine import Engine, Name
from regard.task.reading import head, labelled, large, replacements
from regard.task.translation import Translation, Wish
from regard.trace import fold
from regard.trace.alignment import Link, links
from regard.trace.core import Axis, Trace

if TYPE_CHECKING:
    import torch

    from regard.model import Model
    from regard.trace.terminal import Heatmap

T = TypeVar("T")
R = TypeVar("R")
CHARACTERS: Final = 20_000  # of a line that are read
CELLS: Final = 16_000  # hypotheses × source pieces that are decoded at once
WORD: Final = 1000  # characters; what is longer, without a space, is no word of any language
SENTENCE_END: Final = re.compile(r"(?<=[.!?।॥…])\s+|(?<=[。！？])\s*")
_RUN: Final = re.compile(rf"(\S{{{WORD + 1},}})")


@final
class Translator:
    """A bundle in use. One that was loaded with its model runs in torch, on the GPU where there is one."""

    def __init__(self, made: Bundle | Opened, device: torch.device | str | None = None, engine: Name = "auto") -> None:
        self.bundle: Final = made
        self.cleaner: Final = Cleaner(made.recipe.data.clean)
        self.engine: Final[Engine] = _engine(made, device, engine)

    @property
    def model(self) -> Model:
        """The model, where torch runs it."""
        from regard.task.eager import Eager

        if not isinstance(self.engine, Eager):
            raise Fault(f"{self.bundle.where}: runs in graphs here and has no model; load it with engine='torch'")
        return self.engine.model

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

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
        found = self.engine.read([(tokens.ids, ids) for (_, tokens), (_, ids) in zip(cut, pairs, strict=True)])
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
        source, ids = self.pieces(text), self.forced(target)
        if large(source, ids):
            raise Fault("these texts are too long to be looked at together; give a sentence and its translation")
        log_prob = sum(self.engine.scores(source, ids))
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
        from regard.trace.choice import chosen

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
        rows = [self.pieces(text) for text in texts]
        found: list[Translation | None] = [None] * len(texts)
        width = wish.best if wish.draw else max(wish.search.beam, wish.best)
        parts = list(batches([len(row) + 1 for row in rows], min(CELLS, self.engine.cells) // width))

        def searched(some: list[int]) -> list[list[Hypothesis]]:
            return self._search([rows[at] for at in some], [texts[at] for at in some], wish)

        for some, outputs in zip(parts, _mapped(searched, parts, self.engine.threads), strict=True):
            for at, best in zip(some, outputs, strict=True):
                first, *others = (self._spelt(texts[at], one, wish) for one in best)
                found[at] = replace(first, alternatives=tuple(others))
        return [each for each in found if each is not None]

    def _search(self, rows: Sequence[Sequence[int]], texts: Sequence[str], wish: Wish) -> list[list[Hypothesis]]:
        prefix = self.forced(wish.prefix)
        # of each sentence alone, its end counted
        most = [int(wish.room * (len(row) + 1)) + 20 + len(prefix) for row in rows]
        steps, state, limits = self.engine.begin(rows, most, wish.search.coverage)
        prefixes = [prefix] * len(texts) if prefix else None
        length, rules = wish.search.length, self.rules(wish)
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


def _engine(made: Bundle | Opened, device: torch.device | str | None, asked: Name) -> Engine:
    if isinstance(made, Opened):
        return engines.chosen(made, asked)
    from regard.task.eager import Eager

    return Eager(made.model, device)


def _mapped(function: Callable[[T], R], parts: Sequence[T], threads: int) -> Iterator[R]:
    """In threads where that helps; in order."""
    if threads == 1 or len(parts) < 2:
        yield from map(function, parts)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        yield from pool.map(function, parts)


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
