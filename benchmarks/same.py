"""Whether what is trained the fast way is as good as what is trained step by step: the same recipe and seeds both ways.

    python benchmarks/same.py [--table FILE --dev FILE] [--recipe bahdanau] [--updates 300] [--seeds 1 2 3]
        [--set key=value ...] [--threads 2] [--out FILE]

The fast way is what `regard train` takes on this processor: compiled loops with a derivative by hand. The other is one
operator of torch after another, derived by torch, with torch's optimiser. Both round products to bfloat16 where the
processor multiplies it, each in its own places, so they are equal but for rounding and drift apart as two seeds do. The
tables are by default those of examples/, which are small: for a figure that counts give larger ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from quality import machine, today
from torch import Tensor
from torch.nn.functional import linear

from regard import config
from regard.layer import cell as cells
from regard.task.corpus import Table
from regard.task.training import train

EXAMPLES = Path(__file__).parents[1] / "examples"
MARKS = 6  # of the curve
SCORES = ("loss", "bleu", "chrf")


def looped(gates: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor, cell: Tensor | None) -> Tensor:
    """What scan does, derived by torch."""
    found = []
    hidden, cell = hidden.to(weight), None if cell is None else cell.to(weight)
    for here in gates.to(weight).unbind(1):
        after = cells.forward(here, linear(hidden, weight, bias).to(weight), hidden, cell)
        hidden, cell = after.hidden, after.cell
        found.append(hidden)
    return torch.stack(found, 1)


@contextmanager
def step_by_step() -> Iterator[None]:
    with (
        patch("regard.layer.compiled.library", lambda: None),
        patch("regard.decode.bahdanau.applies", lambda *_: False),
        patch("regard.layer.recurrent.scan", looped),
    ):
        yield


WAYS: dict[str, Callable[[], Any]] = {"fast": nullcontext, "step by step": step_by_step}


def one(asked: argparse.Namespace, seed: int) -> tuple[list[float], dict[str, float]]:
    """The loss on dev while it learned, and the scores there afterwards."""
    settings = [f"train.{name}" for name in (f"updates={asked.updates}", "epochs=0", f"seed={seed}", "patience=0")]
    recipe = config.load(asked.recipe, [*settings, f"train.checkpoint_updates={asked.updates // MARKS}", *asked.set])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        train(Table(str(asked.table)), out, recipe, dev=Table(str(asked.dev)), tell=lambda _: None)
        told = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    measured = [row["dev"] for row in told if "dev" in row]
    return [dev["loss"] for dev in measured[: MARKS - 1]], measured[-1]


def written(asked: argparse.Namespace, found: dict[str, list[tuple[list[float], dict[str, float]]]]) -> str:
    at = [asked.updates // MARKS * (mark + 1) for mark in range(MARKS - 1)]
    names = f"--table {asked.table.name} --dev {asked.dev.name} --recipe {asked.recipe} --updates {asked.updates}"
    settings = "".join(f" --set {each}" for each in asked.set)
    lines = [
        f"    python benchmarks/same.py {names} --seeds {' '.join(map(str, asked.seeds))}{settings}",
        "",
        f"{machine()}, {today()}. All on dev, of averaged weights; outputs are greedy.",
        "",
        f"| way | seed | {' | '.join(f'loss at {each}' for each in at)} | loss at the end | BLEU | chrF2 |",
        f"|---|---|{'---|' * (MARKS - 1 + len(SCORES))}",
    ]
    for way, runs in found.items():
        for seed, (curve, dev) in zip(asked.seeds, runs, strict=True):
            lines.append(f"| {way} | {seed} | {cells_of([*curve, *(dev[name] for name in SCORES)])} |")
    for way, runs in found.items():
        means = [statistics.mean(column) for column in zip(*(row(run) for run in runs), strict=True)]
        spread = [statistics.stdev(column) if len(runs) > 1 else 0.0 for column in zip(*map(row, runs), strict=True)]
        both = " | ".join(f"{mean:.2f} ± {each:.2f}" for mean, each in zip(means, spread, strict=True))
        lines.append(f"| **{way}** | mean ± deviation | {both} |")
    return "\n".join(lines)


def row(run: tuple[list[float], dict[str, float]]) -> list[float]:
    curve, dev = run
    return [*curve, *(dev[name] for name in SCORES)]


def cells_of(numbers: list[float]) -> str:
    return " | ".join(f"{number:.2f}" for number in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=EXAMPLES / "pairs.tsv")
    parser.add_argument("--dev", type=Path, default=EXAMPLES / "dev.tsv")
    parser.add_argument("--recipe", default="bahdanau")
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--set", nargs="+", default=[], metavar="key=value")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, help="where the table is written too")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    found: dict[str, list[tuple[list[float], dict[str, float]]]] = {way: [] for way in WAYS}
    for seed in asked.seeds:
        for way, inside in WAYS.items():
            with inside():
                found[way].append(one(asked, seed))
            print(f"seed {seed}, {way}: {found[way][-1]}", file=sys.stderr, flush=True)
    page = written(asked, found)
    print(page)
    if asked.out:
        asked.out.write_text(f"# The fast way and the slow one learn the same\n\n{page}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
