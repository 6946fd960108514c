"""What is timed in translate.py: a system that was given its models translates all sentences with a beam, in seconds.

Each is trained for the same minutes, at the same sizes, so that its outputs are as long as outputs are. Toolkits are
timed as they time themselves, without their start; CTranslate2 runs our own weights.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import eole, joeynmt
from peers.trial import Data, Failed, call, environment, lines, pieces, subwords, train

SIZES = 4000, 5000
WIDTH = 256
REGARD = [sys.executable, "-m", "regard"]
RECURRENT, TRANSFORMER = "bahdanau", "transformer"
CTRANSLATE2 = "4.8.5"
EOLE_TIMES = re.compile(r"(?:Step 0 time|Subsequent prediction time including all) \(s\): ([\d.]+)")
EOLE_PIECES = re.compile(r"pred_words_total: ([\d.]+)")
JOEYNMT_TIMES = re.compile(r"Generation took ([\d.]+)\[sec\]")


class System(ABC):
    """`about` says what it is, for the table's foot; `pieces` how many symbols it wrote the last time, where it tells:
    what is quick because it writes little is seen there.
    """

    about: str
    pieces: float | None = None

    @abstractmethod
    def seconds(self, beam: int) -> float:
        """To translate every sentence once."""


def threads() -> int:
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Given:
    """`cache` has a folder a system; what is there already is not trained again."""

    data: Data
    minutes: float
    cache: Path


def trained(given: Given, recipe: str) -> Path:
    """Our bundle of that recipe, with graphs."""
    out, made = given.cache / f"{recipe}.run", given.cache / recipe
    if not (made / "regard.json").is_file():
        shutil.rmtree(out, ignore_errors=True)
        tables = [str(given.data.folder / "train.tsv"), "--dev", str(given.data.folder / "dev.tsv")]
        sizes = [f"data.{side}.size={size}" for side, size in zip(("source", "target"), SIZES, strict=True)]
        settings = [part for each in (*sizes, "train.patience=0") for part in ("--set", each)]
        asked = ["--recipe", recipe, "--minutes", str(given.minutes), "--out", str(out), *settings]
        call([*REGARD, "train", *tables, *asked], given.cache / f"{recipe}.log")
        shutil.rmtree(made, ignore_errors=True)
        call([*REGARD, "export", str(made), "--model", str(out), "--to", "onnx"], given.cache / f"{recipe}.log")
    return made


class Worker(System):
    """A process that has loaded its model: it is told a beam and answers with seconds."""

    def __init__(self, command: list[str], about: str) -> None:
        self.about = about
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, word: str) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise Failed(f"{self.about}: ended with {self._process.wait()}")
        return dict(json.loads(answer))

    def seconds(self, beam: int) -> float:
        told = self.ask(str(beam))
        self.pieces = float(told["pieces"])
        return float(told["seconds"])


class Eole(System):
    def __init__(self, given: Given) -> None:
        self.about = (
            f"eole {eole.VERSION}: GRU {WIDTH}, bi-GRU 2×{WIDTH // 2}, embeddings {WIDTH}, additive attention, "
            "fp32, which is quicker here than bf16, batches of 64; the time that it reports itself"
        )
        self._folder = folder = given.cache / "eole"
        self._binary = environment(given.cache.parent / "eole", eole.PACKAGES)
        if not list((folder / "model").glob("step_*")):
            _subworded(self._binary, folder, given.data)
            for side in ("source", "target"):
                known = pieces(folder / f"{side}.vocab")
                counts = (f"{piece}\t{int(math.exp(score) * 1_000_000) + 1}\n" for piece, score in known)
                (folder / f"{side}.counts").write_text("".join(counts), encoding="utf-8")
            self._train(given)
        self._model = eole._saved(folder)

    def _train(self, given: Given) -> None:
        config = eole._config(self._folder, len(given.data.train), 100_000)
        config["model"] |= {"hidden_size": WIDTH}
        config["model"]["embeddings"] = {"src_word_vec_size": WIDTH, "tgt_word_vec_size": WIDTH}
        config["training"] |= {"decay_method": "none", "save_checkpoint_steps": 20}
        path = self._folder / "train.json"
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        command = [str(self._binary / "eole"), "train", "-config", str(path)]
        train(command, self._folder / "train.log", given.minutes, eole.BEGINS)

    def seconds(self, beam: int) -> float:
        out, log = self._folder / "output", self._folder / "predict.log"
        log.unlink(missing_ok=True)
        files = ["-model_path", str(self._model), "-src", str(self._folder / "dev.source"), "-output", str(out)]
        more = ["-beam_size", str(beam), "-batch_size", "64", "-compute_dtype", "fp32", "-report_time"]
        call([str(self._binary / "eole"), "predict", *files, *more], log)
        self.pieces = _told(EOLE_PIECES, log)
        return _told(EOLE_TIMES, log)


class JoeyNMT(System):
    def __init__(self, given: Given) -> None:
        self.about = (
            f"JoeyNMT {joeynmt.VERSION}: the same sizes, additive attention with input feeding, fp32, batches of 64; "
            "the time that it reports itself"
        )
        self._folder = folder = given.cache / "joeynmt"
        self._binary = environment(given.cache.parent / "joeynmt", joeynmt.PACKAGES)
        if not (folder / "model" / "latest.ckpt").exists():
            _subworded(self._binary, folder, given.data)
            for side in ("source", "target"):
                known = "".join(f"{piece}\n" for piece, _ in pieces(folder / f"{side}.vocab"))
                (folder / f"{side}.pieces").write_text(known, encoding="utf-8")
            command = [str(self._binary / "python"), "-m", "joeynmt", "train", str(self._config(5)), "--skip-test"]
            train(command, folder / "train.log", given.minutes, joeynmt.BEGINS)

    def _config(self, beam: int) -> Path:
        config = joeynmt.config(self._folder)
        config["testing"] |= {"beam_size": beam, "eval_metrics": []}
        warm = {"learning_rate_warmup": 400, "learning_rate_min": 0.0001}
        config["training"] |= {"scheduling": "warmupinversesquareroot", **warm}
        path = self._folder / f"beam{beam}.json"
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        return path

    def seconds(self, beam: int) -> float:
        log = self._folder / "test.log"
        log.unlink(missing_ok=True)
        command = [str(self._binary / "python"), "-m", "joeynmt", "test", str(self._config(beam))]
        call([*command, "--output-path", str(self._folder / "output")], log)
        return _told(JOEYNMT_TIMES, log)


def _subworded(binary: Path, folder: Path, data: Data) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "model", ignore_errors=True)
    data.write(folder)
    subwords(binary, folder, *SIZES)


def _told(times: re.Pattern[str], log: Path) -> float:
    """The sum of the numbers that a log tells."""
    found = [float(match[1]) for line in lines(log) if (match := times.search(line))]
    if not found:
        raise Failed(f"{log}: tells no time")
    return sum(found)


def ours(bundle: Path, engine: str, sentences: Path) -> Worker:
    here = Path(__file__).with_name("ours_decoding.py")
    return Worker([sys.executable, str(here), str(bundle), engine, str(sentences)], f"Regard, {engine}")


def ctranslate2(given: Given, bundle: Path, sentences: Path, compute: str) -> Worker:
    """Our Transformer's weights in CTranslate2's format."""
    place, here = given.cache / "ctranslate2.venv", Path(__file__).with_name("ctranslate2_decoding.py")
    python = place / "bin" / "python"
    log = given.cache / "ctranslate2.log"
    if not python.is_file():
        call([sys.executable, "-m", "venv", str(place)], log)
        wanted = [f"ctranslate2=={CTRANSLATE2}", "safetensors", "tokenizers", "numpy"]
        call([str(python), "-m", "pip", "install", *wanted], log)
    command = [str(python), str(here), str(bundle), str(given.cache / "ctranslate2"), str(sentences), compute]
    return Worker(command, f"CTranslate2 {CTRANSLATE2}, {compute}")
