r"""Confidence: $p(\text{right}) = \sigma(a \log p(y \mid x) + b\,|y| + c)$, and how far such numbers are from true.

Right means: a person wrote the same words, case and punctuation aside. Under the model itself the chance of exactly
this text is $p(y \mid x)$; label smoothing and a beam bend that number, and three coefficients, fitted to a table that
the model has not learned from, bend it back. They are the bundle's own and stand in its card. The expected calibration
error is that of sentences left out of the fit. It does not know models: it sees log-probabilities and verdicts.

    python -m regard.serve.confidence BUNDLE DEV.tsv      fits, prints the error, writes the card
"""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

from regard.fault import Fault
from regard.whole import whole_text

CARD: Final = "confidence"  # the key of a bundle's card
BINS: Final = 10
FOLDS: Final = 5
FEWEST: Final = 100  # sentences that a fit takes


@final
@dataclass(frozen=True, slots=True)
class Calibration:
    """The coefficients of one bundle."""

    log_prob: float
    pieces: float
    bias: float

    def right(self, log_prob: float, pieces: int) -> float:
        """The probability that a person would have written the same words."""
        return sigmoid(self.log_prob * log_prob + self.pieces * pieces + self.bias)


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A translation of a known sentence, and whether one of its own translations has the same words."""

    log_prob: float
    pieces: int
    right: bool


def known(card: Mapping[str, Any]) -> Calibration | None:
    """What a card says; None where nobody measured it."""
    stored = card.get(CARD)
    if stored is None:
        return None
    try:
        numbers = [float(stored[name]) for name in ("log_prob", "pieces", "bias")]
    except (KeyError, TypeError, ValueError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise Fault(f"the card's {CARD!r} is not three finite numbers, log_prob, pieces and bias")
    return Calibration(*numbers)


def bare(text: str) -> str:
    """The words alone: no case, no punctuation, single spaces."""
    kept = ("" if unicodedata.category(each)[0] in "PC" else each for each in unicodedata.normalize("NFC", text))
    return " ".join("".join(kept).casefold().split())


def fitted(cases: Sequence[Case]) -> Calibration:
    """The coefficients of greatest likelihood, by Newton's method with a breath of ridge."""
    import numpy as np

    rows = np.array([[each.log_prob, each.pieces, 1.0] for each in cases])
    right = np.array([float(each.right) for each in cases])
    scale = np.maximum(np.abs(rows).mean(0), 1e-9)
    rows = rows / scale
    weights = np.zeros(3)
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (chance - right) + 1e-3 * weights
        curve = (rows * (chance * (1 - chance))[:, None]).T @ rows + 1e-3 * np.eye(3)
        step = np.linalg.solve(curve, slope)
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return Calibration(*(weights / scale).tolist())


def error(chances: Sequence[float], right: Sequence[bool], bins: int = BINS) -> float:
    """The expected calibration error (Naeini 2015): in bins of as many cases each, |mean chance - share right|."""
    order = sorted(range(len(chances)), key=lambda at: chances[at])
    total = 0.0
    for number in range(bins):
        some = order[number * len(order) // bins : (number + 1) * len(order) // bins]
        total += abs(sum(chances[at] for at in some) - sum(right[at] for at in some))
    return total / max(len(order), 1)


def left_out(cases: Sequence[Case], folds: int = FOLDS) -> list[float]:
    """The chance of each case by coefficients that were fitted to the other folds."""
    chances = [0.0] * len(cases)
    for fold in range(folds):
        made = fitted([each for at, each in enumerate(cases) if at % folds != fold])
        for at in range(fold, len(cases), folds):
            chances[at] = made.right(cases[at].log_prob, cases[at].pieces)
    return chances


def measured(cases: Sequence[Case]) -> dict[str, Any]:
    """What goes into the card: the fit to all cases, and the error of each case by a fit that left it out."""
    share = sum(each.right for each in cases) / max(len(cases), 1)
    if len(cases) < FEWEST or share in (0.0, 1.0):
        raise Fault(
            f"a fit takes {FEWEST} sentences, some right and some not; here are {len(cases)}, {share:.0%} right"
        )
    found, right = left_out(cases), [each.right for each in cases]
    figures = {"sentences": len(cases), "right": round(share, 4), "error": round(error(found, right), 4)}
    return {name: round(value, 6) for name, value in asdict(fitted(cases)).items()} | figures


def cases(model: Any, table: str) -> list[Case]:
    """Every sentence of a table as the model translates it."""
    from regard.source.report import Report
    from regard.source.table import read

    answers: dict[str, set[str]] = {}
    for pair in read(table, None, Report()):
        answers.setdefault(pair.source, set()).add(bare(pair.target))
    outputs = model.translate(list(answers))
    return [
        Case(each.log_prob, len(each.ids), bare(each.text) in wanted)
        for each, wanted in zip(outputs, answers.values(), strict=True)
        if each.ids and each.finished
    ]


def main(words: Sequence[str]) -> int:
    """Fit a bundle's coefficients to a table it has not learned from."""
    if len(words) != 2:
        sys.stderr.write("usage: python -m regard.serve.confidence BUNDLE DEV.tsv\n")
        return 2
    import regard

    try:
        model = regard.load(words[0])
        card = Path(model.bundle.where) / "regard.json"
        if not card.is_file():
            raise Fault(f"{words[0]}: is no folder; calibrate the folder, then `regard export` makes the zip")
        found = measured(cases(model, words[1]))
        written = json.loads(card.read_text(encoding="utf-8")) | {CARD: found}
        whole_text(card, json.dumps(written, ensure_ascii=False, indent=1) + "\n")
    except Fault as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


def together(chances: Iterable[float | None]) -> float | None:
    """Of several sentences: the share that is to be expected right, which asks for no independence."""
    known_ = list(chances)
    if not known_ or None in known_:
        return None
    return sum(each for each in known_ if each is not None) / len(known_)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
