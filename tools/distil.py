"""Distil: what several models make of a table's own sentences, put beside the table, for one model to learn from.

    python tools/distil.py PAIRS.tsv --forward A B C --backward D E --out MORE.tsv
    python tools/distil.py PAIRS.tsv --forward F G --backward D E --draws 2 --beside MORE.tsv --out MOST.tsv

Models of the table's direction translate its sentences, each alone and all together as one ensemble; models of the
other direction translate its translations, which makes new sentences, and these go through the ensemble as well
(Kim & Rush 2016, sequence-level distillation; Sennrich 2016, back-translation; Nguyen 2020, data diversification). So
do, with `--draws`, sentences that those models draw by their probability. The table's own pairs stand in the result
`--own` times, everything else once. It does not know whether a translation is right.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from regard.model import Steps
from regard.search.beam import beam
from regard.search.sample import Draw
from regard.source.batch import EOS, Padded
from regard.source.report import Report
from regard.source.table import read
from regard.task import bundle
from regard.task.translator import Translator

BEAM, ROWS = 5, 2048  # hypotheses that are decoded at once
NAMES = 3  # that are made up for each pair with a name
# of a syllable; what stands twice is twice as likely, and a blank is nothing
STARTS = " b b bh br c ch d dh f g gr h h j j k k kh kr l l m m n n p p ph pr r r s s sh shr st sw t t th tr v v w y z"
VOWELS = "a a a a a a e e e e i i i i o o u u u aa ai ee ia io oo y"
ENDS = "                       ck d k l ll m n n n ng nd nk r r s s sh t th x"
SYLLABLE = STARTS, VOWELS, ENDS

Pair = tuple[str, str]


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


def drawn(translator: Translator, texts: Sequence[str], count: int) -> list[str]:
    """Not the best translations but `count` likely ones of each: more than one way to say a thing."""
    wish = replace(translator.wish, best=count, draw=Draw(temperature=0.8))
    return [one.text for each in translator.translate(texts, wish) for one in (each, *each.alternatives)]


def renamed(pairs: Sequence[Pair], names: Sequence[str]) -> list[Pair]:
    """Pairs with a name that both sides have, such as Tom=टॉम, once more with a made-up name that goes over as it is
    written: what no table can hold all of, a model can learn to copy.
    """
    draw = random.Random(1)
    made = []
    for name in names:
        ours, _, theirs = name.partition("=")
        here, there = re.compile(rf"\b{re.escape(ours)}\b"), re.compile(rf"(?<!\w){re.escape(theirs)}")
        for source, target in pairs:
            if len(here.findall(source)) == len(there.findall(target)) == 1:
                for new in (invented(draw) for _ in range(NAMES)):
                    made.append((here.sub(new, source), there.sub(new, target)))
    return made


def invented(draw: random.Random) -> str:
    """A name of one to three syllables."""
    parts = [draw.choice(each.split(" ")) for _ in range(draw.choice([1, 2, 2, 2, 3, 3])) for each in SYLLABLE]
    return "".join(parts).capitalize()


def augmented(asked: argparse.Namespace) -> list[Pair]:
    pairs = [(pair.source, pair.target) for pair in read(asked.table, None, Report())]
    sources, targets = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
    made: list[Pair] = [(pair.source, pair.target) for path in asked.beside for pair in read(path, None, Report())]
    fresh = list(sources)
    for path in asked.backward:
        translator = Translator(bundle.load(path))
        back = alone(translator, targets)
        made += zip(back, targets, strict=True)
        fresh += back
        fresh += drawn(translator, targets, asked.draws) if asked.draws else []
        tell(f"{path}: {len(targets):,} sentences made, and {asked.draws} drawn of each")
    teachers = [Translator(bundle.load(path)) for path in asked.forward]
    for path, teacher in zip(asked.forward, teachers, strict=True):
        made += zip(sources, alone(teacher, sources), strict=True)
        tell(f"{path}: {len(sources):,} translations")
    fresh = [text for text in dict.fromkeys(fresh) if text]
    made += zip(fresh, together(teachers, fresh), strict=True)
    tell(f"all together: {len(fresh):,} translations")
    made += renamed(pairs, asked.names)
    own = set(pairs)
    return [*pairs * asked.own, *(pair for pair in dict.fromkeys(made) if all(pair) and pair not in own)]


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("table", type=Path)
    add("--forward", type=Path, nargs="+", required=True, help="models of the table's direction, with one vocabulary")
    add("--backward", type=Path, nargs="*", default=[], help="models of the other direction")
    add("--beside", type=Path, nargs="*", default=[], help="tables made before, which go in as well")
    add("--draws", type=int, default=0, help="how many sentences each of them draws for one of the table [0]")
    add("--names", nargs="*", default=[], metavar="OURS=THEIRS", help="a name to put made-up names for, as Tom=टॉम")
    add("--own", type=int, default=2, help="how often the table's own pairs stand in the result [2]")
    add("--out", type=Path, required=True)
    asked = parser.parse_args()
    pairs = augmented(asked)
    rows = ("\t".join(" ".join(side.split()) for side in pair) + "\n" for pair in pairs)
    asked.out.write_text("".join(rows), encoding="utf-8")
    tell(f"{asked.out}: {len(pairs):,} pairs")


if __name__ == "__main__":
    main()
