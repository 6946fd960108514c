"""Distil: what several models make of a table's own sentences, put beside the table, for one model to learn from.

    python tools/distil.py PAIRS.tsv --forward A B C --backward D E --out MORE.tsv

Models of the table's direction translate its sentences, each alone and all together as one ensemble; models of the
other direction translate its translations, which makes new sentences, and these go through the ensemble as well
(Kim & Rush 2016, sequence-level distillation; Sennrich 2016, back-translation; Nguyen 2020, data diversification). The
table's own pairs stand in the result twice, everything else once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from regard.model import Steps
from regard.search.beam import beam
from regard.source.batch import EOS, Padded
from regard.source.report import Report
from regard.source.table import read
from regard.task import bundle
from regard.task.translator import Translator

BEAM, ROWS = 5, 2048  # hypotheses that are decoded at once


def alone(translator: Translator, texts: Sequence[str]) -> list[str]:
    return [each.text for each in translator.translate(texts)]


@torch.inference_mode()
def together(translators: Sequence[Translator], texts: Sequence[str]) -> list[str]:
    """By the mean of the models' probabilities: they must share their vocabularies."""
    first = translators[0]
    if len({(each.bundle.source.to_json(), each.bundle.target.to_json()) for each in translators}) > 1:
        raise SystemExit("an ensemble needs models with the same vocabularies: train them on the same table")
    rows = first.bundle.source.encode_all([first.cleaner.text(text) for text in texts])
    order = sorted(range(len(texts)), key=lambda at: len(rows[at]))
    steps = Steps([each.model for each in translators])
    wish = first.wish
    found = [""] * len(texts)
    for start in range(0, len(order), ROWS // BEAM):
        some = order[start : start + ROWS // BEAM]
        source = Padded.of([[*rows[at], EOS] for at in some]).to(first.device)
        limits = 3 * source.mask.sum(-1) + 20
        best = beam(steps, steps.start(source), limits, BEAM, length=wish.search.length, rules=first.rules(wish))
        for at, (hypothesis, *_) in zip(some, best, strict=True):
            found[at] = first.bundle.target.decode(hypothesis.ids)
    return found


def augmented(table: Path, forward: Sequence[Path], backward: Sequence[Path]) -> list[tuple[str, str]]:
    pairs = [(pair.source, pair.target) for pair in read(table, None, Report())]
    sources, targets = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
    made: list[tuple[str, str]] = []
    fresh = list(sources)
    for path in backward:
        back = alone(Translator(bundle.load(path)), targets)
        made += zip(back, targets, strict=True)
        fresh += back
        print(f"{path}: {len(targets):,} sentences made", file=sys.stderr, flush=True)
    teachers = [Translator(bundle.load(path)) for path in forward]
    for path, teacher in zip(forward, teachers, strict=True):
        made += zip(sources, alone(teacher, sources), strict=True)
        print(f"{path}: {len(sources):,} translations", file=sys.stderr, flush=True)
    fresh = [text for text in dict.fromkeys(fresh) if text]
    made += zip(fresh, together(teachers, fresh), strict=True)
    print(f"all together: {len(fresh):,} translations", file=sys.stderr, flush=True)
    own = set(pairs)
    new = [pair for pair in dict.fromkeys(made) if all(pair) and pair not in own]
    return [*pairs, *pairs, *new]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--forward", type=Path, nargs="+", required=True)
    parser.add_argument("--backward", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    pairs = augmented(asked.table, asked.forward, asked.backward)
    lines = ("\t".join(" ".join(side.split()) for side in pair) + "\n" for pair in pairs)
    asked.out.write_text("".join(lines), encoding="utf-8")
    print(f"{asked.out}: {len(pairs):,} pairs", file=sys.stderr)


if __name__ == "__main__":
    main()
