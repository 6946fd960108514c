"""How time and memory of an update grow with source, target, batch, vocabulary and width: the table of "Attention Is
All You Need" (section 4), measured.

    python benchmarks/growth.py [--repeat 3] [--only source width] [--picture benchmarks/growth.png]

An update is here the loss of one batch and its gradients, in float32; one size grows while the others stay. Every
point is a process of its own, so that its peak of memory is its own: what torch and the weights take is taken off. The
exponent x is that of cost ~ sizeˣ between the last two sizes. It does not know what is learned.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import statistics
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import torch
from quality import machine, today

from regard import config
from regard.attention import record
from regard.model import Model, build
from regard.source.batch import BOS, EOS, Pairs

FIRST: Final = EOS + 2  # the first id that is a piece
MODELS: Final = {
    "no attention": ("seq2seq", ()),
    "global": ("bahdanau", ()),
    "local_p": ("luong", ("model.scope=local_p", "model.input_feeding=false", "model.cell=gru")),
    "Transformer, weights written down": ("transformer", ()),
    "Transformer, fused": ("transformer", ()),
}


@dataclass(frozen=True)
class Sizes:
    source: int = 20
    target: int = 20
    batch: int = 16
    vocabulary: int = 4000
    width: int = 256


GROWTH: Final = {
    "source": (10, 30, 100, 300, 1000),
    "target": (10, 30, 100, 300, 1000),
    "batch": (1, 4, 16, 64, 256),
    "vocabulary": (1000, 4000, 16000, 64000),
    "width": (64, 128, 256, 512, 1024),
}


@dataclass(frozen=True)
class Cost:
    milliseconds: float
    mebibytes: float


def made(name: str, sizes: Sizes) -> Model:
    recipe, over = MODELS[name]
    # one encoder and one decoder layer each, so that the models differ in nothing but how they read
    own = ["model.encoder_layers=1", "model.decoder_layers=1", f"model.width={sizes.width}"]
    own += [f"model.inner={4 * sizes.width}"] if recipe == "transformer" else [f"model.embedding={sizes.width}"]
    chosen = config.load(recipe, [*own, *over])
    return build(chosen.model, sizes.vocabulary, sizes.vocabulary, chosen.train).train()


def batch(sizes: Sizes) -> Pairs:
    def ids(length: int) -> list[int]:
        return torch.randint(FIRST, sizes.vocabulary, (length,)).tolist()

    sources = [[*ids(sizes.source - 1), EOS] for _ in range(sizes.batch)]
    return Pairs.of(sources, [[BOS, *ids(sizes.target - 1), EOS] for _ in range(sizes.batch)])


def measured(name: str, sizes: Sizes, repeat: int) -> Cost:
    torch.manual_seed(1)
    model = made(name, sizes)
    pairs = batch(sizes)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    resident = peak()
    times = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        with record(model) if name.endswith("written down") else nullcontext():
            model.loss(pairs).total.backward()  # type: ignore[no-untyped-call]
        times.append(time.perf_counter() - began)
    return Cost(statistics.median(times[1:]) * 1000, (peak() - resident) / 1024)


def peak() -> int:
    """KiB, of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def apart(name: str, sizes: Sizes, repeat: int) -> Cost:
    """In a process that has torch already, and nothing else."""
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)

    def work(end: Connection) -> None:
        end.send(measured(name, sizes, repeat))

    process = fork.Process(target=work, args=(there,))
    process.start()
    there.close()
    cost: Cost = here.recv()
    process.join()
    return cost


def exponent(steps: tuple[int, ...], costs: list[float]) -> str:
    if min(costs[-2:]) <= 0:
        return "-"
    return f"{math.log(costs[-1] / costs[-2]) / math.log(steps[-1] / steps[-2]):.1f}"


def show(what: str, found: dict[str, list[Cost]]) -> None:
    steps = GROWTH[what]
    rest = ", ".join(f"{name} {getattr(Sizes(), name)}" for name in GROWTH if name != what)
    print(f"\n## {what.capitalize()}\n\n{rest}.\n")
    for unit, digits in (("milliseconds", 1), ("mebibytes", 0)):
        print(f"| {unit} | {' | '.join(f'{step:,}' for step in steps)} | x |\n|---|{'---|' * (len(steps) + 1)}")
        for name, costs in found.items():
            numbers = [getattr(cost, unit) for cost in costs]
            print(f"| {name} | {' | '.join(f'{each:,.{digits}f}' for each in numbers)} | {exponent(steps, numbers)} |")
        print(flush=True)


def draw(found: dict[str, dict[str, list[Cost]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(found), figsize=(3.2 * len(found), 6), sharey="row", squeeze=False)
    for column, (what, rows) in enumerate(found.items()):
        for row, unit in enumerate(("milliseconds", "mebibytes")):
            place = axes[row][column]
            for number, (name, costs) in enumerate(rows.items()):
                values = [max(getattr(cost, unit), 0.1) for cost in costs]
                place.loglog(GROWTH[what], values, marker="os^vD"[number], markersize=4, label=name)
            place.grid(alpha=0.3)
            place.set_xlabel(what)
            if not column:
                place.set_ylabel(unit)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=GROWTH, default=list(GROWTH))
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args()
    print("# How an update's cost grows\n")
    print(f"    python benchmarks/growth.py --repeat {asked.repeat}\n")
    print(f"{machine()}, {today()}. One layer each side, float32, loss and gradients; medians of {asked.repeat}.")
    found: dict[str, dict[str, list[Cost]]] = {}
    for what in asked.only:
        points = [replace(Sizes(), **{what: step}) for step in GROWTH[what]]
        found[what] = {name: [apart(name, sizes, asked.repeat) for sizes in points] for name in MODELS}
        show(what, found[what])
    if asked.picture:
        draw(found, asked.picture)


if __name__ == "__main__":
    main()
