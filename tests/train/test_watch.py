"""What a run writes down while it goes on, and how it is mended when a run goes on from a checkpoint."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from toy_run import At, Draws, Log, Scores, Toy, plan

from regard.fault import Fault
from regard.train import watch
from regard.train.run import run
from regard.train.watch import Measured, MetricsFile, Place, Report, TensorBoard, Watchers


def at(update: int) -> Place:
    return Place(update, update / 10, update / 100, update * 2.0)


def report(update: int, loss: float = 1.5) -> Report:
    return Report(at(update), {"loss": loss}, 1e-3, 0.5, 1000.0, 0)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(path: Path, start: int, updates: list[int]) -> None:
    file = MetricsFile(path)
    file.began(at(start))
    for update in updates:
        file.updated(at(update))
        file.reported(report(update))
    file.measured(Measured(at(updates[-1]), {"score": 7.0, "bleu": 7.0}, True, None))
    file.told("words")
    file.ended("stopped")


def test_a_line_for_each_report_and_measurement(tmp_path: Path) -> None:
    path = tmp_path / "new" / "metrics.jsonl"
    written(path, 0, [3, 6])
    assert rows(path) == [
        *(
            {"update": update, "epoch": update / 10, "progress": update / 100, "seconds": update * 2.0, "loss": 1.5}
            | {"rate": 1e-3, "norm": 0.5, "skipped": 0, "tokens_per_second": 1000.0}
            for update in (3, 6)
        ),
        {
            "update": 6,
            "epoch": 0.6,
            "progress": 0.06,
            "seconds": 12.0,
            "dev": {"score": 7.0, "bleu": 7.0},
            "best": True,
        },
    ]


def test_lines_are_there_at_once(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.began(at(0))
    file.reported(report(3))
    assert len(rows(tmp_path / "metrics.jsonl")) == 1
    file.measured(Measured(at(3), {}, False, None))  # a checkpoint alone
    assert len(rows(tmp_path / "metrics.jsonl")) == 1
    file.ended("")
    file.ended("")
    file.reported(report(4))


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.began(at(0))
    file.reported(report(3, float("nan")))
    file.measured(Measured(at(3), {"score": float("-inf")}, False, None))
    file.ended("")
    assert [row.get("loss", row.get("dev")) for row in rows(tmp_path / "metrics.jsonl")] == [None, {"score": None}]


@pytest.mark.parametrize(
    "tail",
    ["", '{"update": 7, "lo', '{"update": 5}', "\xff\n", "[]\n", "null\n", "{}\n", '{"update": "7"}\n', "\n"],
    ids=repr,
)
def test_what_came_after_the_checkpoint_is_taken_away(tail: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    written(path, 0, [2, 4, 5])
    written(path, 5, [8, 9])
    with path.open("a", encoding="latin-1") as file:
        file.write(tail)
    before = rows(path)[:4] if tail == "" else []
    written(path, 5, [6])
    assert [row["update"] for row in rows(path)] == [2, 4, 5, 5, 6, 6]
    assert rows(path)[: len(before)] == before


def test_a_run_begun_anew_begins_its_file_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    written(path, 0, [2, 4])
    written(path, 0, [1])
    assert [row["update"] for row in rows(path)] == [1, 1]


def test_a_half_line_before_the_checkpoint_is_taken_away(tmp_path: Path) -> None:
    """It cannot come about in a run, but in a copy of one."""
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"update": 1}\n{"upd')
    written(path, 5, [6])
    assert [row["update"] for row in rows(path)] == [1, 6, 6]


def test_a_file_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(Fault, match=str(tmp_path)):
        MetricsFile(tmp_path).began(at(0))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_fault(tmp_path: Path) -> None:
    """Also when the file is closed, and the other watchers are told of the end."""
    file, log = MetricsFile(tmp_path / "metrics.jsonl"), Log()

    def fill() -> None:
        file.ended("")
        file._file = Path("/dev/full").open("a", encoding="utf-8")  # noqa: SIM115

    with pytest.raises(Fault, match=r"metrics.jsonl: cannot be written: No space left on device"):
        run(Toy(), Draws(), plan(), tmp_path, watcher=Watchers([At(5, fill), file, log]))
    assert log.why == ["failed"]
    file.ended("")


def test_several_watchers_are_one(tmp_path: Path) -> None:
    logs = [Log(), Log()]
    measure = Scores(model := Toy(), [1.0, 2.0, 3.0, 2.0, 1.0])
    run(model, Draws(), plan(), tmp_path, measure=measure, watcher=Watchers(logs))
    assert logs[0] == logs[1]
    assert (len(logs[0].places), len(logs[0].scores), logs[0].why) == (40, 5, ["budget spent"])
    watchers = Watchers(logs)
    watchers.told("words")
    assert [log.lines for log in logs] == [["words"], ["words"]]


class Writer:
    """Stands for TensorBoard's."""

    made: list[Writer] = []  # noqa: RUF012

    def __init__(self, folder: str, purge_step: int) -> None:
        self.folder, self.purge_step = folder, purge_step
        self.scalars: list[tuple[str, float, int]] = []
        self.closed = False
        self.made.append(self)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        if value == 666.0:
            raise OSError(28, "No space left on device")
        self.scalars.append((name, value, step))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[Writer]:
    stand_in = ModuleType("torch.utils.tensorboard")
    vars(stand_in).update(vars(SimpleNamespace(SummaryWriter=Writer)))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stand_in)
    monkeypatch.setattr(watch, "installed", lambda: True)
    monkeypatch.setattr(Writer, "made", [])
    return Writer.made


def test_tensorboard_gets_every_number(writers: list[Writer], tmp_path: Path) -> None:
    board = TensorBoard(tmp_path / "board")
    board.began(at(5))
    board.updated(at(6))
    board.reported(report(6))
    board.measured(Measured(at(6), {"score": 7.0}, True, None))
    board.told("words")
    board.ended("stopped")
    board.reported(report(7))
    [writer] = writers
    assert (writer.folder, writer.purge_step, writer.closed) == (str(tmp_path / "board"), 6, True)
    train = {"train/loss": 1.5, "train/rate": 1e-3, "train/norm": 0.5, "train/tokens_per_second": 1000.0}
    assert writer.scalars == [*((name, value, 6) for name, value in train.items()), ("dev/score", 7.0, 6)]


def test_a_board_that_cannot_be_written_is_a_fault(writers: list[Writer], tmp_path: Path) -> None:
    board = TensorBoard(tmp_path / "board")
    board.began(at(0))
    with pytest.raises(Fault, match="No space left"):
        board.reported(report(6, 666.0))
    assert len(writers) == 1


def test_without_tensorboard_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(watch, "installed", lambda: False)
    board = TensorBoard(tmp_path / "board")
    board.began(at(0))
    board.reported(report(6))
    board.ended("")
    assert not (tmp_path / "board").exists()


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_itself_reads_it(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = TensorBoard(tmp_path)
    board.began(at(0))
    board.reported(report(6))
    board.ended("")
    found = events.EventAccumulator(str(tmp_path))
    found.Reload()
    [scalar] = found.Scalars("train/loss")
    assert (scalar.step, scalar.value) == (6, 1.5)
