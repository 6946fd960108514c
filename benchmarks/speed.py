"""How fast one training update is here: ours beside eole, JoeyNMT and the tutorials' loop, of like sizes, in one run.

    python benchmarks/speed.py [--table FILE] [--threads 2] [--only regard tutorial eole joeynmt] [--out FILE]

All have a bidirectional GRU of 2×128, a GRU decoder of 256, embeddings of 256 and additive attention, learn with Adam
and read the same sentences, by default those of examples/pairs.tsv, in the same pieces, so many sentences a batch.
They take turns. Regard and the tutorials' loop get the same batches, of sentences of like length; putting a batch
together is counted, reading the table is not, and for Regard the moving average of its weights is. The toolkits tell
their speed themselves, made of the same tokens: the target's pieces and its end, without padding; their first report is
left out. eole is taken in float32, as it begins, and in bfloat16. What is learned is not measured; for that see
quality.py and same.py.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from peers import eole, joeynmt, paced
from peers.trial import Failed
from peers.tutorial import Learning, Student
from quality import machine, today

from regard import config
from regard.model import build
from regard.source.batch import BOS, EOS, Pairs
from regard.source.report import Report
from regard.source.table import read
from regard.source.vocabulary import learn
from regard.train.average import Averaging
from regard.train.update import Descent, Precision, Update, narrow

TABLE = Path(__file__).parents[1] / "examples" / "pairs.tsv"
POOL = 60  # batches whose sentences are sorted together

Rows = list[tuple[list[int], list[int]]]
Way = Callable[[Sequence[Rows]], float]
"""Target tokens a second."""


def ours(size: int, precision: Precision) -> Way:
    recipe = config.load("bahdanau")
    model = build(recipe.model, size, size, recipe.train).train()
    update, average = Update(model, Descent(), precision), Averaging().of(model)

    def one(pairs: Pairs) -> None:
        update(pairs, 0.5)
        average.update()

    return lambda batches: timed(one, batches)


def students(size: int) -> Way:
    learning = Learning(Student(size, size).train())
    return lambda batches: timed(lambda pairs: learning.update(pairs.source.ids, pairs.target.ids), batches)


def timed(one: Callable[[Pairs], object], batches: Sequence[Rows]) -> float:
    tokens, began = 0, time.perf_counter()
    for rows in batches:
        pairs = Pairs.of([[*first, EOS] for first, _ in rows], [[BOS, *second, EOS] for _, second in rows])
        one(pairs)
        tokens += pairs.tokens
    return tokens / (time.perf_counter() - began)


def cut(table: Path, size: int) -> Rows:
    """Both sides of each pair, in pieces of vocabularies that are learned from it."""
    pairs = list(read(table, None, Report()))
    source = learn("bpe", size, [pair.source for pair in pairs])
    target = learn("bpe", size, [pair.target for pair in pairs])
    return [(list(source.encode(pair.source).ids), list(target.encode(pair.target).ids)) for pair in pairs]


def batches(rows: Rows, sentences: int) -> Iterator[Rows]:
    """Without end, each of sentences of about the same length."""
    while True:
        pool = sorted(random.choices(rows, k=POOL * sentences), key=lambda row: (len(row[1]), len(row[0])))
        made = [pool[first : first + sentences] for first in range(0, len(pool), sentences)]
        random.shuffle(made)
        yield from made


def ways(asked: argparse.Namespace, rows: Rows) -> dict[str, Way]:
    """By their names in the table."""
    size, found = asked.vocabulary, dict[str, Way]()
    fast = narrow("auto", torch.device("cpu"))
    sizes = paced.Sizes(size, asked.sentences, torch.get_num_threads())
    if "regard" in asked.only:
        if fast:
            found["Regard, bfloat16, as it chooses here"] = ours(size, "auto")
        found["Regard, float32"] = ours(size, "float32")
    if "tutorial" in asked.only:
        found["the tutorials' loop, float32"] = students(size)
    if "eole" in asked.only:
        place = paced.prepared("eole", asked.cache, rows, sizes)
        for name in ("fp32", "bf16") if fast else ("fp32",):
            found[f"eole {eole.VERSION}, {name}"] = lambda _, name=name: paced.eoles(place, sizes, asked.reports, name)
    if "joeynmt" in asked.only:
        placed = paced.prepared("joeynmt", asked.cache, rows, sizes)
        found[f"JoeyNMT {joeynmt.VERSION}, fp32"] = lambda _: paced.joeys(placed, sizes, asked.reports)
    return found


def measured(asked: argparse.Namespace, rows: Rows) -> dict[str, list[float]]:
    """Of every way the speeds of its turns. Who fails is left out, and says why."""
    left = ways(asked, rows)
    found: dict[str, list[float]] = {name: [] for name in left}
    source = batches(rows, asked.sentences)
    for number in range(asked.repeat + 1):
        turn = [next(source) for _ in range(asked.updates)]
        for name, way in list(left.items()):
            if not number and name.startswith(("eole", "JoeyNMT")):
                continue  # the first turn finds memory and kernels, which theirs do at every start
            try:
                speed = way(turn)
            except Failed as error:
                print(f"{name}: {error}", file=sys.stderr)
                del left[name]
                continue
            print(f"turn {number}: {name}: {speed:,.0f}", file=sys.stderr, flush=True)
            if number:
                found[name].append(speed)
    return {name: speeds for name, speeds in found.items() if len(speeds) == asked.repeat}


def written(asked: argparse.Namespace, rows: Rows, found: dict[str, list[float]]) -> str:
    names = ("threads", "vocabulary", "sentences", "updates", "reports", "repeat")
    numbers = " ".join(f"--{name} {getattr(asked, name)}" for name in names)
    longs = [statistics.mean(map(len, side)) for side in zip(*rows, strict=True)]
    first, *_ = found.values()
    lines = [
        f"    python benchmarks/speed.py --table {asked.table.name} {numbers}",
        "",
        f"{machine()}, {today()}. {len(rows):,} pairs; {longs[0]:.1f} source and {longs[1]:.1f} target pieces a "
        "sentence on average, without their ends.",
        f"Medians of {asked.repeat} rounds in which each has its turn; the ratio is the median of each round's.",
        "",
        "| | target tokens/s | slowest to fastest | the first is so many times as fast |\n|---|---|---|---|",
    ]
    for name, speeds in found.items():
        ratio = statistics.median(own / other for own, other in zip(first, speeds, strict=True))
        cells = f"{statistics.median(speeds):,.0f} | {min(speeds):,.0f} to {max(speeds):,.0f} | {ratio:.1f}"
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--only", nargs="+", default=["regard", "tutorial", "eole", "joeynmt"])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "regard-bench")
    parser.add_argument("--out", type=Path, help="where the table is written too")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    for name, default in (("vocabulary", 8000), ("sentences", 80), ("updates", 30), ("reports", 100), ("repeat", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    random.seed(1)
    torch.manual_seed(1)
    rows = cut(asked.table, asked.vocabulary)
    found = measured(asked, rows)
    if not found:
        sys.exit("nothing could be measured")
    page = written(asked, rows, found)
    print(page)
    if asked.out:
        asked.out.write_text(f"# Speed of training on a processor\n\n{page}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
