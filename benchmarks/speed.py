"""How much faster one training update is here than in the tutorials' loop of the same sizes, in eager PyTorch.

    python benchmarks/speed.py [--table FILE] [--vocabulary 8000] [--sentences 80] [--updates 3] [--repeat 7]

Both have a bidirectional GRU of 2×128, a GRU decoder of 256, embeddings of 256, additive attention and Adam. The
sentences are as long as those of the table are in subwords, by default examples/pairs.tsv; their ids are random. Both
get the same batches, in turns. It does not measure what else makes training fast or slow: reading, batches of like
length (ours has them, the tutorials do not), checkpoints; nor what is learned, for which see quality.py.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from peers.tutorial import Learning, Student
from quality import machine, today

from regard import config
from regard.model import build
from regard.source.batch import BOS, EOS, Pairs
from regard.source.report import Report
from regard.source.table import read
from regard.source.vocabulary import learn
from regard.train.update import Descent, Precision, Update, narrow

TABLE = Path(__file__).parents[1] / "examples" / "pairs.tsv"
FIRST = EOS + 2  # the first id that is a piece

Way = Callable[[Pairs], object]


def ours(size: int, precision: Precision) -> Way:
    recipe = config.load("bahdanau")
    model = build(recipe.model, size, size, recipe.train).train()
    update = Update(model, Descent(), precision)
    return lambda pairs: update(pairs, 0.5)


def students(size: int) -> Way:
    learning = Learning(Student(size, size).train())
    return lambda pairs: learning.update(pairs.source.ids, pairs.target.ids)


def lengths(table: Path, size: int) -> list[tuple[int, int]]:
    """Of both sides of each pair, in the pieces of vocabularies that are learned from it."""
    pairs = list(read(table, None, Report()))
    source = learn("bpe", size, [pair.source for pair in pairs])
    target = learn("bpe", size, [pair.target for pair in pairs])
    return [(len(source.encode(pair.source).ids), len(target.encode(pair.target).ids)) for pair in pairs]


def batch(known: Sequence[tuple[int, int]], sentences: int, size: int) -> Pairs:
    def ids(length: int) -> list[int]:
        return [random.randrange(FIRST, size) for _ in range(length)]

    chosen = random.choices(known, k=sentences)
    return Pairs.of([[*ids(first), EOS] for first, _ in chosen], [[BOS, *ids(second), EOS] for _, second in chosen])


def speed(way: Way, batches: Sequence[Pairs]) -> float:
    """Target tokens a second; what is padded does not count."""
    began = time.perf_counter()
    for each in batches:
        way(each)
    return sum(each.tokens for each in batches) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    for name, default in (("vocabulary", 8000), ("sentences", 80), ("updates", 3), ("repeat", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    random.seed(1)
    torch.manual_seed(1)
    ways: dict[str, Way] = {"the tutorials' loop, float32": students(asked.vocabulary)}
    ways["Regard, float32"] = ours(asked.vocabulary, "float32")
    if narrow("auto", torch.device("cpu")):
        ways["Regard, bfloat16, as it chooses here"] = ours(asked.vocabulary, "auto")
    known = lengths(asked.table, asked.vocabulary)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(asked.repeat + 1):
        batches = [batch(known, asked.sentences, asked.vocabulary) for _ in range(asked.updates)]
        for name, way in ways.items():
            measured = speed(way, batches)
            if number:  # the first round finds memory and kernels
                found[name].append(measured)
    show(asked, known, found)


def show(asked: argparse.Namespace, known: Sequence[tuple[int, int]], found: dict[str, list[float]]) -> None:
    numbers = " ".join(f"--{name} {getattr(asked, name)}" for name in ("vocabulary", "sentences", "updates", "repeat"))
    longs = [statistics.mean(side) for side in zip(*known, strict=True)]
    first, *_ = found.values()
    print(f"    python benchmarks/speed.py {numbers}\n")
    long = f"{longs[0]:.1f} source and {longs[1]:.1f} target subwords a sentence on average, without their ends"
    print(f"{machine()}, {today()}. {long}.")
    print(f"Medians of {asked.repeat} turns; the ratio is the median of each turn's.\n")
    print("| | target tokens/s | slowest to fastest turn | ratio |\n|---|---|---|---|")
    for name, speeds in found.items():
        ratio = statistics.median(own / other for own, other in zip(speeds, first, strict=True))
        print(f"| {name} | {statistics.median(speeds):,.0f} | {min(speeds):,.0f} to {max(speeds):,.0f} | {ratio:.1f} |")


if __name__ == "__main__":
    main()
