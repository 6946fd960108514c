"""A checkpoint is whole or told of; saving one never harms another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from toy_run import same

from regard.fault import Fault
from regard.train import checkpoint as module
from regard.train.checkpoint import Checkpoints, read

TENSORS = {"a/x": torch.arange(60.0), "a/y": torch.tensor(3), "b/x": torch.zeros(2, dtype=torch.uint8)}
STATE = {"words": ["ä", 1, None], "number": 0.1}


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    """Three: 10, 20 and 30."""
    checkpoints = Checkpoints(tmp_path / "checkpoints", 3)
    checkpoints.open()
    for update in (10, 20, 30):
        checkpoints.save(update, TENSORS, STATE | {"update": update}, None)
    return checkpoints


def names(checkpoints: Checkpoints) -> list[int]:
    return [int(path.name) for path in checkpoints.paths()]


def test_what_was_saved_is_read(kept: Checkpoints) -> None:
    found = kept.latest(pytest.fail)
    assert found is not None
    assert found.path == kept.path(30)
    assert found.state == STATE | {"update": 30}
    assert same(found.tensors, TENSORS)
    assert same(found.under("a"), {"x": TENSORS["a/x"], "y": TENSORS["a/y"]})
    assert found.tensors["b/x"].dtype == torch.uint8


def test_the_newest_and_the_best_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, 2)
    checkpoints.open()
    for update, best, wanted in [
        (5, 5, [5]),
        (100, 5, [5, 100]),
        (200, 5, [5, 100, 200]),
        (300, 200, [200, 300]),
        (123_456_789, None, [300, 123_456_789]),
    ]:
        checkpoints.save(update, TENSORS, STATE, best)
        assert names(checkpoints) == wanted
    assert all(path.name.isdecimal() for path in tmp_path.iterdir())


def test_nothing_there_is_no_checkpoint(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "none", 2)
    assert checkpoints.paths() == []
    assert checkpoints.latest(pytest.fail) is None


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[-20] ^= 4
    path.write_bytes(whole)


def gone(path: Path) -> None:
    path.unlink()


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("harm", [cut, emptied, flipped, gone, lengthened])
@pytest.mark.parametrize("part", [module.TENSORS, module.STATE])
def test_a_damaged_one_is_passed_over(harm: Callable[[Path], None], part: str, kept: Checkpoints) -> None:
    harm(kept.path(30) / part)
    told: list[str] = []
    found = kept.latest(told.append)
    assert found is not None
    assert found.state["update"] == 20
    assert [str(kept.path(30) / part) in line for line in told] == [True]
    with pytest.raises(Fault):
        read(kept.path(30))


def rewritten(path: Path, **changes: Any) -> None:
    whole = json.loads((path / module.STATE).read_text())
    (path / module.STATE).write_text(json.dumps(whole | changes))


def test_every_bit_of_the_state_counts(kept: Checkpoints) -> None:
    rewritten(kept.path(30), state=STATE | {"update": 31})
    with pytest.raises(Fault, match="damaged"):
        read(kept.path(30))


@pytest.mark.parametrize("text", ["[]", "null", "{}", '"x"', '{"sha256": 1}', "\xff\x00"])
def test_what_is_no_state_is_told_of(text: str, kept: Checkpoints) -> None:
    (kept.path(30) / module.STATE).write_text(text, encoding="latin-1")
    with pytest.raises(Fault, match="damaged"):
        read(kept.path(30))


def test_parts_of_two_checkpoints_are_none(kept: Checkpoints) -> None:
    kept.save(40, TENSORS | {"a/y": torch.tensor(4)}, STATE, None)
    shutil.copy(kept.path(30) / module.TENSORS, kept.path(40) / module.TENSORS)
    with pytest.raises(Fault, match="damaged"):
        read(kept.path(40))


def test_a_newer_format_is_named(kept: Checkpoints) -> None:
    rewritten(kept.path(30), format=module.FORMAT + 1)
    told: list[str] = []
    found = kept.latest(told.append)
    assert found is not None
    assert found.state["update"] == 20
    assert f"format {module.FORMAT + 1}" in told[0]


def test_all_damaged_is_a_fault(kept: Checkpoints) -> None:
    for path in kept.paths():
        cut(path / module.TENSORS)
    told: list[str] = []
    with pytest.raises(Fault, match="none of the 3 checkpoints"):
        kept.latest(told.append)
    assert len(told) == 3


def test_faulty_later_ones_give_way(kept: Checkpoints) -> None:
    cut(kept.path(30) / module.TENSORS)
    kept.save(25, TENSORS, STATE, None)
    assert names(kept) == [10, 20, 25]
    cut(kept.path(25) / module.TENSORS)
    kept.save(25, TENSORS, STATE, None)
    assert read(kept.path(25)).state == STATE


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("IoError: os error 28")])
@pytest.mark.parametrize("name", ["save_file", "_force"])
def test_a_full_disk_is_a_fault(
    error: Exception, name: str, kept: Checkpoints, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(module, name, full)
    with pytest.raises(Fault, match="cannot be written") as fault:
        kept.save(40, TENSORS, STATE, None)
    assert str(kept.path(40)) in str(fault.value)
    monkeypatch.undo()
    assert names(kept) == [10, 20, 30]
    assert all(read(path).state for path in kept.paths())
    assert len(list((tmp_path / "checkpoints").iterdir())) == 3  # what was begun has given its room back


def test_what_a_killed_run_left_is_cleared_away(kept: Checkpoints, tmp_path: Path) -> None:
    left = tmp_path / "checkpoints" / f"{module.UNFINISHED}abc"
    left.mkdir()
    (left / module.TENSORS).write_bytes(b"half")
    assert names(kept) == [10, 20, 30]
    kept.open()
    assert not left.exists()
    assert names(kept) == [10, 20, 30]
