"""Rows: the formats of tables, each read into rows of two sides. It does not know which rows are good pairs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Final, final

from regard.fault import Fault
from regard.source import lines as plain
from regard.source.report import Kind

_JSON: Final = (".jsonl", ".json", ".ndjson")


@final
@dataclass(frozen=True, slots=True)
class Row:
    """What a format found: two sides, or the reason why not."""

    source: str
    target: str
    place: str
    fault: Kind | None = None


def rows(source: str | Path, target: str | Path | None) -> Iterator[Row]:
    """Every row of a table, or of two parallel files; the format is told by the ending of the name."""
    if target is not None:
        return _parallel(source, target)
    form = plain.form(source) if str(source) != plain.STDIN else ".tsv"
    if form in _JSON:
        return _json_lines(source)
    return _parquet(source) if form == ".parquet" else _tsv(source)


def _tsv(path: str | Path) -> Iterator[Row]:
    name = plain.name(path)
    for number, raw in enumerate(plain.lines(path), start=1):
        place = f"{name}:{number}"
        if len(raw) > plain.LONGEST:
            yield Row("", "", place, Kind.TOO_LONG)
            continue
        text = text_of(raw)
        if text is None:
            yield Row("", "", place, Kind.ENCODING)
            continue
        source, tab, rest = text.partition("\t")
        yield Row(source, rest.partition("\t")[0], place, None if tab or not text.strip() else Kind.NO_TAB)


def _parallel(source: str | Path, target: str | Path) -> Iterator[Row]:
    if str(source) == str(target) == plain.STDIN:
        raise Fault("standard input can be one of the two sides only; name a file for the other")
    name = plain.name(source)
    both = zip_longest(plain.lines(source), plain.lines(target))
    for number, (left, right) in enumerate(both, start=1):
        if left is None or right is None:
            longer = number + sum(1 for _ in both)
            counts = (number - 1, longer) if left is None else (longer, number - 1)
            raise Fault(
                f"{name} has {counts[0]:,} lines and {plain.name(target)} has {counts[1]:,}; "
                "line n of one must be the translation of line n of the other"
            )
        place = f"{name}:{number}"
        if max(len(left), len(right)) > plain.LONGEST:
            yield Row("", "", place, Kind.TOO_LONG)
            continue
        texts = text_of(left), text_of(right)
        fault = Kind.ENCODING if None in texts else None
        yield Row(texts[0] or "", texts[1] or "", place, fault)


def _json_lines(path: str | Path) -> Iterator[Row]:
    name = plain.name(path)
    for number, raw in enumerate(plain.lines(path), start=1):
        place = f"{name}:{number}"
        if len(raw) > plain.LONGEST:
            yield Row("", "", place, Kind.TOO_LONG)
            continue
        text = text_of(raw)
        if text is None:
            yield Row("", "", place, Kind.ENCODING)
            continue
        sides = _sides(text)
        if sides is None:
            yield Row("", "", place, Kind.JSON if text.strip() else Kind.EMPTY)
            continue
        # JSON can spell half a character (a lone surrogate), which no UTF-8 can
        broken = any("\ud800" <= character <= "\udfff" for side in sides for character in side)
        yield Row(*sides, place, Kind.ENCODING if broken else None)


def _sides(text: str) -> tuple[str, str] | None:
    """The two sides of one JSON value: source and target, a translation of two languages, or an array of two."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = value["translation"] if "translation" in value else [value.get("source"), value.get("target")]
        if isinstance(value, dict):
            value = list(value.values())
    if isinstance(value, list) and len(value) == 2 and all(isinstance(side, str) for side in value):
        return value[0], value[1]
    return None


def _parquet(path: str | Path) -> Iterator[Row]:
    import pyarrow
    from pyarrow import parquet

    name = plain.name(path)
    with _seekable(path) as file:
        try:
            table = parquet.ParquetFile(file)
            columns = _columns(table.schema_arrow, name)
            number = 0
            for batch in table.iter_batches(batch_size=1024, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    values = list(row.values())
                    sides = values if len(values) == 2 else list((values[0] or {"source": "", "target": ""}).values())
                    yield Row(sides[0] or "", sides[1] or "", f"{name}:{number}")
        except (pyarrow.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise Fault(f"{name}: is not a Parquet file that can be read ({reason})") from None


def _seekable(path: str | Path) -> IO[bytes]:
    """Parquet is read from its end, so a compressed one is unpacked to the disk first."""
    if Path(path).suffix.lower() == ".parquet":
        with plain.faults(path):
            return Path(path).open("rb")
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    try:
        for chunk in plain.chunks(path):
            unpacked.write(chunk)
    except Fault:
        unpacked.close()
        raise
    unpacked.seek(0)
    return unpacked


def _columns(schema: Any, name: str) -> list[str]:
    """source and target, else a translation of two languages, else the first two columns of text."""
    from pyarrow import types

    texts = [
        field.name
        for field in schema
        if types.is_string(field.type) or types.is_large_string(field.type) or types.is_dictionary(field.type)
    ]
    if "source" in texts and "target" in texts:
        return ["source", "target"]
    if "translation" in schema.names:
        kind = schema.field("translation").type
        if types.is_struct(kind) and kind.num_fields == 2:
            return ["translation"]
    if len(texts) < 2:
        raise Fault(f"{name}: has {len(texts)} columns of text; two are needed, best called source and target")
    return texts[:2]


def text_of(raw: bytes) -> str | None:
    """None: these bytes are no UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
