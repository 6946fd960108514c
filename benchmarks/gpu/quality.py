"""Time to quality: from the raw text of Multi30k, German to English, to BLEU on test_2016, in a minute of one GPU.

    python benchmarks/gpu/quality.py --data FOLDER [--seconds 60] [--seeds 1 2 3] [--set key=value ...] [--smoke]
                                     [--also "key=value key=value" ...]

FOLDER holds train, val and test_2016_flickr, each .de.gz and .en.gz. The clock of a run begins where the text is first
read and ends where the bundle is written: subwords, compiling, recording and measuring on val are in it; importing
torch, about two seconds, is not. BLEU is sacreBLEU's, cased, of greedy outputs; the test part is read afterwards. The
first run on a machine compiles the kernels, which then stay in Triton's cache: it has fewer seconds left to learn. Each
--also is one more run of every seed, with other settings.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

from chip import DEVICE, machine, wait

from regard import config
from regard.config import Recipe, Search
from regard.source.table import References
from regard.task import training
from regard.task.corpus import Table
from regard.task.measure import Measured, evaluate
from regard.task.translation import Wish

RECIPE = Path(__file__).with_name("multi30k.toml")
AFTER = 3.0  # seconds kept for what follows the last update: greedy outputs of val, and writing


@dataclass(frozen=True)
class Row:
    named: str
    seed: int
    bleu: float
    low: float
    high: float
    chrf: float
    val: float
    seconds: float
    before: float  # seconds, until the first update
    updates: int
    epochs: float
    decoding: float  # seconds, of the test part, after the clock


@contextmanager
def ending(at: float, began: float, starts: list[float]) -> Iterator[None]:
    """The run ends `at` seconds after `began`, whatever came before its first update."""
    run = training.run

    def timed(model: Any, batches: Any, plan: Any, *given: Any, **more: Any) -> Any:
        starts.append(time.perf_counter() - began)
        left = max(1.0, at - AFTER - starts[-1])
        return run(model, batches, replace(plan, budget=replace(plan.budget, minutes=left / 60)), *given, **more)

    training.run = timed  # type: ignore[assignment]
    try:
        yield
    finally:
        training.run = run


def learned(asked: argparse.Namespace, recipe: Recipe, named: str, folder: Path) -> Row:
    began, starts = time.perf_counter(), []
    tables = [Table(*(str(asked.data / f"{part}.{side}.gz") for side in ("de", "en"))) for part in ("train", "val")]
    if asked.smoke:
        tables = [cut(table, folder / str(number)) for number, table in enumerate(tables)]
        known = training.train(tables[0], folder / "run", recipe, dev=tables[1])
        starts.append(0.0)
    else:
        with ending(asked.seconds, began, starts):
            known = training.train(tables[0], folder / "run", recipe, dev=tables[1])
    wait()
    passed = time.perf_counter() - began
    sources, targets = (text(asked.data / f"test_2016_flickr.{side}.gz") for side in ("de", "en"))
    if asked.smoke:
        sources, targets = sources[:20], targets[:20]
    since = time.perf_counter()
    outputs = known.translate(sources, Wish(Search(beam=1)))
    decoding = time.perf_counter() - since
    pairs = zip(sources, targets, outputs, strict=True)
    found = evaluate([Measured(References(s, (t,), ""), output.text) for s, t, output in pairs])
    about = known.bundle.about
    made, val = about["provenance"], about["figures"]["dev"]["bleu"]
    interval = found.bleu_interval
    figures = (
        found.bleu,
        interval.low,
        interval.high,
        found.chrf,
        val,
        passed,
        starts[0],
        made["updates"],
        made["epochs"],
    )
    return Row(named, recipe.train.seed, *figures, decoding)


def cut(table: Table, folder: Path) -> Table:
    """The first lines of both sides."""
    folder.mkdir(parents=True)
    for side in (table.source, str(table.target)):
        (folder / Path(side).name).write_bytes(gzip.compress("\n".join(text(Path(side), 300)).encode()))
    return Table(*(str(folder / Path(side).name) for side in (table.source, str(table.target))))


def text(path: Path, most: int | None = None) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in islice(file, most)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--recipe", default=str(RECIPE))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("--smoke", action="store_true")
    asked = parser.parse_args()
    if DEVICE.type != "cuda" and not asked.smoke:
        parser.error("there is no GPU here; --smoke shows on a processor that everything runs")
    small = ["model.width=32", "model.embedding=32", "train.minutes=0", "train.updates=20", "data.source.size=300"]
    settings = [*(small if asked.smoke else ()), *asked.set]
    rows: list[Row] = []
    for named, seed in product(["", *asked.also], asked.seeds):
        folder = Path(tempfile.mkdtemp(prefix="regard-quality-"))
        try:
            recipe = config.load(asked.recipe, [*settings, *named.split(), f"train.seed={seed}"])
            rows.append(learned(asked, recipe, named, folder))
        except Exception:  # the others go on
            traceback.print_exc()
        finally:
            shutil.rmtree(folder)
    if not rows:
        sys.exit("no run came to its end")
    show(asked, rows)


def show(asked: argparse.Namespace, rows: list[Row]) -> None:
    settings = "".join(f" --set {each}" for each in asked.set)
    print(f"\n    python benchmarks/gpu/quality.py --data FOLDER --seconds {asked.seconds:g}{settings}\n")
    print(f"{machine()}. {Path(asked.recipe).name}, greedy.\n")
    print("| | seed | test_2016 BLEU | 95% | chrF2 | val BLEU | seconds in all | before the first update | updates "
          "| epochs | then decoding 1,000, s |\n|---|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for row in rows:
        print(
            f"| {row.named or 'as it is'} | {row.seed} | {row.bleu:.2f} | {row.low:.1f} to {row.high:.1f} "
            f"| {row.chrf:.1f} | {row.val:.2f} "
            f"| {row.seconds:.1f} | {row.before:.1f} | {row.updates:,} | {row.epochs:.1f} | {row.decoding:.1f} |"
        )
    for named in dict.fromkeys(row.named for row in rows):
        scores = [row.bleu for row in rows if row.named == named]
        print(f"\nMedian BLEU of {len(scores)}, {named or 'as it is'}: {statistics.median(scores):.2f}.", flush=True)


if __name__ == "__main__":
    main()
