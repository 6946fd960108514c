"""What a person gets from some minutes of training on this machine's CPU: ours beside its peers, on one table.

    python benchmarks/quality.py --data FOLDER [--minutes 11] [--only regard eole joeynmt tutorial] [--cache FOLDER]

FOLDER holds train.tsv and dev.tsv, sentence TAB translation. Each system learns alone, one after another, so many
minutes of the clock from its first update on; installing, reading and learning subwords are not counted. Each decodes
the dev sentences with a beam of five, but for the tutorials' loop, and the same code scores them all against every
translation of a sentence. It is one run each: it does not say how much a second one would differ, nor how good a system
gets with more time, nor anything about sentences unlike these.

Rows of earlier runs on the same data, machine and minutes stay in the table, which is written to quality.md too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SYSTEMS = {"regard": "Regard", "eole": "eole", "joeynmt": "JoeyNMT", "tutorial": "the tutorials' loop"}
TABLES = ("train.tsv", "dev.tsv")
SAME = ("machine", "budget", "tables")  # of rows that may stand together


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--minutes", type=float, default=11)
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "regard-bench")
    parser.add_argument("--out", type=Path, default=HERE / "quality.md", help="where the table is written")
    asked, unknown = parser.parse_known_args()
    if asked.data is None:
        print("needs a table and an hour: python benchmarks/quality.py --data FOLDER, with train.tsv and dev.tsv in it")
        return
    if unknown:
        parser.error(f"unknown: {' '.join(unknown)}")
    if missing := [name for name in TABLES if not (asked.data / name).is_file()]:
        parser.error(f"{asked.data} has no {' and no '.join(missing)}")
    measure(asked)


def measure(asked: argparse.Namespace) -> None:
    from peers.trial import Asked, Data

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a Ctrl-C has to reach what is started from here
    data = Data.read(asked.data)
    of_all = {"machine": machine(), "budget": asked.minutes, "tables": tables(asked.data)}
    for name in asked.only:
        print(f"{name}: {asked.minutes:g} minutes", file=sys.stderr, flush=True)
        folder = (asked.cache / name).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        row = figures(name, data, Asked(asked.minutes, folder))
        keep(asked.cache / "quality.json", of_all | {"system": name, "date": today()} | row)
        rows = [row for row in kept(asked.cache / "quality.json") if all(row[key] == of_all[key] for key in SAME)]
        page = "\n".join(written(sorted(rows, key=lambda row: list(SYSTEMS).index(row["system"])), data))
        asked.out.write_text(f"# Quality after some minutes\n\n{page}\n", encoding="utf-8")
    print(page)


def figures(name: str, data: Any, asked: Any) -> dict[str, Any]:
    """What is known of a system, or why nothing is: the others go on."""
    from peers.trial import Failed

    try:
        return {"failed": None, **asdict(runner(name)(data, asked))}
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        reason = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        return {"failed": reason.replace("\n", " ")}


def runner(name: str) -> Callable[[Any, Any], Any]:
    from peers import eole, joeynmt, ours, tutorial

    return {"regard": ours.run, "eole": eole.run, "joeynmt": joeynmt.run, "tutorial": tutorial.run}[name]


def kept(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []


def keep(path: Path, row: dict[str, Any]) -> None:
    """In the place of the row that there was of it."""
    same = (*SAME, "system")
    others = [each for each in kept(path) if any(each[key] != row[key] for key in same)]
    path.write_text(json.dumps([*others, row], ensure_ascii=False, indent=1), encoding="utf-8")


def tables(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in TABLES:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]


def machine() -> str:
    import torch

    known = Path("/proc/cpuinfo")
    text = known.read_text(encoding="utf-8", errors="replace") if known.is_file() else ""
    named = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    threads = f"{os.cpu_count()} cores, {torch.get_num_threads()} threads"
    return f"{(named or [platform.machine()])[0]}, {threads}, torch {torch.__version__}"


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def written(rows: list[dict[str, Any]], data: Any) -> list[str]:
    """The table with the command above it and what each system was below it."""
    first = rows[0]
    translations = sum(len(each.targets) for each in data.dev)
    signatures = sorted(
        {row["scores"][key] for row in rows if not row["failed"] for key in ("signature", "chrf_signature")}
    )
    return [
        f"    python benchmarks/quality.py --data FOLDER --minutes {first['budget']:g}",
        "",
        f"{first['machine']}, {' and '.join(sorted({row['date'] for row in rows}))}. One run each. The table: "
        f"{len(data.train):,} pairs to learn from, {len(data.dev):,} sentences with {translations:,} translations to "
        "measure on.",
        "",
        "| | BLEU | 95% | chrF2 | target tokens/s, as it tells | updates | minutes |",
        "|---|---|---|---|---|---|---|",
        *(table_row(row) for row in rows),
        "",
        *(f"- {SYSTEMS[row['system']]}: {row['about']}." for row in rows if not row["failed"]),
        "",
        *(f"`{signature}`  " for signature in signatures),
    ]


def table_row(row: dict[str, Any]) -> str:
    name = SYSTEMS[row["system"]]
    if row["failed"]:
        return f"| {name} | failed: {row['failed'].replace('|', '/')} | | | | | |"
    scores = row["scores"]
    interval = scores["intervals"]["bleu"]
    cells = (
        name,
        f"{scores['bleu']:.1f}",
        f"{interval['low']:.1f} to {interval['high']:.1f}",
        f"{scores['chrf']:.1f}",
        f"{row['speed']:,.0f} {row['tokens']}",
        f"{row['updates']:,}",
        f"{row['minutes']:.1f}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
