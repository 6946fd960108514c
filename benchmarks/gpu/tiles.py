"""Which tiles suit this GPU: one decoder ahead and back as a graph, with one choice of regard.layer.fused.tile changed
at a time. What wins belongs there.

    python benchmarks/gpu/tiles.py [--rows 128] [--rounds 5] [--kind bahdanau] [--cell lstm] [--score additive]
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator

import torch
from chip import DEVICE, alternating, machine, median
from train import each_part
from ways import Call, Sizes, pairs, recurrent, replayed

from regard.layer.fused import tile
from regard.model import build
from regard.train.replay import lane
from regard.train.update import Descent, Update

NARROW = torch.bfloat16
AS_IS = {
    name: getattr(tile, name) for name in ("CELL", "PRODUCT", "PARTS", "SLICE", "DEPTH", "EARLY", "STAGES", "WARPS")
}


def changes() -> Iterator[dict[str, object]]:
    yield {}
    yield {"EARLY": True}
    for cell in ((16, 16), (32, 16), (64, 16), (32, 32), (64, 32)):
        yield {"CELL": (cell,)}
    for shape in ((16, 32), (16, 64), (32, 32), (32, 64), (64, 32)):
        yield {"PRODUCT": (shape,)}
    for parts in (1, 2, 8):
        yield {"PARTS": parts}
    for size in (4096, 8192):
        yield {"SLICE": size}
    for stages in (2, 3):
        yield {"STAGES": stages}
    yield {"WARPS": 4}
    yield {"DEPTH": {**AS_IS["DEPTH"], NARROW: 64}}


def decoder(sizes: Sizes, asked: argparse.Namespace) -> Call:
    torch.manual_seed(1)
    recipe = recurrent(sizes, kind=asked.kind, cell=asked.cell, score=asked.score)
    model = build(recipe.model, sizes.symbols, sizes.symbols, recipe.train).to(DEVICE).train()
    return replayed(each_part(model, Update(model, Descent(), "bfloat16"), pairs(sizes))[0]["decoder"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", default="bahdanau")
    parser.add_argument("--cell", default="lstm")
    parser.add_argument("--score", default="additive")
    asked = parser.parse_args()
    if DEVICE.type != "cuda":
        parser.error("there is no GPU here")
    sizes = Sizes(asked.rows, symbols=1000)
    calls: dict[str, Call] = {}
    with lane(DEVICE):
        for change in changes():
            for name, value in {**AS_IS, **change}.items():
                setattr(tile, name, value)
            name = ", ".join(f"{key} {value}" for key, value in change.items()) or "as it is"
            try:
                calls[name] = decoder(sizes, asked)
            except Exception as error:  # too large for the chip: the others go on
                print(f"| {name} | {type(error).__name__}: {str(error).splitlines()[0][:80]} | |", flush=True)
                torch.cuda.synchronize()
            gc.collect()
        found = alternating(calls, asked.rounds, 0.05)
    first = median(found["as it is"])
    print(f"{machine()}; {asked.kind}, {asked.cell}, {asked.score}, {asked.rows} rows\n")
    print("| change | ms ahead and back | to as it is |\n|---|---|---|")
    for name, each in sorted(found.items(), key=lambda item: median(item[1])):
        print(f"| {name} | {1e3 * median(each):.3f} | {median(each) / first:.2f} |")


if __name__ == "__main__":
    main()
