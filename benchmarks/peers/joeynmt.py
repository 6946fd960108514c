"""JoeyNMT: its recurrent model with additive attention. A Ctrl-C saves what it has learned, which is what is measured.

Its dev set is watched as it recommends: greedily, and not often.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
from pathlib import Path
from typing import Any

from peers.trial import Asked, Data, Failed, Row, call, environment, lines, pieces, subwords, train

VERSION = "2.3.0"
PACKAGES = [f"joeynmt=={VERSION}", "sentencepiece<0.2", "importlib_metadata"]  # the last it does not say
SIZES = 4000, 5000
BEGINS = "EPOCH 1"
REPORT = re.compile(r"Step:\s*(\d+),.*Tokens per Sec:\s*(\d+)")


def run(data: Data, asked: Asked) -> Row:
    folder = asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    binary = environment(folder, PACKAGES)
    data.write(folder)
    subwords(binary, folder, *SIZES)
    for side in ("source", "target"):
        known = "".join(f"{piece}\n" for piece, _ in pieces(folder / f"{side}.vocab"))
        (folder / f"{side}.pieces").write_text(known, encoding="utf-8")
    shutil.rmtree(folder / "model", ignore_errors=True)
    path = folder / "train.json"  # JSON is YAML
    path.write_text(json.dumps(config(folder), indent=1), encoding="utf-8")
    command = [str(binary / "python"), "-m", "joeynmt"]
    minutes = train([*command, "train", str(path), "--skip-test"], folder / "train.log", asked.minutes, BEGINS)
    reports = [REPORT.search(line) for line in lines(folder / "train.log")]
    told = [(int(each[1]), float(each[2])) for each in reports if each]
    if not told:
        raise Failed("it was too slow to report how fast it is")
    return Row(
        scores=data.scores(_translate(command, path, folder)),
        speed=statistics.median(speed for _, speed in told),
        tokens="subwords",
        updates=_last(folder),
        minutes=minutes,
        about=(
            f"SentencePiece {SIZES[0]:,} + {SIZES[1]:,}; bi-GRU 2×128, GRU 256, embeddings 256, additive (`bahdanau`) "
            "attention, input feeding, dropout 0.2, label smoothing 0.1, Adam 0.001, constant, "
            "fp32 (it has nothing narrower on a CPU), 80 sentences a batch; beam 5"
        ),
    )


def _last(folder: Path) -> int:
    """The update of the last checkpoint."""
    return int((folder / "model" / "latest.ckpt").resolve().stem)


def _translate(command: list[str], path: Path, folder: Path) -> list[str]:
    out = folder / "output"
    call([*command, "test", str(path), "--output-path", str(out)], folder / "test.log")
    return lines(out.with_name("output.dev"))


def config(folder: Path) -> dict[str, Any]:
    return {
        "name": "bench",
        "joeynmt_version": VERSION,
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": 42,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "dev"),
            "dataset_type": "plain",
            "src": _side(folder, "source"),
            "trg": _side(folder, "target"),
        },
        "testing": {
            "beam_size": 5,
            "beam_alpha": 1.0,
            "batch_size": 64,
            "max_output_length": 60,
            "eval_metrics": ["bleu"],
            "load_model": str(folder / "model" / "latest.ckpt"),
        },
        "training": _training(),
        "model": {
            "initializer": "xavier_uniform",
            "bias_initializer": "zeros",
            "embed_initializer": "normal",
            "embed_init_weight": 0.1,
            "init_rnn_orthogonal": True,
            "encoder": _half(bidirectional=True, hidden_size=128),
            "decoder": _half(
                hidden_size=256, hidden_dropout=0.2, input_feeding=True, init_hidden="bridge", attention="bahdanau"
            ),
        },
    }


def _side(folder: Path, side: str) -> dict[str, Any]:
    return {
        "lang": side,
        "level": "bpe",
        "max_length": 100,
        "voc_file": str(folder / f"{side}.pieces"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / f"{side}.model"), "pretokenizer": "none"},
    }


def _half(**own: Any) -> dict[str, Any]:
    embeddings = {"embedding_dim": 256, "scale": False, "dropout": 0.2}
    return {"type": "recurrent", "rnn_type": "gru", "embeddings": embeddings, "dropout": 0.2, "num_layers": 1, **own}


def _training() -> dict[str, Any]:
    return {
        "optimizer": "adam",
        "learning_rate": 0.001,
        # constant: `plateau` fails on this torch, and inverse square root after a warm-up had 17 BLEU in eleven minutes
        "clip_grad_norm": 1.0,
        "label_smoothing": 0.1,
        "normalization": "tokens",
        "batch_size": 80,
        "batch_type": "sentence",
        "epochs": 1000,
        "validation_freq": 1000,
        "logging_freq": 50,
        "early_stopping_metric": "bleu",
        "keep_best_ckpts": 1,
        "print_valid_sents": [],
        "overwrite": True,
        "shuffle": True,
    }
