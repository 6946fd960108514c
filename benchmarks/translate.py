"""How many sentences a second are translated, beside other systems at equal size.

    python benchmarks/translate.py [--data FOLDER] [--minutes 2] [--repeat 5] [--only NAME ...]

FOLDER has train.tsv and dev.tsv; without it, the bundle that ships alone is timed. Recurrent: a bidirectional GRU of
2×128, a GRU decoder of 256, embeddings of 256, additive attention, 4,000 and 5,000 subwords, each system trained by
itself for some minutes. Transformer: 3 + 3 layers of 256, ours and the same weights in CTranslate2. All are timed in
turns, on as many threads as there are cores. Ours goes from text to text; CTranslate2 from pieces to pieces. It also
tells how long one sentence alone takes, how long a process lives that translates one sentence with the bundle that
ships, and how much memory a thousand take.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from peers.decoding import RECURRENT, TRANSFORMER, Eole, Given, JoeyNMT, System, Worker, ctranslate2, ours, trained
from peers.trial import Data, Failed, write
from quality import machine, today

BEAMS = 1, 5
CACHE = Path.home() / ".cache" / "regard-bench" / "translate"
EXAMPLES = Path(__file__).parents[1] / "examples"
COLD = [sys.executable, "-m", "regard", "translate", "Rahul is a good boy."]

Found = dict[tuple[str, int], list[float]]


def recurrent(given: Given, sentences: Path) -> dict[str, System]:
    made = trained(given, RECURRENT)
    return {
        "eole": Eole(given),
        "JoeyNMT": JoeyNMT(given),
        "Regard, torch": ours(made, "torch", sentences),
        "Regard, ONNX Runtime": ours(made, "onnx", sentences),
    }


def transformer(given: Given, sentences: Path) -> dict[str, System]:
    made = trained(given, TRANSFORMER)
    return {
        "CTranslate2, float32": ctranslate2(given, made, sentences, "float32"),
        "CTranslate2, int8": ctranslate2(given, made, sentences, "int8"),
        "Regard, torch": ours(made, "torch", sentences),
        "Regard, ONNX Runtime": ours(made, "onnx", sentences),
    }


def timed(systems: Mapping[str, System], repeat: int) -> Found:
    """In turns; the first round finds memory and kernels and is not counted."""
    found: Found = {(name, beam): [] for name in systems for beam in BEAMS}
    for number in range(repeat + 1):
        for name, beam in found:
            seconds = systems[name].seconds(beam)
            if number:
                found[name, beam].append(seconds)
    return found


def table(systems: Mapping[str, System], found: Found, sentences: int) -> None:
    """Medians, and for each system the median over the turns of how much quicker it is than the first."""
    first, *_ = systems
    print("| | beam 1: sentences/s | slowest to fastest | ratio | beam 5: sentences/s | slowest to fastest | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name in systems:
        cells = []
        for beam in BEAMS:
            speeds = [sentences / seconds for seconds in found[name, beam]]
            ratios = [base / own for base, own in zip(found[first, beam], found[name, beam], strict=True)]
            cells += [f"{statistics.median(speeds):,.0f}", f"{min(speeds):,.0f} to {max(speeds):,.0f}"]
            cells.append(f"{statistics.median(ratios):.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print()


def single(worker: System, name: str) -> None:
    assert isinstance(worker, Worker)
    told, most = worker.ask("alone 200"), worker.ask("memory")
    print(
        f"- {name}, one sentence alone, beam 5: {told['steps'] * 1000:.2f} ms in the decoder's steps, "
        f"{told['whole'] * 1000:.2f} ms from text to text (medians of 200). "
        f"Most memory resident in all this: {most['mebibytes']:,.0f} MiB."
    )


def cold(repeat: int = 9) -> None:
    spans = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        subprocess.run(COLD, check=True, stdout=subprocess.DEVNULL)
        spans.append(time.perf_counter() - began)
    spans = spans[1:]
    print(
        f"- The bundle that ships, `regard translate` of one sentence from a cold start to its end: "
        f"{statistics.median(spans):.2f} s ({min(spans):.2f} to {max(spans):.2f}; median of {repeat})."
    )


def shipped(sentences: Path) -> None:
    worker = ours(Path("en-mr"), "onnx", sentences)
    for beam in BEAMS:
        worker.seconds(beam)
    seconds = {beam: statistics.median(worker.seconds(beam) for _ in range(3)) for beam in BEAMS}
    count = len(sentences.read_text(encoding="utf-8").splitlines())
    each = ", ".join(f"{count / span:,.0f} sentences/s at beam {beam}" for beam, span in seconds.items())
    print(f"- The bundle that ships, ONNX Runtime: {each}.")
    single(worker, "The bundle that ships")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with train.tsv and dev.tsv")
    parser.add_argument("--minutes", type=float, default=2.0, help="that each system is trained")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="parts: recurrent transformer shipped")
    asked, _ = parser.parse_known_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    sentences = CACHE / "sentences.txt"
    if asked.data is None:
        print("## The bundle that ships, on the sentences of examples/ (others need --data FOLDER)\n")
        rows = (EXAMPLES / "dev.tsv").read_text(encoding="utf-8").splitlines()
        write(sentences, list(dict.fromkeys(row.split("\t")[0] for row in rows)))
        shipped(sentences)
        cold()
        return
    data = Data.read(asked.data)
    given = Given(data, asked.minutes, CACHE)
    write(sentences, data.sources)
    versions = ", ".join(f"{name} {version(name)}" for name in ("onnxruntime", "torch", "numpy"))
    print(f"    python benchmarks/translate.py --data FOLDER --minutes {asked.minutes:g} --repeat {asked.repeat}\n")
    print(f"{machine()}, {versions}, {today()}. {len(data.sources):,} sentences; medians of {asked.repeat} turns; the")
    print("ratio is the median of each turn's, to the first line.\n")
    parts = {"recurrent": recurrent, "transformer": transformer}
    for title, part in parts.items():
        if asked.only and title not in asked.only:
            continue
        try:
            systems = part(given, sentences)
            print(f"## {title.capitalize()}\n")
            table(systems, timed(systems, asked.repeat), len(data.sources))
            for name, system in systems.items():
                about = "" if isinstance(system, Worker) else f" {system.about}."
                wrote = (
                    f" {system.pieces / len(data.sources):.1f} symbols a sentence at the end." if system.pieces else ""
                )
                print(f"- {name}:{about}{wrote or ''}")
            single(systems["Regard, ONNX Runtime"], "Regard, ONNX Runtime")
            print()
        except Failed as error:
            print(f"{title}: {error}\n")
    if not asked.only or "shipped" in asked.only:
        print("## The bundle that ships\n")
        shipped(sentences)
        cold()


if __name__ == "__main__":
    main()
