"""Measuring: BLEU, chrF2 and more of outputs against every translation that a table has of a sentence.

Both scores are functions of counts that add up over sentences, so any part of the sentences and any bootstrap resample
is scored from sums, by sacreBLEU's own functions. It does not know models: it sees texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from regard.fault import Fault
from regard.source.table import References

RESAMPLES: Final = 1000
SEED: Final = 12345  # sacreBLEU's, so that the intervals are those of its own command
FIRST: Final = 5  # places that are named
STARTS: Final = (1, 6, 11, 16, 21)  # of the ranges of source length, in words
TOKENIZERS: Final = ("13a", "intl", "char", "zh", "none")  # sacreBLEU's, but for those that ask for a download


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """A sentence with all its translations, and what a model made of it."""

    references: References
    output: str


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """95% of the bootstrap resamples lie from `low` to `high` (Koehn 2004)."""

    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Interval:
        """A fortieth is cut off at either end, as in sacreBLEU."""
        ordered, cut = sorted(values), len(values) // 40
        return Interval(ordered[cut], ordered[-1 - cut])


@final
class Counted:
    """The counts that a score is made of, one row a sentence, and sacreBLEU's function from their sums to the score."""

    def __init__(self, metric: Any, items: Sequence[Measured]) -> None:
        # Sentences have different numbers of references: sacreBLEU leaves out those that are None.
        streams = list(zip_longest(*(item.references.targets for item in items)))
        # Its public functions give no counts per sentence; its own significance tests read them here as well.
        rows = metric._extract_corpus_statistics([item.output for item in items], streams)
        self._metric = metric
        self._rows: NDArray[np.int64] = np.array(rows, dtype=np.int64)
        self.whole: Any = metric._compute_score_from_stats(self._rows.sum(0).tolist())
        self.score = float(self.whole.score)
        self.signature = str(metric.get_signature())

    @cached_property
    def resampled(self) -> list[float]:
        """The score of each bootstrap resample; two systems counted on the same sentences are resampled alike."""
        random, size = np.random.default_rng(SEED), len(self._rows)
        times = (np.bincount(random.choice(size, size), minlength=size) for _ in range(RESAMPLES))
        return [self._of(each @ self._rows) for each in times]

    @property
    def sentences(self) -> list[float]:
        """The score of each sentence alone."""
        return [self._of(row) for row in self._rows]

    def part(self, at: Sequence[int]) -> float:
        """The score of some of the sentences."""
        return self._of(self._rows[list(at)].sum(0))

    def _of(self, sums: NDArray[np.int64]) -> float:
        return float(self._metric._compute_score_from_stats(sums.tolist()).score)


@final
@dataclass(frozen=True, slots=True)
class Length:
    """The sentences whose source has so many words, and their scores."""

    words: str
    sentences: int
    bleu: float
    chrf: float


@final
@dataclass(frozen=True, slots=True)
class Evaluation:
    """How good the outputs are. Scores go from 0 to 100; `exact` is the share of outputs that are a reference."""

    sentences: int
    bleu: float
    bleu_interval: Interval
    signature: str
    chrf: float
    chrf_interval: Interval
    chrf_signature: str
    exact: float
    length_ratio: float
    loops: int
    loops_first: tuple[str, ...]
    by_length: tuple[Length, ...]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        about = asdict(self)
        about["intervals"] = {name: about.pop(f"{name}_interval") for name in ("bleu", "chrf")}
        return about

    def lines(self) -> list[str]:
        """For people."""
        return [*self._scores(), "", *self._lengths(), "", f"BLEU   {self.signature}", f"chrF2  {self.chrf_signature}"]

    def _scores(self) -> Iterator[str]:
        for name, score, interval in (
            ("BLEU", self.bleu, self.bleu_interval),
            ("chrF2", self.chrf, self.chrf_interval),
        ):
            yield f"{name:<9}{score:6.2f}    95%: {interval.low:.2f} to {interval.high:.2f}"
        yield f"{'exact':<9}{self.exact:6.1%}    of {self.sentences:,} sentences"
        yield f"{'length':<9}{self.length_ratio:6.2f}    of the references'"
        first = f"    first: {', '.join(self.loops_first)}" if self.loops else ""
        yield f"{'loops':<9}{self.loops:>6,}{first}"

    def _lengths(self) -> Iterator[str]:
        yield f"{'words':<9}{'sentences':>9}{'BLEU':>9}{'chrF2':>9}"
        for each in self.by_length:
            yield f"{each.words:<9}{each.sentences:>9,}{each.bleu:>9.2f}{each.chrf:>9.2f}"


def evaluate(items: Sequence[Measured], tokenize: str = "13a") -> Evaluation:
    """Measure the outputs of one model. `tokenize` is sacreBLEU's name of how BLEU finds words."""
    bleu, chrf = counted(items, tokenize)
    loops = [item.references.place for item in items if looped(item.output.split())]
    return Evaluation(
        sentences=len(items),
        bleu=bleu.score,
        bleu_interval=Interval.of(bleu.resampled),
        signature=bleu.signature,
        chrf=chrf.score,
        chrf_interval=Interval.of(chrf.resampled),
        chrf_signature=chrf.signature,
        exact=sum(item.output in item.references.targets for item in items) / len(items),
        length_ratio=float(bleu.whole.ratio),
        loops=len(loops),
        loops_first=tuple(loops[:FIRST]),
        by_length=tuple(Length(words, len(at), bleu.part(at), chrf.part(at)) for words, at in by_length(items)),
    )


def counted(items: Sequence[Measured], tokenize: str = "13a") -> tuple[Counted, Counted]:
    """What BLEU and chrF2 are made of."""
    from sacrebleu import BLEU, CHRF

    if not items:
        raise Fault("there are no sentences to measure")
    if tokenize not in TOKENIZERS:
        raise Fault(f"BLEU does not find words by {tokenize!r}; it does by {', '.join(TOKENIZERS)}")
    # `force` takes nothing but a warning away, about outputs that end in " .".
    return Counted(BLEU(tokenize=tokenize, force=True), items), Counted(CHRF(), items)


def by_length(items: Sequence[Measured]) -> list[tuple[str, list[int]]]:
    """The numbers of the sentences by words of source, shortest first; ranges without a sentence are left out."""
    found = []
    for start, after in pairwise((*STARTS, math.inf)):
        least = 0 if start == STARTS[0] else start
        at = [number for number, item in enumerate(items) if least <= len(item.references.source.split()) < after]
        if at:
            found.append((f"{start}+" if after == math.inf else f"{start}-{after - 1:.0f}", at))
    return found


def looped(words: Sequence[str], longest: int = 12, times: int = 3, span: int = 6) -> bool:
    """Whether a phrase of up to `longest` words stands `times` in a row, in a run of at least `span` words.

    What `search.rule.NoLoop` forbids of symbols, asked of words.
    """
    for size in range(1, longest + 1):
        needed = size * (max(times, math.ceil(span / size)) - 1)  # words in a row that equal the one `size` before
        equal = 0
        for before, word in zip(words, words[size:], strict=False):
            equal = equal + 1 if word == before else 0
            if equal == needed:
                return True
    return False
