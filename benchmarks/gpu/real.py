"""Training on a real table, inside Regard's own training: target tokens a second beside those of a synthetic batch, how
much is padding, how many graphs are recorded, and whether the input keeps the GPU waiting.

    python benchmarks/gpu/real.py --data PAIRS.tsv [--target FILE] [--seconds 40] [--tokens 4000] [--set key=value]

The model is that of train.py: LSTM, additive attention, widths 512, vocabularies of 8,000. --data and --target may be
two parallel files, and .gz. The speed is the median of the run's own reports, one a second, after the first third. The
same batches are then given to the same model once more from memory: what the run takes longer is the input's, the
average's and the reports' share. With --smoke everything is small and runs on a processor, which shows no figure.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from chip import DEVICE, machine, median, seconds
from ways import Sizes, ours, pairs, recurrent

from regard import config
from regard.config import Recipe
from regard.model import build
from regard.source.batch import Pairs
from regard.source.store import Store
from regard.task import bundle, training
from regard.task.corpus import Table
from regard.train import feed
from regard.train.replay import Replay, lane, shape
from regard.train.update import Descent, Update

KEPT = 300  # batches that are given once more from memory


@dataclass
class Seen:
    """What a run did, as it went by."""

    waited: float = 0.0  # seconds, for batches
    recorded: int = 0
    recording: float = 0.0  # seconds
    shapes: Counter[object] = field(default_factory=Counter)
    real: int = 0  # symbols of both sides, without and with padding
    padded: int = 0


@contextmanager
def watching() -> Iterator[Seen]:
    """Every batch that a run takes and every graph that it records."""
    seen = Seen()
    take, record = feed.Feed.next, Replay._record

    def taken(self: Any) -> Any:
        began = time.perf_counter()
        batch = take(self)
        seen.waited += time.perf_counter() - began
        seen.shapes[shape(batch)] += 1
        for side in (batch.source, batch.target):
            seen.real += int(side.mask.sum())
            seen.padded += side.ids.numel()
        return batch

    def recorded(self: Any, *given: Any) -> Any:
        began = time.perf_counter()
        graph = record(self, *given)
        seen.recorded += 1
        seen.recording += time.perf_counter() - began
        return graph

    feed.Feed.next, Replay._record = taken, recorded  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        feed.Feed.next, Replay._record = take, record  # type: ignore[method-assign]


def recipe_of(asked: argparse.Namespace) -> Recipe:
    made = config.dump(recurrent(Sizes(1, width=32 if asked.smoke else 512)))
    size = 300 if asked.smoke else 8000
    settings = [f"data.{side}.size={size}" for side in ("source", "target")]
    settings += [f"train.batch_tokens={asked.tokens}", "train.epochs=0", "train.precision=bfloat16"]
    settings += ["train.updates=6"] if asked.smoke else [f"train.minutes={asked.seconds / 60}"]
    settings += ["train.checkpoint_updates=1000000", "train.dev_pairs=50", *asked.set]
    return config.build(config.override(made, settings), "benchmarks/gpu/real.py")


def again(recipe: Recipe, run: Path) -> tuple[float, int]:
    """Target tokens a second where nothing is waited for, and how many batches that took."""
    known = bundle.load(run)
    store = Store.open(run / "data" / "train.store")
    made = training.batched(store, (known.source, known.target), recipe, DEVICE)
    batches = [each.to(DEVICE) for each in islice(made.epoch(0, 0), KEPT)]
    sizes = _symbols(recipe)
    model = build(recipe.model, *sizes, recipe.train).to(DEVICE).train()
    update: Update[Pairs] | Replay[Pairs] = Update(model, Descent(), recipe.train.precision)
    update = Replay(update) if DEVICE.type == "cuda" else update
    turns = 5 if DEVICE.type == "cuda" else 1

    def all_of_them() -> None:
        for batch in batches:
            update(batch, 0.5)

    for _ in range(turns - 1):  # every shape that will be recorded is
        all_of_them()
    passed = statistics.median(seconds(all_of_them, 1) for _ in range(3 if turns > 1 else 1))
    return sum(batch.tokens for batch in batches) / passed, len(batches)


def _symbols(recipe: Recipe) -> tuple[int, int]:
    return recipe.data.source.size, recipe.data.target.size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--target")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--smoke", action="store_true")
    asked = parser.parse_args()
    if DEVICE.type != "cuda" and not asked.smoke:
        parser.error("there is no GPU here; --smoke shows on a processor that everything runs")
    recipe = recipe_of(asked)
    folder = Path(tempfile.mkdtemp(prefix="regard-real-"))
    began = time.perf_counter()
    try:
        with watching() as seen:
            training.train(Table(asked.data, asked.target), folder / "run", recipe, tell=lambda _: None)
        whole = time.perf_counter() - began
        show(asked, recipe, folder / "run", seen, whole)
    finally:
        shutil.rmtree(folder)


def show(asked: argparse.Namespace, recipe: Recipe, run: Path, seen: Seen, whole: float) -> None:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    speeds = [row["tokens_per_second"] for row in rows if "tokens_per_second" in row]
    inside = median(speeds[len(speeds) // 3 :])
    made = json.loads((run / "regard.json").read_text(encoding="utf-8"))["provenance"]
    with lane(DEVICE):
        alone, many = again(recipe, run)
        sizes = Sizes(3, 5, 4, 32, 60) if asked.smoke else Sizes(128)
        synthetic = ours(recurrent(sizes), sizes, pairs(sizes), replay=True)
        seconds(synthetic, 5)
        flat = sizes.tokens / seconds(synthetic, 2 if asked.smoke else 50)
    passed = 60 * made["minutes"]
    eager = sum(min(3, count) for count in seen.shapes.values())
    print(f"    python benchmarks/gpu/real.py --data {Path(asked.data).name} --tokens {asked.tokens}\n\n{machine()}\n")
    print("| | |\n|---|---|")
    for name, figure in (
        ("target tokens/s inside the training, median of its reports", f"{inside:,.0f}"),
        (f"the same {many} batches from memory", f"{alone:,.0f}"),
        ("so the input, averaging and reports take", f"{1 - inside / alone:.0%} of the time"),
        (f"synthetic: {sizes.rows} full rows of {sizes.target} symbols", f"{flat:,.0f}"),
        ("inside the training to synthetic", f"{inside / flat:.2f}"),
        ("waiting for a batch, of the host's time", f"{seen.waited / passed:.1%}"),
        ("padding, of the symbols of both sides", f"{1 - seen.real / seen.padded:.1%}"),
        ("shapes of batches", f"{len(seen.shapes)}"),
        ("graphs recorded", f"{seen.recorded} in {seen.recording:.1f} s"),
        ("updates, those of shapes not yet recorded", f"{made['updates']:,}, about {eager:,}"),
        ("peak of GPU memory", f"{torch.cuda.max_memory_reserved() / 2**20 if DEVICE.type == 'cuda' else 0:,.0f} MiB"),
        ("seconds of training, and all with reading, subwords and measuring", f"{passed:.0f}, {whole:.0f}"),
    ):
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main()
