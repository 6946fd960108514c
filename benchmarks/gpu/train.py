"""Target tokens a second of one GPU in training: Regard beside the tutorials' loop and beside cuDNN without attention;
and how far the kernels' gradients are from the steps' one by one.

    python benchmarks/gpu/train.py [--rows 64 128 512] [--rounds 5] [--only speed parts gradients] [--smoke]

Source 28, target 30, widths 512, vocabulary 8,000, bfloat16, forward, backward, clipping and AdamW; ids are random and
rows are full. Each figure is the median of its rounds, in which all take turns. With --smoke everything is tiny and
runs on a processor: it shows that the script runs, and no figure.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial

import torch

if "--smoke" in sys.argv and not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before any kernel is imported

from chip import DEVICE, alternating, machine, median, peak, seconds
from gradients import gradients
from ways import Call, Loop, NoAttention, Sizes, chosen, ours, pairs, plain, recurrent, replayed, transformer

from regard.layer import fused as kernels
from regard.model import build
from regard.train.replay import lane
from regard.train.update import Descent, Update

LOOP, BOUND = "the tutorials' loop", "no attention: cuDNN's LSTM, replayed"
OURS = "Regard, as it trains: kernels, replayed"
BUDGET = 0.3  # seconds of each in a round


Make = Callable[[], Call]


def recurrent_ways(sizes: Sizes, smoke: bool) -> dict[str, Make]:
    batch, recipe = pairs(sizes), recurrent(sizes)
    torch.manual_seed(1)
    found: dict[str, Make] = {
        LOOP: lambda: plain(Loop(sizes, hoisted=False), batch, adam=True),
        "the same, hoisted": lambda: plain(Loop(sizes, hoisted=True), batch),
        "the same, hoisted, replayed": lambda: replayed(plain(Loop(sizes, hoisted=True), batch)),
        "Regard, step by step": lambda: ours(recipe, sizes, batch, replay=False, fused=False),
        "Regard, kernels": lambda: ours(recipe, sizes, batch, replay=False),
        "Regard, step by step, replayed": lambda: ours(recipe, sizes, batch, replay=True, fused=False),
        OURS: lambda: ours(recipe, sizes, batch, replay=True),
        BOUND: lambda: replayed(plain(NoAttention(sizes), batch)),
    }
    for name, changes in () if smoke else VARIANTS:
        found[name] = partial(ours, recurrent(sizes, **changes), sizes, batch, replay=True)
    return found


def made(ways: dict[str, Make]) -> dict[str, Call]:
    """Those that run; why another does not is said, and the others go on."""
    found: dict[str, Call] = {}
    for name, make in ways.items():
        try:
            call = make()
            seconds(call, 5)  # what is recorded is recorded after a few
            found[name] = call
        except Exception as error:
            print(
                f"| | {name} | failed: {type(error).__name__}: {str(error).partition(chr(10))[0][:200]} |", flush=True
            )
            traceback.print_exc()
    return found


VARIANTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("Regard, GRU", {"cell": "gru"}),
    ("Regard, general score", {"score": "general"}),
    ("Regard, Luong with input feeding, general", {"kind": "luong", "score": "general"}),
    ("Regard, two layers", {"decoder_layers": 2}),
    ("Regard, dropout 0.3 everywhere", {f"dropout_{part}": 0.3 for part in ("embedding", "state", "output")}),
)


def transformer_ways(sizes: Sizes, smoke: bool) -> dict[str, Make]:
    batch, recipe = pairs(sizes), transformer(32, 1) if smoke else transformer()
    return {
        "Transformer 256, 4 + 4 layers": lambda: ours(recipe, sizes, batch, replay=False),
        "the same, replayed": lambda: ours(recipe, sizes, batch, replay=True),
    }


def speed(asked: argparse.Namespace) -> None:
    print("| rows | | ms an update | slowest to fastest | target tokens/s | to the loop | to no attention |")
    print("|---|---|---|---|---|---|---|")
    for rows in asked.rows:
        sizes = Sizes(rows, 5, 4, 32, 60) if asked.smoke else Sizes(rows)
        for make, first, bound in (
            (recurrent_ways, LOOP, BOUND),
            (transformer_ways, "Transformer 256, 4 + 4 layers", ""),
        ):
            found = alternating(made(make(sizes, asked.smoke)), asked.rounds, 0.01 if asked.smoke else BUDGET)
            middle = {name: median(each) for name, each in found.items()}
            for name, each in found.items():
                to_bound = f"{middle[name] / middle[bound]:.2f}× its time" if bound in middle else ""
                to_loop = f"{middle[first] / middle[name]:.1f}×" if first in middle else ""
                print(
                    f"| {rows} | {name} | {1e3 * middle[name]:.2f} | {1e3 * max(each):.2f} to {1e3 * min(each):.2f} "
                    f"| {sizes.tokens / middle[name]:,.0f} | {to_loop} | {to_bound} |",
                    flush=True,
                )
            torch.cuda.empty_cache()
    print()


def parts(asked: argparse.Namespace) -> None:
    """Where the time of one replayed update goes, each part as a graph of its own."""
    print("| rows | part | ms ahead and back | beside, MiB, kernels | step by step |\n|---|---|---|---|---|")
    for rows in asked.rows:
        sizes = Sizes(rows, 5, 4, 32, 60) if asked.smoke else Sizes(rows)
        batch, recipe = pairs(sizes), recurrent(sizes)
        model = build(recipe.model, sizes.symbols, sizes.symbols, recipe.train).to(DEVICE).train()
        update = Update(model, Descent(), "bfloat16")
        calls, fused, eager = each_part(model, update, batch)
        found = alternating({name: replayed(call) for name, call in calls.items()}, asked.rounds, 0.05)
        for name, each in found.items():
            memory = f"{peak(fused):,.0f} | {peak(eager):,.0f}" if name == "decoder" else "|"
            print(f"| {rows} | {name} | {1e3 * median(each):.3f} | {memory} |", flush=True)
    print()


def each_part(model: object, update: Update, batch: object) -> tuple[dict[str, Call], Call, Call]:  # type: ignore[type-arg]
    """Encoder, decoder, output with the loss, the rest; and the decoder alone with kernels and without."""
    from dataclasses import replace

    tokens, weights = batch.target.ids[:, :-1], list(model.parameters())
    narrow = {"device_type": DEVICE.type, "dtype": torch.bfloat16, "cache_enabled": False}
    with torch.autocast(**narrow):
        memory = model.encode(batch.source)
        features = model.decoder(tokens, memory).features.detach()
    leaves = {name: getattr(memory, name).detach().requires_grad_() for name in ("keys", "values", "summary")}
    memory = replace(memory, **leaves)
    wide = features.clone().requires_grad_()

    def back(*outputs: torch.Tensor, more: tuple[torch.Tensor, ...] = ()) -> None:
        for weight in (*weights, *more):
            weight.grad = None
        torch.autograd.backward(outputs, [torch.ones_like(each) for each in outputs])

    def encoder() -> None:
        with torch.autocast(**narrow):
            read = model.encode(batch.source)
        back(read.values, read.summary)

    def decoder() -> None:
        with torch.autocast(**narrow):
            found = model.decoder(tokens, memory).features
        back(found, more=tuple(leaves.values()))

    def output() -> None:
        from regard.model.likelihood import surprise

        with torch.autocast(**narrow):
            loss = surprise(model.output(wide), batch.target.ids[:, 1:]).mean()
        back(loss, more=(wide,))

    def whole() -> None:
        update.step(batch, 0.5)

    def optimiser() -> None:
        for weight in weights:
            weight.grad = weight.detach()
        update.optimiser.step()

    update.pace(0.5)
    calls = {"encoder": encoder, "decoder": decoder, "output and loss": output, "optimiser": optimiser, "all": whole}
    return calls, lambda: chosen(True, decoder), lambda: chosen(False, decoder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[64, 128, 512])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=["speed", "parts", "gradients"])
    parser.add_argument("--few", action="store_true", help="gradients of one choice of each decoder alone")
    parser.add_argument("--smoke", action="store_true")
    asked = parser.parse_args()
    if DEVICE.type != "cuda" and not asked.smoke:
        parser.error("there is no GPU here; --smoke shows on a processor that everything runs")
    if asked.smoke:
        asked.rows, asked.rounds = [3], 1
        kernels.ready = lambda _: True
    words = [word for word in sys.argv[1:] if word]
    print(f"    python benchmarks/gpu/train.py {' '.join(words)}\n\n{machine()}. Medians of {asked.rounds} rounds.\n")
    began, failed = time.monotonic(), list[str]()
    with lane(DEVICE):
        for name, part in (("gradients", gradients), ("parts", parts), ("speed", speed)):
            if asked.only is None or name in asked.only:
                try:
                    part(asked)
                except Exception:
                    traceback.print_exc()
                    failed.append(name)
                print(f"({name}: {time.monotonic() - began:.0f} s)\n", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
