"""Does a sentence's translation depend on its neighbours? How many outputs change with the batch they are in.

    python benchmarks/alone.py [TABLE.tsv] [--model en-mr] [--sentences 1000]

Every sentence is translated alone, in batches of several sizes, in the opposite order and in a random one, greedily and
with the bundle's beam; each column counts the outputs that differ from those given alone. The same by torch and, where
the bundle has graphs, by ONNX Runtime, whose last column counts the outputs that differ from torch's. It does not
measure quality.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from regard.source.report import Report
from regard.source.table import read
from regard.task import bundle
from regard.task.engine import Name
from regard.task.translation import Wish
from regard.task.translator import Translator

EXAMPLES = Path(__file__).parents[1] / "examples" / "dev.tsv"


def batched(known: Translator, texts: Sequence[str], wish: Wish, size: int) -> list[str]:
    parts = (texts[start : start + size] for start in range(0, len(texts), size))
    return [each.text for part in parts for each in known.translate(list(part), wish)]


def differing(known: Translator, texts: Sequence[str], wish: Wish, alone: dict[str, str]) -> list[int]:
    mixed = random.Random(1).sample(list(texts), len(texts))
    runs = [(texts, 7), (texts, 80), (texts, len(texts)), (texts[::-1], 80), (mixed, 80)]
    return [
        sum(alone[text] != output for text, output in zip(some, batched(known, some, wish, size), strict=True))
        for some, size in runs
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", default=str(EXAMPLES))
    parser.add_argument("--model", default=bundle.DEFAULT)
    parser.add_argument("--sentences", type=int, default=1000)
    asked = parser.parse_args()
    opened = bundle.opened(asked.model)
    texts = list(dict.fromkeys(pair.source for pair in read(asked.table, None, Report())))[: asked.sentences]
    print(f"{len(texts):,} sentences, {asked.model}\n")
    print(
        "| engine | search | batches of 7 | of 80 | all at once | of 80, reversed | of 80, mixed | other than torch's |"
    )
    print("|---|---|---|---|---|---|---|---|")
    torchs: dict[int, dict[str, str]] = {}
    engines: tuple[Name, ...] = ("torch", "onnx") if opened.graphs else ("torch",)
    for engine in engines:
        known = Translator(opened, engine=engine)
        for beam in (1, known.wish.search.beam):
            wish = replace(known.wish, search=replace(known.wish.search, beam=beam))
            alone = dict(zip(texts, batched(known, texts, wish, 1), strict=True))
            first = torchs.setdefault(beam, alone)
            counts = [*differing(known, texts, wish, alone), sum(first[text] != alone[text] for text in texts)]
            print(f"| {engine} | beam {beam} |", " | ".join(map(str, counts)), "|", flush=True)


if __name__ == "__main__":
    main()
