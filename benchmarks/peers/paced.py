"""How fast JoeyNMT and eole train, as they tell it themselves: a short training of the sizes that speed.py compares.

The sentences are rows of numbers, cut into pieces by us, so that they and we learn from the same symbols; both toolkits
count as we do: the target's symbols with its end, without padding. It does not know how good they get.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from peers import eole, joeynmt
from peers.trial import Failed, call, environment, lines, write

Rows = Sequence[tuple[Sequence[int], Sequence[int]]]
EVERY = 20  # updates of which a speed is told
SIDES = ("source", "target")


@dataclass(frozen=True)
class Sizes:
    """Of the vocabulary of each side, and of a batch in sentences; `threads` are what torch may use."""

    vocabulary: int
    sentences: int
    threads: int


@dataclass(frozen=True)
class Place:
    """Where a toolkit is installed and reads the table."""

    folder: Path
    binary: Path


def prepared(name: str, cache: Path, rows: Rows, sizes: Sizes) -> Place:
    """The toolkit installed, and the table beside it as files of pieces."""
    folder = (cache / name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    place = Place(folder / "speed", environment(folder, {"eole": eole, "joeynmt": joeynmt}[name].PACKAGES))
    place.folder.mkdir(exist_ok=True)
    for side, texts in zip(SIDES, zip(*rows, strict=True), strict=True):
        write(place.folder / f"train.{side}", [" ".join(map(str, ids)) for ids in texts])
        write(place.folder / f"dev.{side}", [" ".join(map(str, ids)) for ids in texts[: sizes.sentences]])
        known = [str(number) for number in range(sizes.vocabulary)]
        write(place.folder / f"{side}.pieces", known)
        (place.folder / f"{side}.counts").write_text("".join(f"{each}\t9\n" for each in known), encoding="utf-8")
    return place


def eoles(place: Place, sizes: Sizes, updates: int, precision: str) -> float:
    config = _of_eole(place.folder, sizes, updates, precision)
    return _pace(place, [str(place.binary / "eole"), "train", "-config"], config, eole.REPORT, sizes)


def joeys(place: Place, sizes: Sizes, updates: int) -> float:
    """It counts epochs, not updates: it gets as many pairs as it is to take."""
    for side in SIDES:
        enough = islice(cycle(lines(place.folder / f"train.{side}")), updates * sizes.sentences)
        write(place.folder / f"short.{side}", list(enough))
    config = _of_joey(place.folder, sizes)
    command = [str(place.binary / "python"), "-m", "joeynmt", "train", "--skip-test"]
    return _pace(place, command, config, joeynmt.REPORT, sizes)


def _pace(place: Place, command: list[str], config: dict[str, Any], report: re.Pattern[str], sizes: Sizes) -> float:
    """Target tokens a second: the median of what it reports, but for its first report."""
    shutil.rmtree(place.folder / "model", ignore_errors=True)
    path, log = place.folder / "train.json", place.folder / "train.log"  # JSON is YAML
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    log.unlink(missing_ok=True)
    threads = [f"{name}_NUM_THREADS={sizes.threads}" for name in ("OMP", "MKL")]
    call(["env", *threads, *command, str(path)], log)
    told = [float(found[2]) for found in map(report.search, lines(log)) if found][1:]
    if not told:
        raise Failed("it was too slow to report how fast it is")
    return statistics.median(told)


def _of_eole(folder: Path, sizes: Sizes, updates: int, precision: str) -> dict[str, Any]:
    return {
        "save_data": str(folder / "data"),
        "overwrite": True,
        "seed": 1234,
        "report_every": EVERY,
        "src_vocab": str(folder / "source.counts"),
        "tgt_vocab": str(folder / "target.counts"),
        "src_vocab_size": sizes.vocabulary,
        "tgt_vocab_size": sizes.vocabulary,
        "data": {
            name: {f"path_{to}": str(folder / f"{part}.{side}") for to, side in (("src", "source"), ("tgt", "target"))}
            for name, part in (("corpus", "train"), ("valid", "dev"))
        },
        "transforms": [],
        "training": {
            "model_path": str(folder / "model"),
            "train_steps": updates,
            "save_checkpoint_steps": 1_000_000,
            "valid_steps": 1_000_000,
            "batch_type": "sents",
            "batch_size": sizes.sentences,
            "valid_batch_size": sizes.sentences,
            "bucket_size": 1_000_000,  # of which batches of like length are made: all
            "num_workers": 0,
            "compute_dtype": precision,
            "use_amp": False,
            "optim": "adam",
            "learning_rate": 0.001,
            "max_grad_norm": 1.0,
            "dropout": [0.2],
            "dropout_steps": [0],
            "attention_dropout": [0.0],
            "label_smoothing": 0.1,
            "normalization": "tokens",
            "log_attention_entropy": False,
        },
        "model": {
            "architecture": "rnn",
            "rnn_type": "GRU",
            "layers": 1,
            "hidden_size": 256,
            "input_feed": 0,
            "encoder": {"encoder_type": "brnn"},
            "decoder": {"decoder_type": "rnn", "global_attention": "mlp"},
            "embeddings": {"src_word_vec_size": 256, "tgt_word_vec_size": 256},
        },
    }


def _of_joey(folder: Path, sizes: Sizes) -> dict[str, Any]:
    """As for quality.py, but for what it reads and how long it learns."""
    config = joeynmt.config(folder)
    data, training = config["data"], config["training"]
    data["train"] = str(folder / "short")
    for name, side in (("src", "source"), ("trg", "target")):
        data[name] = {"lang": side, "level": "word", "max_length": 1000, "voc_file": str(folder / f"{side}.pieces")}
    training.update(batch_size=sizes.sentences, epochs=1, logging_freq=EVERY, validation_freq=1_000_000)
    return config
