"""Translation: one answer of a translator, with what it looked at; and the wish that says how to search for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

from regard.config import Search
from regard.fault import Fault
from regard.search.sample import Draw
from regard.trace import fold
from regard.trace.alignment import Link
from regard.trace.core import Trace

if TYPE_CHECKING:
    from regard.task.translator import Translator


@final
@dataclass(frozen=True, slots=True)
class Wish:
    """How to search. `best` outputs a sentence; with `draw` they are sampled, not searched for by the beam."""

    search: Search = field(default_factory=Search)
    best: int = 1
    draw: Draw | None = None
    prefix: str = ""  # what every output begins with
    room: float = 3.0  # pieces that an output may have for each of its source, and twenty more


@final
@dataclass(frozen=True)
class Translation:
    """A sentence's translation. `score` is the search's, `log_prob` that of the whole text under the model.

    `trace` holds the weights of every layer and head, `alignment` the word links that are read off it. In a notebook it
    draws itself.
    """

    source: str
    text: str
    score: float = 0.0
    log_prob: float = 0.0
    finished: bool = True  # False: cut at the greatest length
    ids: tuple[int, ...] = ()
    alternatives: tuple[Translation, ...] = ()
    translator: Translator | None = field(default=None, repr=False, compare=False)

    @cached_property
    def trace(self) -> Trace:
        return self._by().traces([(self.source, self.ids)])[0]

    @cached_property
    def alignment(self) -> tuple[Link, ...]:
        """Word links, in the order of the translation's words; `words` are the words that they count."""
        return self._by().links(self.trace)

    @property
    def words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of the source and of the translation."""
        folded = fold.words(self.trace, specials=False)
        return folded.source.labels, folded.target.labels

    def _by(self) -> Translator:
        if self.translator is None:
            raise Fault("this text was translated in several parts, or is empty: there is no one trace of it")
        return self.translator

    def _repr_html_(self) -> str:
        from regard.trace.html import fragment

        return fragment(self._by().heatmap(self.trace))
