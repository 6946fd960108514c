"""Write: nobody ever sees half a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.fault import Fault
from regard.whole import whole


def filled(path: Path) -> None:
    path.write_text("new", encoding="utf-8")


def broken(path: Path) -> None:
    path.write_text("ha", encoding="utf-8")
    raise RuntimeError("in the middle")


def full(path: Path) -> None:
    path.write_text("ha", encoding="utf-8")
    raise OSError(28, "No space left on device")


def test_it_takes_its_place_in_one_step(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_text("old", encoding="utf-8")
    seen = []

    def write(beside: Path) -> None:
        seen.append((beside.suffix, beside.parent, place.read_text(encoding="utf-8")))
        filled(beside)

    whole(place, write)
    assert seen == [(".txt", tmp_path, "old")]
    assert place.read_text(encoding="utf-8") == "new"


def test_what_was_there_stays_when_it_fails(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_text("old", encoding="utf-8")
    with pytest.raises(RuntimeError, match="middle"):
        whole(place, broken)
    with pytest.raises(Fault, match=r"a\.txt: cannot be written \(No space left"):
        whole(place, full)
    assert place.read_text(encoding="utf-8") == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_a_link_keeps_pointing_where_it_did(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "there" / "a.txt")
    whole(tmp_path / "link.txt", filled)
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "there" / "a.txt").read_text(encoding="utf-8") == "new"


def test_a_name_may_be_as_long_as_the_disk_allows(tmp_path: Path) -> None:
    whole(tmp_path / f"{'w' * 240}.txt", filled)
    assert len(list(tmp_path.iterdir())) == 1
