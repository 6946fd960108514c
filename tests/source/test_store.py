"""A store gives back what was written, and one that is not whole is named."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.fault import Fault
from regard.source import store as module
from regard.source.encoded import encoded
from regard.source.report import Kind, Report
from regard.source.store import FORMAT, MAGIC, Store
from regard.source.table import Pair
from regard.source.vocabulary import learn

Row = tuple[list[int], list[int]]

narrow = st.lists(st.integers(0, 2**16 - 1), max_size=5)
wide = st.lists(st.integers(0, 2**31 - 1), max_size=5)
tables = st.lists(st.tuples(narrow, narrow), max_size=12) | st.lists(st.tuples(wide, narrow), max_size=12)
ROWS: list[Row] = [([5, 6, 7], [8]), ([], [9, 9]), ([2**16 - 1], [4, 5, 6, 7])]


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """So that few rows are many chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", 3)
        patch.setattr(module, "_CHUNK", 8)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


def read(store: Store, numbers: list[int]) -> list[Row]:
    sides = []
    for ids, lengths in (store.sources(np.array(numbers, np.int64)), store.targets(np.array(numbers, np.int64))):
        ends = np.cumsum(lengths)
        sides.append([ids[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)])
    return list(zip(*sides, strict=True))


@settings(deadline=None)
@given(rows=tables, chance=st.randoms(use_true_random=False), fingerprint=st.text(max_size=9))
def test_rows_come_back_in_any_order(folder: Path, rows: list[Row], chance: random.Random, fingerprint: str) -> None:
    store = Store.write(folder / "a", iter(rows), fingerprint)
    numbers = chance.choices(range(len(rows)), k=7) if rows else []
    for each in (store, Store.open(folder / "a")):
        assert len(each) == len(rows)
        assert each.fingerprint == fingerprint
        assert read(each, numbers) == [rows[number] for number in numbers]
        assert [side.tolist() for side in each.lengths] == [[len(row[side]) for row in rows] for side in (0, 1)]


@pytest.mark.parametrize(("largest", "width"), [(2**16 - 1, 2), (2**16, 4)])
def test_ids_are_as_narrow_as_they_can_be(tmp_path: Path, largest: int, width: int) -> None:
    rows: list[Row] = [([number], [number, 4]) for number in range(50)]
    store = Store.write(tmp_path / "a", [*rows, ([largest], [4])])
    assert store.ids.itemsize == width
    assert read(store, list(range(51))) == [*rows, ([largest], [4])]


def test_rows_are_never_all_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 1 << 12)
    rows: Iterator[Row] = (([*range(100)], [*range(100)]) for _ in range(5000))
    tracemalloc.start()
    try:
        store = Store.write(tmp_path / "a", rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "a").stat().st_size > 2_000_000
    assert len(store) == 5000
    assert peak < 500_000


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "pairs.store"
    Store.write(path, ROWS, "made of this")
    whole = path.read_bytes()
    for at in range(len(whole)):
        for bit in (1, 128):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            with pytest.raises(Fault, match=r"pairs\.store: is "):
                Store.open(path)
        path.write_bytes(whole[:at])
        with pytest.raises(Fault, match=r"pairs\.store: is "):
            Store.open(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(
        Fault, match=rf"is damaged \(it has {len(whole) + 1} bytes where {len(whole)} were written\); delete"
    ):
        Store.open(path)
    path.write_bytes(whole)
    assert read(Store.open(path), [0, 1, 2]) == ROWS


def test_what_is_no_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(Fault, match="a: there is no such file"):
        Store.open(path)
    for content in (b"", b"Go.\tVa.\n" * 100):
        path.write_bytes(content)
        with pytest.raises(Fault, match="a: is not a store"):
            Store.open(path)
    path.write_bytes(MAGIC + struct.pack("<I", FORMAT + 1) + bytes(100))
    with pytest.raises(Fault, match=f"a: is a store of format {FORMAT + 1}, .* reads {FORMAT}; delete it"):
        Store.open(path)
    with pytest.raises(Fault, match="is a folder"):
        Store.open(tmp_path)


def test_the_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def broken() -> Iterator[Row]:
        yield from ROWS * 5
        raise Fault("the table ends here")

    with pytest.raises(Fault, match="the table ends here"):
        Store.write(path, broken())
    assert list(tmp_path.iterdir()) == []
    Store.write(path, ROWS)
    with pytest.raises(Fault, match="the table ends here"):
        Store.write(path, broken())
    assert list(tmp_path.iterdir()) == [path]
    assert read(Store.open(path), [0, 1, 2]) == ROWS


def test_an_open_store_outlives_its_file(tmp_path: Path) -> None:
    store = Store.write(tmp_path / "a", ROWS)
    Store.write(tmp_path / "a", [([1], [1])])
    assert read(store, [2, 0]) == [ROWS[2], ROWS[0]]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(Fault, match=r"a: cannot be written .*there is no folder"):
        Store.write(tmp_path / "none" / "a", ROWS)


TEXTS = [("go on", "va plus loin"), ("stay", "reste ici"), ("no no no no no no", "non"), ("so", "")]


def pairs() -> list[Pair]:
    return [Pair(source, target, f"t.tsv:{number}") for number, (source, target) in enumerate(TEXTS * 3, start=1)]


def test_encoded_pairs_and_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.source.encoded._PAIRS", 5)
    vocabulary = learn("word", 100, list(chain.from_iterable(TEXTS)))
    report = Report()
    rows = list(encoded(iter(pairs()), vocabulary, vocabulary, 5, report))
    assert [tuple(map(vocabulary.decode, row)) for row in rows] == TEXTS[:2] * 3
    assert report.counts == {Kind.TOO_LONG: 3, Kind.EMPTY: 3}
    assert report.first == {Kind.TOO_LONG: "t.tsv:3", Kind.EMPTY: "t.tsv:4"}
    assert len(list(encoded(pairs(), vocabulary, vocabulary, 6, Report()))) == 9  # `longest` itself is not too long


def test_strict_ends_at_the_first_long_pair() -> None:
    vocabulary = learn("word", 100, list(chain.from_iterable(TEXTS)))
    with pytest.raises(Fault, match=r"t\.tsv:3: too long"):
        list(encoded(pairs(), vocabulary, vocabulary, 5, Report(strict=True)))
