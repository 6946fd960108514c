"""Regard itself, as a person calls it who knows no recipe: two commands, nothing chosen."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from pathlib import Path

from peers.trial import Asked, Data, Failed, Row, call, lines

REGARD = [sys.executable, "-m", "regard"]


def run(data: Data, asked: Asked) -> Row:
    out, log, scored = asked.folder / "run", asked.folder / "train.log", asked.folder / "scores.json"
    shutil.rmtree(out, ignore_errors=True)
    for each in (log, scored):
        each.unlink(missing_ok=True)
    tables = [str(data.folder / "train.tsv"), "--dev", str(data.folder / "dev.tsv")]
    call([*REGARD, "train", *tables, "--minutes", str(asked.minutes), "--out", str(out)], log)
    call([*REGARD, "evaluate", "--model", str(out), tables[-1], "--json"], scored)
    about = json.loads((out / "regard.json").read_text(encoding="utf-8"))
    made, recipe = about["provenance"], about["recipe"]
    return Row(
        scores=_scores(scored),
        speed=statistics.median(_speeds(out / "metrics.jsonl")),
        tokens="subwords",
        updates=made["updates"],
        minutes=made["minutes"],
        about=(
            f"`regard train` without a recipe, which chose `{recipe['name']}`; {_sizes(log)}; "
            f"beam {recipe['search']['beam']}"
        ),
    )


def _scores(path: Path) -> dict[str, object]:
    for line in lines(path):
        if line.startswith("{"):
            return dict(json.loads(line))
    raise Failed("`regard evaluate --json` printed no scores")


def _speeds(path: Path) -> list[float]:
    rows = [json.loads(line) for line in lines(path)]
    return [row["tokens_per_second"] for row in rows if "tokens_per_second" in row]


def _sizes(log: Path) -> str:
    """The line it says of its vocabularies and weights."""
    return next((line.partition(": ")[2] for line in lines(log) if " weights, on " in line), "")
