"""Comparing: do two models really differ, and where?

A paired bootstrap (Koehn 2004) scores both on the same resamples of the sentences. It knows no models: it sees texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

import numpy as np

from regard.fault import Fault
from regard.task.measure import Counted, Interval, Measured, by_length, counted
from regard.trace.label import clean

SHOWN: Final = 3  # sentences on each side


@final
@dataclass(frozen=True, slots=True)
class Versus:
    """Two scores. `difference` is b - a, `b_ahead` the share of resamples that b wins, where a tie is half a win.

    `p` is sacreBLEU's `--paired-bs`: of the resamples, how many have a difference that stands out from the mean one
    more than the real one from 0. Two systems that score the same have p = 1 (there, sacreBLEU says 0.001).
    """

    a: float
    b: float
    difference: float
    interval: Interval
    b_ahead: float
    p: float

    @staticmethod
    def of(a: Counted, b: Counted) -> Versus:
        differences = np.array(b.resampled) - np.array(a.resampled)
        real, sizes = b.score - a.score, np.abs(differences)
        beyond = int((sizes - sizes.mean() > abs(real)).sum())
        p = (beyond + 1) / (len(sizes) + 1) if real else 1.0
        ahead = float(np.sign(differences).mean() + 1) / 2
        return Versus(a.score, b.score, real, Interval.of(differences.tolist()), ahead, p)


@final
@dataclass(frozen=True, slots=True)
class VersusLength:
    """The sentences whose source has so many words, and both models' scores."""

    words: str
    sentences: int
    a_bleu: float
    b_bleu: float
    a_chrf: float
    b_chrf: float


@final
@dataclass(frozen=True, slots=True)
class Example:
    """One sentence, what both made of it, and of its translations the one that the better output is nearest to."""

    place: str
    source: str
    a: str
    b: str
    reference: str
    a_chrf: float
    b_chrf: float


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Model a against model b. `a_better` and `b_better` count sentences by their chrF2; the rest are equal."""

    a: str
    b: str
    sentences: int
    bleu: Versus
    signature: str
    chrf: Versus
    chrf_signature: str
    a_better: int
    b_better: int
    by_length: tuple[VersusLength, ...]
    a_best: tuple[Example, ...]
    b_best: tuple[Example, ...]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"A: {clean(self.a)}",
            f"B: {clean(self.b)}",
            "",
            *self._scores(),
            "",
            *self._lengths(),
            *_told("A", self.a_best),
            *_told("B", self.b_best),
            "",
            f"BLEU   {self.signature}",
            f"chrF2  {self.chrf_signature}",
        ]

    def _scores(self) -> Iterator[str]:
        yield f"{'':<9}{'A':>8}{'B':>8}{'B - A':>8}    {'95%':<18}{'p':>7}   B ahead"
        for name, each in (("BLEU", self.bleu), ("chrF2", self.chrf)):
            interval = f"{each.interval.low:+.2f} to {each.interval.high:+.2f}"
            scores = f"{each.a:>8.2f}{each.b:>8.2f}{each.difference:>+8.2f}"
            yield f"{name:<9}{scores}    {interval:<18}{each.p:>7.3f}   {each.b_ahead:.1%} of resamples"
        equal = self.sentences - self.a_better - self.b_better
        yield (
            f"by chrF2, A is better on {self.a_better:,} of {self.sentences:,} sentences, "
            f"B on {self.b_better:,}; {equal:,} are equal"
        )

    def _lengths(self) -> Iterator[str]:
        yield f"{'words':<9}{'sentences':>9}{'BLEU A':>9}{'B':>8}{'B - A':>8}{'chrF2 A':>10}{'B':>8}{'B - A':>8}"
        for each in self.by_length:
            bleu = f"{each.a_bleu:>9.2f}{each.b_bleu:>8.2f}{each.b_bleu - each.a_bleu:>+8.2f}"
            chrf = f"{each.a_chrf:>10.2f}{each.b_chrf:>8.2f}{each.b_chrf - each.a_chrf:>+8.2f}"
            yield f"{each.words:<9}{each.sentences:>9,}{bleu}{chrf}"


def compare(
    a: Sequence[Measured], b: Sequence[Measured], names: tuple[str, str] = ("A", "B"), tokenize: str = "13a"
) -> Comparison:
    """Compare two models' outputs for the same sentences, given in the same order."""
    if [each.references for each in a] != [each.references for each in b]:
        raise Fault("only outputs for the same sentences with the same translations can be compared")
    (a_bleu, a_chrf), (b_bleu, b_chrf) = counted(a, tokenize), counted(b, tokenize)
    gains = list(zip(a_chrf.sentences, b_chrf.sentences, strict=True))
    lengths = (
        VersusLength(words, len(at), a_bleu.part(at), b_bleu.part(at), a_chrf.part(at), b_chrf.part(at))
        for words, at in by_length(a)
    )
    return Comparison(
        a=names[0],
        b=names[1],
        sentences=len(a),
        bleu=Versus.of(a_bleu, b_bleu),
        signature=a_bleu.signature,
        chrf=Versus.of(a_chrf, b_chrf),
        chrf_signature=a_chrf.signature,
        a_better=sum(one > other for one, other in gains),
        b_better=sum(one < other for one, other in gains),
        by_length=tuple(lengths),
        a_best=_most(a, b, [(one - other, one, other) for one, other in gains]),
        b_best=_most(a, b, [(other - one, one, other) for one, other in gains]),
    )


def _most(
    a: Sequence[Measured], b: Sequence[Measured], gains: Sequence[tuple[float, float, float]]
) -> tuple[Example, ...]:
    """The sentences with the highest gain above 0, each as (gain, chrF2 of a, chrF2 of b)."""
    first = sorted((-gain, at) for at, (gain, _, _) in enumerate(gains) if gain > 0)[:SHOWN]
    return tuple(_example(a[at], b[at], *gains[at][1:]) for _, at in first)


def _example(a: Measured, b: Measured, a_chrf: float, b_chrf: float) -> Example:
    from sacrebleu import CHRF

    better, metric = (a if a_chrf > b_chrf else b), CHRF()
    nearest = max(better.references.targets, key=lambda each: metric.sentence_score(better.output, [each]).score)
    return Example(a.references.place, a.references.source, a.output, b.output, nearest, a_chrf, b_chrf)


def _told(name: str, examples: Sequence[Example]) -> Iterator[str]:
    if examples:
        yield from ("", f"where {name} is better by most (chrF2)")
    for each in examples:
        yield clean(f"  {each.place}  {each.source}")
        yield clean(f"    {'reference':<11}{each.reference}")
        yield clean(f"    A {each.a_chrf:>6.2f}   {each.a}")
        yield clean(f"    B {each.b_chrf:>6.2f}   {each.b}")
