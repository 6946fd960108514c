"""Pharaoh: links are written and read; what is no link is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.fault import Fault
from regard.trace.pharaoh import Gold, gold_file, links_file, read, read_gold, written


@given(st.frozensets(st.tuples(st.integers(0, 99), st.integers(0, 99))))
def test_written_and_read_is_the_same(links: frozenset[tuple[int, int]]) -> None:
    assert read(written(links)) == links


def test_source_comes_first_and_orders() -> None:
    assert written(frozenset({(10, 0), (2, 1), (0, 3)})) == "0-3 2-1 10-0"
    assert written(frozenset()) == ""


def test_gold_counts_from_one() -> None:
    assert read_gold("1-1 2p3 3-2 2p2\n") == Gold(
        frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (2, 1), (1, 2), (1, 1)})
    )
    assert read_gold("") == Gold(frozenset(), frozenset())


def test_files(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("1-1\n\n2p1\n")
    assert [len(each.possible) for each in gold_file(tmp_path / "gold")] == [1, 0, 1]
    (tmp_path / "links").write_text("0-0 1-1\n\n")
    assert links_file(tmp_path / "links") == [frozenset({(0, 0), (1, 1)}), frozenset()]


def test_what_is_no_link_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("1-1\n1-1 2x3\n")
    with pytest.raises(Fault, match=r"gold, line 2: '2x3' is no link"):
        gold_file(tmp_path / "gold")
    with pytest.raises(Fault, match="counts from 0, but gold links count from 1"):
        read_gold("0-1")
    for wrong in ("1p2", "1-", "-1-2", "१-२", "1-2-3"):
        with pytest.raises(Fault, match="is no link"):
            read(wrong)
    with pytest.raises(Fault, match="cannot be read"):
        gold_file(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(Fault, match="not UTF-8"):
        links_file(tmp_path / "bytes")
