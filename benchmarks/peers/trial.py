"""What the systems share: the data as each wants them, an environment of its own, a run of so many minutes, the scores.

It does not know any of the systems.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT
from typing import Any

from regard.source.report import Report
from regard.source.table import Limits, Pair, References, group, read
from regard.task.measure import Measured, evaluate

TORCH = "torch==2.13.0"
BEGIN = 300  # seconds that a toolkit may take until it trains
LEARN = "import sys, sentencepiece as s; s.SentencePieceTrainer.train(**dict(o.split('=') for o in sys.argv[1:]))"
END = 120  # seconds that it may take to save and leave


class Failed(Exception):
    """Why a system has no figures, in one line."""


@dataclass(frozen=True)
class Data:
    folder: Path
    train: list[Pair]
    dev: list[References]

    @staticmethod
    def read(folder: Path) -> Data:
        """The tables as they are written; every translation of a dev sentence is a reference."""
        dev = group(read(folder / "dev.tsv", None, Report(), Limits(ratio=0.0, distinct=False)))
        return Data(folder, list(read(folder / "train.tsv", None, Report())), dev)

    @property
    def sources(self) -> list[str]:
        return [each.source for each in self.dev]

    def write(self, folder: Path) -> None:
        """Parallel files: train.source, train.target, and dev with one translation a sentence."""
        write(folder / "train.source", [pair.source for pair in self.train])
        write(folder / "train.target", [pair.target for pair in self.train])
        write(folder / "dev.source", self.sources)
        write(folder / "dev.target", [each.targets[0] for each in self.dev])

    def scores(self, outputs: Sequence[str]) -> dict[str, Any]:
        """What ours is measured by as well."""
        if len(outputs) != len(self.dev):
            raise Failed(f"{len(outputs):,} outputs for {len(self.dev):,} sentences")
        return evaluate([Measured(*each) for each in zip(self.dev, outputs, strict=True)]).as_dict()


@dataclass(frozen=True)
class Asked:
    """`folder` is the system's own, below the cache."""

    minutes: float
    folder: Path


@dataclass(frozen=True)
class Row:
    """`speed` is target tokens a second as the toolkit itself reports them, of which `tokens` says what they are."""

    scores: dict[str, Any]
    speed: float
    tokens: str
    updates: int
    minutes: float
    about: str


def write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{' '.join(line.split())}\n" for line in lines), encoding="utf-8")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def environment(folder: Path, packages: Sequence[str]) -> Path:
    """The bin/ of a virtual environment with these packages; torch first, so that it is the CPU build at hand."""
    place, note = folder / "venv", folder / "installed.txt"
    wanted = "\n".join([TORCH, *packages])
    if not note.is_file() or note.read_text(encoding="utf-8") != wanted:
        call([sys.executable, "-m", "venv", str(place)], folder / "install.log")
        for names in ([TORCH], [TORCH, *packages]):
            call([str(place / "bin" / "python"), "-m", "pip", "install", *names], folder / "install.log")
        note.write_text(wanted, encoding="utf-8")
    return place / "bin"


def subwords(binary: Path, folder: Path, source: int, target: int) -> None:
    """SentencePiece models source.model and target.model. The target is left as it is, for so the references are."""
    for side, size, rule in (("source", source, "nmt_nfkc"), ("target", target, "identity")):
        named = f"input={folder}/train.{side},model_prefix={folder}/{side},vocab_size={size}"
        options = f"character_coverage=1.0,normalization_rule_name={rule},minloglevel=1"
        call([str(binary / "python"), "-c", LEARN, *named.split(","), *options.split(",")], folder / "subwords.log")


def pieces(path: Path) -> list[tuple[str, float]]:
    """The pieces of a SentencePiece .vocab with their logarithms, but for the special ones, which each toolkit adds."""
    rows = (line.split("\t") for line in lines(path))
    return [(piece, float(score)) for piece, score in rows if piece not in ("<unk>", "<s>", "</s>")]


def call(command: Sequence[str], log: Path, stdin: Path | None = None) -> None:
    """To its end; what it says goes to `log`."""
    with log.open("ab") as said, (stdin or Path("/dev/null")).open("rb") as given:
        code = subprocess.call(command, stdin=given, stdout=said, stderr=subprocess.STDOUT)
    if code:
        raise Failed(f"`{Path(command[0]).name} {' '.join(command[1:3])}` ended with {code}: {last(log)}")


def train(command: Sequence[str], log: Path, minutes: float, begins: str) -> float:
    """For so many minutes from where its log says `begins`, then a Ctrl-C. Returns the minutes it trained."""
    began: float | None = None
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
    started = time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            if began is None and begins in log.read_text(encoding="utf-8", errors="replace"):
                began = now
            if began is None and now > started + BEGIN:
                raise Failed(f"did not begin to train in {BEGIN} seconds: {last(log)}")
            if began is not None and now >= began + 60 * minutes:
                process.send_signal(SIGINT)
                passed = now - began
                process.wait(END)
                return passed / 60
    except subprocess.TimeoutExpired:
        pass  # what it saved before stands
    finally:
        process.kill()
        process.wait()
    if began is None or process.returncode > 0:
        raise Failed(f"ended with {process.returncode}: {last(log)}")
    return (time.monotonic() - began) / 60


def last(log: Path) -> str:
    """The last line that says something."""
    said = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return said[-1][:300] if said else "it said nothing"
