"""Tables as people really have them: every format, and every way one can be wrong."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from regard.fault import Fault
from regard.source.lines import LONGEST, lines
from regard.source.report import Kind, Report
from regard.source.table import Limits, Line, Pair, References, group, read, read_lines

PAIRS = [("Go.", "जा."), ("Run!", "पळ!"), ("I am Rahul.", "मी राहुल आहे.")]


def tsv() -> bytes:
    return "".join(f"{source}\t{target}\tCC-BY\n" for source, target in PAIRS).encode()


def dictionaries() -> bytes:
    return "\n".join(json.dumps({"id": 7, "source": source, "target": target}) for source, target in PAIRS).encode()


def translations() -> bytes:
    return "\n".join(json.dumps({"translation": {"en": source, "mr": target}}) for source, target in PAIRS).encode()


def arrays() -> bytes:
    return "\n".join(json.dumps(pair) for pair in PAIRS).encode()


def _parquet(table: pyarrow.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def columns() -> bytes:
    return _parquet(pyarrow.table({"id": [1, 2, 3], "en": [s for s, _ in PAIRS], "mr": [t for _, t in PAIRS]}))


def named() -> bytes:
    return _parquet(pyarrow.table({"target": [t for _, t in PAIRS], "source": [s for s, _ in PAIRS]}))


def structs() -> bytes:
    return _parquet(pyarrow.table({"translation": [{"en": s, "mr": t} for s, t in PAIRS]}))


def sides(path: Path, target: Path | None = None) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read(path, target, Report())]


def reading(path: Path, limits: Limits | None = None) -> Report:
    report = Report()
    list(read(path, None, report, limits))
    return report


@pytest.mark.parametrize("pack", [None, gzip.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.tsv", tsv),
        ("a.txt", tsv),
        ("a.jsonl", dictionaries),
        ("b.jsonl", translations),
        ("c.json", arrays),
        ("a.parquet", columns),
        ("b.parquet", named),
        ("c.parquet", structs),
    ],
)
def test_every_format(
    tmp_path: Path, name: str, make: Callable[[], bytes], pack: Callable[[bytes], bytes] | None
) -> None:
    ending = "" if pack is None else ".gz" if pack is gzip.compress else ".zst"
    path = tmp_path / (name + ending)
    path.write_bytes(pack(make()) if pack else make())
    assert sides(path) == PAIRS


def test_two_files_and_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    left, right = tmp_path / "a.en", tmp_path / "a.mr.gz"
    left.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(source for source, _ in PAIRS).encode())
    right.write_bytes(gzip.compress("\n".join(target for _, target in PAIRS).encode()))
    assert sides(left, right) == PAIRS


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tsv())))
    assert next(read("-", None, Report())) == Pair("Go.", "जा.", "stdin:1")
    with pytest.raises(Fault, match="one of the two sides only"):
        list(read("-", "-", Report()))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"caf\xe9\tx", Kind.ENCODING),
        (b"a\0b\tx", Kind.NUL),
        (b"no tab here", Kind.NO_TAB),
        (b"", Kind.EMPTY),
        (b"a\t \xc2\xa0", Kind.EMPTY),
        (b"a\t", Kind.EMPTY),
        (b"a\x07b\x0b\tx", Kind.CONTROL),
        (b"x" * 10_000_000 + b"\ty", Kind.TOO_LONG),
        (b"x" * 20_001 + b"\t" + b"y" * 20_001, Kind.TOO_LONG),
        (b"x" * 100 + b"\ty", Kind.RATIO),
        ("Go.\tजा.".encode(), Kind.REPEATED),
    ],
)
def test_each_fault_of_a_line_is_counted_and_named(tmp_path: Path, line: bytes, kind: Kind) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(tsv() + line + b"\n" + b"last\tone\n")
    report = Report()
    pairs = list(read(path, None, report))
    assert report.counts == {kind: 1}
    assert report.first == {kind: f"{path}:4"}
    assert pairs[-1] == Pair("last", "one", f"{path}:5")
    assert len(pairs) == report.kept == 4 + (kind is Kind.CONTROL)
    with pytest.raises(Fault, match=r"pairs\.tsv:4: " + kind.value):
        list(read(path, None, Report(strict=True)))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('{"source": "a"}', Kind.JSON),
        ('{"source": "a", "target": 3}', Kind.JSON),
        ('["a", "b", "c"]', Kind.JSON),
        ('{"source": "a", ', Kind.JSON),
        ("[" * 100_000, Kind.JSON),
        ('{"translation": {"en": "a"}}', Kind.JSON),
        ("null", Kind.JSON),
        (" ", Kind.EMPTY),
        (r'["\ud800", "b"]', Kind.ENCODING),
        (r'["a\u0000", "b"]', Kind.NUL),
    ],
)
def test_each_fault_of_a_json_line(tmp_path: Path, line: str, kind: Kind) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(f'["one", "एक"]\n{line}\n', encoding="utf-8")
    assert reading(path).counts == {kind: 1}


def test_control_characters_become_spaces(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\x0bb\tc\n")
    assert sides(path) == [("a b", "c")]


def test_limits_can_be_lifted(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"x" * 100 + b"\ty\na\tb\na\tb\n")
    assert reading(path, Limits(ratio=0.0, distinct=False)).kept == 3


def test_missing_cells_of_parquet_are_empty_sides(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    parquet.write_table(pyarrow.table({"source": ["a", None], "target": ["b", "c"]}), path)
    assert reading(path).first == {Kind.EMPTY: f"{path}:2"}


def test_the_report_in_words_and_as_json(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\tb\nbad\nworse\na\tb\n\x07c\td\n")
    report = reading(path)
    assert report.lines() == [
        f"2 pairs read, 3 skipped: 2 without a tab (first: {path}:2), 1 repeated (first: {path}:4)",
        f"repaired: 1 with control characters (first: {path}:5)",
    ]
    assert json.loads(json.dumps(report.as_dict())) == {
        "pairs": 2,
        "skipped": 3,
        "faults": {
            "no_tab": {"count": 2, "first": f"{path}:2", "kept": False},
            "repeated": {"count": 1, "first": f"{path}:4", "kept": False},
            "control": {"count": 1, "first": f"{path}:5", "kept": True},
        },
    }


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("empty.tsv", b"", "holds no pairs"),
        ("bad.tsv", b"no\ntabs\n", "holds no pairs .*2 without a tab"),
        ("wide.tsv", "a\tb\n".encode("utf-16"), "is UTF-16; save it as UTF-8"),
        ("cut.tsv.gz", gzip.compress(os.urandom(5000))[:-2500], "damaged"),
        ("cut.tsv.zst", zstandard.ZstdCompressor().compress(os.urandom(5000))[:-2500], "damaged"),
        ("empty.tsv.zst", b"", "damaged"),
        ("fake.tsv.gz", b"a\tb\n", "damaged"),
        ("fake.tsv.zst", b"a\tb\n", "damaged"),
        ("fake.parquet", b"a\tb\n", "is not a Parquet file"),
        ("one.parquet", _parquet(pyarrow.table({"source": ["a"], "n": [1]})), "has 1 columns of text"),
    ],
)
def test_each_fault_of_a_file(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(Fault, match=message):
        reading(path)


@pytest.mark.parametrize("ending", [".tsv", ".jsonl", ".parquet", ".tsv.gz", ".parquet.zst"])
def test_no_file_and_a_folder(tmp_path: Path, ending: str) -> None:
    with pytest.raises(Fault, match="there is no such file"):
        reading(tmp_path / f"none{ending}")
    (tmp_path / f"folder{ending}").mkdir()
    with pytest.raises(Fault, match="is a folder"):
        reading(tmp_path / f"folder{ending}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(tsv())
    path.chmod(0)
    with pytest.raises(Fault, match="may not be read"):
        reading(path)


def test_files_of_different_length(tmp_path: Path) -> None:
    left, right = tmp_path / "a.en", tmp_path / "a.mr"
    left.write_text("one\ntwo\n", encoding="utf-8")
    right.write_text("एक\nदोन\nतीन\nचार\n", encoding="utf-8")
    with pytest.raises(Fault, match=r"a\.en has 2 lines and .*a\.mr has 4;"):
        list(read(left, right, Report()))
    with pytest.raises(Fault, match=r"a\.mr has 4 lines and .*a\.en has 2;"):
        list(read(right, left, Report()))


def test_frames_of_zstandard_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(b"".join(zstandard.ZstdCompressor().compress(part) for part in (b"a\nb", b"", b"c\nd\n")))
    assert list(lines(path)) == [b"a", b"bc", b"d"]


@pytest.mark.parametrize("size", [LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST])
def test_a_long_line_is_cut(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * size + b"\r\nnext\n\nlast")
    first, *rest = lines(path)
    assert len(first) == min(size, LONGEST + 1)
    assert rest == [b"next", b"", b"last"]


def test_lines_of_one_side_are_never_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.en"
    path.write_bytes(b"one\n\ncaf\xe9\na\0\x07b\n")
    report = Report()
    assert list(read_lines(path, report)) == [
        Line("one", f"{path}:1"),
        Line("", f"{path}:2"),
        Line("caf\ufffd", f"{path}:3"),
        Line("a b", f"{path}:4"),
    ]
    assert report.counts == {Kind.ENCODING: 1, Kind.NUL: 1, Kind.CONTROL: 1}


def test_group_puts_the_translations_of_a_sentence_together() -> None:
    pairs = [
        Pair("Run!", "पळ!", "a:1"),
        Pair("Go.", "जा.", "a:2"),
        Pair("Run!", "धाव!", "a:3"),
        Pair("Run!", "पळ!", "a:4"),
    ]
    assert group(pairs) == [References("Run!", ("पळ!", "धाव!"), "a:1"), References("Go.", ("जा.",), "a:2")]
