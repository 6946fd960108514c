"""How much memory a table takes on its way from text to updates, at its peak, and how long that takes.

    python benchmarks/memory.py [--pairs 1000000] [--tokens 4000] [--updates 20]

examples/pairs.tsv comes again and again on standard input, as a table of any size would: no large file is needed. Each
stage is a process of its own, so that its peak is its own; the first one does nothing but import. Where pairs are held
out the sentences are numbered, so that none stands there twice.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

PAIRS = Path(__file__).parents[1] / "examples" / "pairs.tsv"
SYMBOLS = 2000

# Torch takes more memory than the table does, so whatever imports it stands inside the stages: the parent stays small.
# On Linux a child's peak counts what its parent had when it was started.


def lines(pairs: int, numbered: bool) -> Iterator[bytes]:
    known = PAIRS.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(itertools.islice(itertools.cycle(known), pairs)):
        source, target, _ = line.split(b"\t", 2)
        count = b" %d" % number if numbered else b""
        yield source + count + b"\t" + target + count + b"\n"


def imports(_: argparse.Namespace) -> str:
    import regard.source.stream
    import regard.train.update  # noqa: F401

    return "-"


def hold_out(asked: argparse.Namespace) -> str:
    from regard.source import hold, lines, report, table

    held = hold.hold_out(table.read(lines.STDIN, None, report.Report()), 1000, seed=1)
    assert len(held) == asked.pairs
    assert 500 < held.sum() <= 1000
    return f"{len(held):,} pairs"


def write(asked: argparse.Namespace) -> str:
    from regard.source import lines, report, table
    from regard.source.clean import Cleaner
    from regard.source.encoded import encoded
    from regard.source.store import Store
    from regard.source.vocabulary import learn

    cleaner = Cleaner()

    def clean(pairs: Iterable[table.Pair]) -> Iterator[table.Pair]:
        return (table.Pair(cleaner.text(pair.source), cleaner.text(pair.target), pair.place) for pair in pairs)

    sample = list(clean(table.read(PAIRS, None, report.Report())))
    source, target = (learn("bpe", SYMBOLS, [getattr(pair, side) for pair in sample]) for side in ("source", "target"))
    told = report.Report()
    coming = table.read(lines.STDIN, None, told, table.Limits(distinct=False))
    store = Store.write(asked.store, encoded(clean(coming), source, target, 100, told))
    return f"{len(store):,} pairs"


def epoch(asked: argparse.Namespace) -> str:
    from regard.source.store import Store
    from regard.source.stream import Batches

    batches = Batches(Store.open(asked.store), asked.tokens, seed=1)
    return f"{sum(batch.tokens for batch in batches.epoch(0)):,} target tokens"


def updates(asked: argparse.Namespace) -> str:
    import torch

    from regard.config import TransformerModel
    from regard.model.build import build
    from regard.source.store import Store
    from regard.source.stream import Batches
    from regard.train.update import Descent, Update

    torch.manual_seed(1)
    config = TransformerModel("transformer", width=64, inner=128, encoder_layers=1, decoder_layers=1)
    update = Update(build(config, SYMBOLS, SYMBOLS).train(), Descent(), "float32")
    batches = Batches(Store.open(asked.store), asked.tokens, seed=1)
    tokens = 0
    for number, batch in enumerate(itertools.islice(batches.epoch(0), asked.updates)):
        update(batch, number / asked.updates)
        tokens += batch.tokens
    return f"{tokens:,} target tokens"


STAGES = {
    "import": imports,
    "hold out": hold_out,
    "clean, cut, store": write,
    "batches of an epoch": epoch,
    "updates of a small transformer": updates,
}
READ = {"hold out": True, "clean, cut, store": False}  # from standard input, and whether numbered


def stage(name: str, asked: argparse.Namespace) -> None:
    """In a process of its own: its row of the table."""
    began = time.perf_counter()
    done = STAGES[name](asked)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))
    print(f"| {name} | {done} | {seconds:.0f} | {peak:,.0f} |")


def feed(sink: IO[bytes], rows: Iterable[bytes]) -> None:
    with suppress(BrokenPipeError), sink:  # who fails says why himself
        coming = iter(rows)
        while chunk := b"".join(itertools.islice(coming, 4096)):
            sink.write(chunk)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("pairs", 1_000_000), ("tokens", 4000), ("updates", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stage is not None:
        stage(asked.stage, asked)
        return
    print(f"    python benchmarks/memory.py --pairs {asked.pairs} --tokens {asked.tokens} --updates {asked.updates}\n")
    print(f"{platform.machine()}, Python {platform.python_version()}\n")
    print("| stage | done | seconds | peak memory, MiB |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "pairs.store"
        for name in STAGES:
            numbers = [f"--{name}={getattr(asked, name)}" for name in ("pairs", "tokens", "updates")]
            command = [sys.executable, __file__, *numbers, f"--stage={name}", f"--store={store}"]
            with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
                assert process.stdin is not None
                feed(process.stdin, lines(asked.pairs, READ[name]) if name in READ else ())
            if process.returncode:
                sys.exit(process.returncode)
        print(f"\nThe store takes {store.stat().st_size / (1 << 20):,.0f} MiB on the disk.")


if __name__ == "__main__":
    main()
