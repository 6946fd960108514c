"""Show: the ending says what a file is; a file is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from students import EVIL, STUDENTS

from regard.fault import Fault
from regard.trace.core import Trace
from regard.trace.show import KNOWN, known, save

BEGINS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF", ".html": b"<!doctype html>", ".json": b"{"}


@pytest.mark.parametrize("ending", KNOWN)
def test_the_ending_says_what_it_is(tmp_path: Path, ending: str) -> None:
    for name in (f"a{ending}", f"b.x{ending.upper()}"):
        assert save(STUDENTS, tmp_path / name, reader="layer1", head=0, title="t", every_head=True) is None
        assert (tmp_path / name).read_bytes().startswith(BEGINS[ending])
    assert len(list(tmp_path.iterdir())) == 2


def test_json_is_the_whole_trace(tmp_path: Path) -> None:
    for name in ("a.json", "A.JSON"):
        save(STUDENTS, tmp_path / name, reader="layer1")
        back = Trace.load(tmp_path / name)
        assert back.source == STUDENTS.source
        for old, new in zip(STUDENTS.readings, back.readings, strict=True):
            assert torch.equal(old.weights, new.weights)


@pytest.mark.parametrize("name", ["a.gif", "a", "a.html.txt", ".png"])
def test_any_other_ending_is_a_fault_that_lists_the_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(Fault, match=r"known are \.png \.svg \.pdf \.html \.json"):
        save(STUDENTS, tmp_path / name)
    with pytest.raises(Fault, match="known are"):
        known(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", KNOWN)
def test_where_it_cannot_be_written_nothing_is_left(tmp_path: Path, ending: str) -> None:
    with pytest.raises(Fault, match="there is no folder"):
        save(STUDENTS, tmp_path / "none" / f"a{ending}")
    (tmp_path / f"b{ending}").mkdir()
    with pytest.raises(Fault, match="it is a folder"):
        save(STUDENTS, tmp_path / f"b{ending}")
    assert [each.name for each in tmp_path.iterdir()] == [f"b{ending}"]


def test_pages_need_no_fonts_of_this_machine(tmp_path: Path) -> None:
    assert save(EVIL, tmp_path / "a.html") is None
