"""Corpus: a table of pairs → two vocabularies, a store of token ids to train on, a dev part to measure on.

The table is read once, and its clean pairs are kept on the disk while they are needed: so standard input can be gone
through as often as a file. Only the dev part is ever held in memory. What was made stays in the run's folder, and a run
that is resumed has exactly what it began with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import compress, islice
from pathlib import Path
from typing import Any, Final, final

from regard.config import Data
from regard.fault import Fault
from regard.source import lines
from regard.source.clean import Cleaner
from regard.source.encoded import encoded
from regard.source.hold import hold_out
from regard.source.report import Kind, Report
from regard.source.rows import rows
from regard.source.store import Store
from regard.source.table import Limits, Pair, References, group, read
from regard.source.vocabulary import Vocabulary, learn
from regard.whole import whole, whole_text

LEARNED_FROM: Final = 2_000_000  # pairs that a vocabulary is learned from, the first ones
PAIRS, STORE, PREPARED = "pairs.jsonl", "train.store", "prepared.json"
SOURCE, TARGET = "source.json", "target.json"

Tell = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True)
class Table:
    """Where pairs stand: one file, or two parallel ones."""

    source: str
    target: str | None = None

    @property
    def name(self) -> str:
        return " + ".join(lines.name(each) for each in (self.source, self.target) if each is not None)

    @property
    def fleeting(self) -> bool:
        """Standing on standard input, which can be read only once."""
        return lines.STDIN in (self.source, self.target)

    def look(self) -> None:
        """A Fault where a file cannot be read: to be asked before anything is made for its sake."""
        for each in (self.source, self.target):
            if each not in (None, lines.STDIN):
                next(lines.chunks(str(each)), b"")

    def count(self) -> int:
        """How many rows it has, good or bad."""
        return sum(1 for _ in rows(self.source, self.target))

    def digest(self) -> str:
        """Of its bytes."""
        digest = hashlib.sha256()
        for each in (self.source, self.target):
            for chunk in lines.chunks(each) if each is not None and not self.fleeting else ():
                digest.update(chunk)
        return digest.hexdigest()


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """All that decides what a corpus is. `held` is how many pairs to hold out where there is no dev table."""

    table: Table
    dev: Table | None
    data: Data
    held: int
    seed: int
    strict: bool = False

    def identity(self) -> dict[str, Any]:
        held = 0 if self.dev else self.held
        tables = {"table": self.table.digest(), "dev": self.dev.digest() if self.dev else ""}
        parts = {"data": asdict(self.data), "held": held, "seed": self.seed, "strict": self.strict, **tables}
        return dict(json.loads(json.dumps(parts)))


@final
@dataclass(frozen=True, slots=True)
class Corpus:
    source: Vocabulary
    target: Vocabulary
    train: Store
    dev: tuple[References, ...]
    about: dict[str, Any]  # for the card: files, counts, fingerprint of the clean text, what was skipped

    @property
    def fingerprint(self) -> str:
        return self.train.fingerprint


def prepare(asked: Asked, folder: Path, resume: bool, tell: Tell) -> Corpus:
    """Made anew, or, for a run that goes on, as it was; that the data are still the same is asked first."""
    identity = asked.identity()
    before = _before(folder / PREPARED)
    # what was lost is made again: from the same data it comes out the same
    if before is not None and resume and all((folder / name).is_file() for name in (STORE, SOURCE, TARGET)):
        if before["identity"] != identity:
            raise Fault(
                f"{asked.table.name}: the data, or what the recipe says of them, have changed since the run in "
                f"{folder.parent} began; begin anew in another folder"
            )
        return _opened(folder, before)
    report = Report(asked.strict)
    fingerprint = _read(asked, report, folder / PAIRS)
    tell(f"{asked.table.name}: {report.lines()[0]}")
    dev, held = _dev(asked, folder, tell)

    def train() -> Iterator[Pair]:
        pairs = _kept(folder / PAIRS)
        return pairs if held is None else compress(pairs, ~held)

    source, target = _learned(asked.data, train)
    skipped = report.skipped
    cut = encoded(train(), source, target, asked.data.longest, report)
    store = Store.write(folder / STORE, cut, fingerprint)
    if report.skipped > skipped:
        tell(f"{report.skipped - skipped:,} more pairs skipped: over {asked.data.longest} tokens (data.longest)")
    for line in report.lines()[1:]:
        tell(line)
    files = [each.name for each in (asked.table, asked.dev) if each is not None]
    about = {"files": files, "train_pairs": len(store), "dev_pairs": len(dev), "fingerprint": fingerprint}
    made = {
        "identity": identity,
        "about": about | {"report": report.as_dict()},
        "dev": [[pair.source, pair.target, pair.place] for pair in dev],
    }
    for name, vocabulary in ((SOURCE, source), (TARGET, target)):
        whole_text(folder / name, vocabulary.to_json())
    whole_text(folder / PREPARED, json.dumps(made))
    (folder / PAIRS).unlink()
    return _opened(folder, made)


def references(table: Table, tell: Tell, strict: bool = False) -> list[References]:
    """A table to measure on, as it is written; what was skipped is told."""
    report = Report(strict)
    found = group(read(table.source, table.target, report, Limits(ratio=0.0, distinct=False)))
    if report.counts:
        for line in report.lines():
            tell(f"{table.name}: {line}")
    return found


def _read(asked: Asked, report: Report, path: Path) -> str:
    """The clean pairs into one file; returns its fingerprint."""
    digest = hashlib.sha256()
    limits = Limits(ratio=asked.data.ratio, distinct=asked.data.distinct)

    def fill(beside: Path) -> None:
        with beside.open("w", encoding="utf-8") as file:
            for pair in _clean(asked.table, Cleaner(asked.data.clean), limits, report):
                digest.update(json.dumps([pair.source, pair.target], ensure_ascii=False).encode())
                file.write(json.dumps([pair.source, pair.target, pair.place]) + "\n")

    whole(path, fill)
    return digest.hexdigest()


def _clean(table: Table, cleaner: Cleaner, limits: Limits, report: Report) -> Iterator[Pair]:
    for pair in read(table.source, table.target, report, limits):
        source, target = cleaner.text(pair.source), cleaner.text(pair.target)
        if source and target:
            yield Pair(source, target, pair.place)
        else:  # there was nothing but what cleaning takes away
            report.add(Kind.EMPTY, pair.place)


def _kept(path: Path) -> Iterator[Pair]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Pair(*json.loads(line))


def _dev(asked: Asked, folder: Path, tell: Tell) -> tuple[list[Pair], Any]:
    """The pairs to measure on and, where they were taken from the table, which of its pairs they are."""
    if asked.dev is not None:
        found = references(asked.dev, tell, asked.strict)
        return [Pair(each.source, target, each.place) for each in found for target in each.targets], None
    held = hold_out(_kept(folder / PAIRS), asked.held, asked.seed)
    pairs = list(compress(_kept(folder / PAIRS), held))
    tell(f"{len(pairs):,} of them held out to measure on, with all translations of a sentence on one side")
    return pairs, held


def _learned(data: Data, train: Callable[[], Iterator[Pair]]) -> tuple[Vocabulary, Vocabulary]:
    def texts(sides: Sequence[int]) -> Iterable[str]:
        pairs = islice(train(), LEARNED_FROM)
        return ((pair.source, pair.target)[side] for pair in pairs for side in sides)

    source = learn(data.source.kind, data.source.size, texts((0, 1) if data.shared_vocabulary else (0,)))
    if data.shared_vocabulary:
        return source, source
    return source, learn(data.target.kind, data.target.size, texts((1,)))


def _opened(folder: Path, made: dict[str, Any]) -> Corpus:
    try:
        texts = [(folder / name).read_text(encoding="utf-8") for name in (SOURCE, TARGET)]
    except OSError as error:
        raise Fault(f"{folder}: {error.strerror}; begin anew in another folder") from error
    source = Vocabulary.from_json(texts[0], str(folder / SOURCE))
    target = source if texts[0] == texts[1] else Vocabulary.from_json(texts[1], str(folder / TARGET))
    dev = group(Pair(*pair) for pair in made["dev"])
    return Corpus(source, target, Store.open(folder / STORE), tuple(dev), made["about"])


def _before(path: Path) -> dict[str, Any] | None:
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        return made if {"identity", "about", "dev"} <= made.keys() else None
    except (OSError, ValueError, AttributeError):
        return None
