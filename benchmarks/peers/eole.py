"""eole: its recurrent model with additive attention, in the precision that its own optimiser is made for.

Its cosine schedule has to know how many updates there will be, so a trial run, which is not counted, says how many the
time will hold. It saves every so many updates; a Ctrl-C ends it without, so the last checkpoint is what it has.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import statistics
from pathlib import Path
from typing import Any

import torch

from peers.trial import Asked, Data, Failed, Row, call, environment, lines, pieces, subwords, train
from regard.train.update import narrow

VERSION = "0.6.4"
PACKAGES = [f"eole=={VERSION}", "aiohttp"]  # it needs the second and does not say so
SIZES = 4000, 5000
WIDTH = 512
BEGINS = "Start training loop"
TRIAL = 0.75  # minutes
SHARE = 0.97  # of the updates that the trial foresees: the schedule is to reach its end
SAVE = 100  # updates
REPORT = re.compile(r"Step (\d+)/.* lr: .*/\s*(\d+) tok/s;\s*(\d+) sec;")


def run(data: Data, asked: Asked) -> Row:
    folder = asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    binary = environment(folder, PACKAGES)
    data.write(folder)
    subwords(binary, folder, *SIZES)
    for side in ("source", "target"):
        counts = [
            f"{piece}\t{int(math.exp(score) * 1_000_000) + 1}\n" for piece, score in pieces(folder / f"{side}.vocab")
        ]
        (folder / f"{side}.counts").write_text("".join(counts), encoding="utf-8")
    _train(binary, folder, data, 1_000_000, TRIAL)
    updates = _foreseen(_reports(folder / "train.log"), asked.minutes)
    minutes = _train(binary, folder, data, updates, asked.minutes)
    reports, model = _reports(folder / "train.log"), _saved(folder)
    return Row(
        scores=data.scores(_translate(binary, folder, model)),
        speed=statistics.median(speed for _, speed, _ in reports),
        tokens="subwords",
        updates=_update(model),
        minutes=minutes,
        about=(
            f"SentencePiece {SIZES[0]:,} + {SIZES[1]:,}; bi-GRU 2×{WIDTH // 2}, GRU {WIDTH}, embeddings {WIDTH}, "
            "additive (`mlp`) attention, no input feeding, dropout 0.3, label smoothing 0.1, Adam 0.001 with warm-up "
            f"and cosine over {updates:,} updates as a trial run foresaw, {_precision()}, 80 sentences of like length "
            "a batch; beam 5"
        ),
    )


def _precision() -> str:
    """What is fast on this machine; where weights are bfloat16, its optimiser keeps what rounding takes."""
    return "bf16" if narrow("auto", torch.device("cpu")) else "fp32"


def _train(binary: Path, folder: Path, data: Data, updates: int, minutes: float) -> float:
    shutil.rmtree(folder / "model", ignore_errors=True)
    path = folder / "train.json"  # JSON is YAML
    path.write_text(json.dumps(_config(folder, len(data.train), updates), indent=1), encoding="utf-8")
    return train([str(binary / "eole"), "train", "-config", str(path)], folder / "train.log", minutes, BEGINS)


def _reports(log: Path) -> list[tuple[int, float, int]]:
    """Of each report the update, the target tokens a second and the seconds since the beginning."""
    found = [REPORT.search(line) for line in lines(log)]
    reports = [(int(each[1]), float(each[2]), int(each[3])) for each in found if each]
    if len(reports) < 2:
        raise Failed("it was too slow to report how fast it is")
    return reports


def _foreseen(reports: list[tuple[int, float, int]], minutes: float) -> int:
    (first, _, since), (update, _, seconds) = reports[0], reports[-1]
    return int(SHARE * (update - first) / max(1, seconds - since) * minutes * 60)


def _saved(folder: Path) -> Path:
    """The last checkpoint that is whole."""
    saved = [path for path in (folder / "model").glob("step_*") if (path / "config.json").is_file()]
    if not saved:
        raise Failed("it saved no checkpoint")
    return max(saved, key=_update)


def _update(saved: Path) -> int:
    return int(saved.name.partition("_")[2])


def _translate(binary: Path, folder: Path, model: Path) -> list[str]:
    out = folder / "dev.output"
    files = ["-model_path", str(model), "-src", str(folder / "dev.source"), "-output", str(out)]
    call([str(binary / "eole"), "predict", *files, "-beam_size", "5"], folder / "predict.log")
    return lines(out)


def _config(folder: Path, pairs: int, updates: int) -> dict[str, Any]:
    return {
        "save_data": str(folder / "data"),
        "overwrite": True,
        "seed": 1234,
        "report_every": 20,
        "src_vocab": str(folder / "source.counts"),
        "tgt_vocab": str(folder / "target.counts"),
        "src_vocab_size": SIZES[0],
        "tgt_vocab_size": SIZES[1],
        "data": {
            name: {f"path_{to}": str(folder / f"{part}.{side}") for to, side in (("src", "source"), ("tgt", "target"))}
            for name, part in (("corpus", "train"), ("valid", "dev"))
        },
        "transforms": ["sentencepiece"],
        "transforms_configs": {
            "sentencepiece": {
                "src_subword_model": str(folder / "source.model"),
                "tgt_subword_model": str(folder / "target.model"),
            }
        },
        "training": _training(folder, pairs, updates),
        "model": {
            "architecture": "rnn",
            "rnn_type": "GRU",
            "layers": 1,
            "hidden_size": WIDTH,
            "input_feed": 0,
            "encoder": {"encoder_type": "brnn"},
            "decoder": {"decoder_type": "rnn", "global_attention": "mlp"},
            "embeddings": {"src_word_vec_size": WIDTH, "tgt_word_vec_size": WIDTH},
        },
    }


def _training(folder: Path, pairs: int, updates: int) -> dict[str, Any]:
    return {
        "model_path": str(folder / "model"),
        "train_steps": updates,
        "save_checkpoint_steps": SAVE,
        "keep_checkpoint": 2,
        "valid_steps": 1_000_000,  # it learns nothing from looking
        "batch_type": "sents",
        "batch_size": 80,
        "valid_batch_size": 80,
        "bucket_size": pairs,  # of which batches of like length are made
        "num_workers": 0,
        "compute_dtype": _precision(),
        "use_amp": False,
        "optim": "adam",
        "learning_rate": 0.001,
        "decay_method": "cosine",
        "warmup_steps": max(1, updates // 20),
        "max_grad_norm": 1.0,
        "dropout": [0.3],
        "dropout_steps": [0],
        "attention_dropout": [0.0],
        "label_smoothing": 0.1,
        "normalization": "tokens",
        "log_attention_entropy": False,
    }
