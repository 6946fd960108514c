"""A run goes on as if it had never been stopped, and refuses to where it cannot."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_run import AVERAGES, At, Draws, Log, Scores, Ticks, Toy, ask, drawn, plan, same, weights

from regard.fault import Fault
from regard.train import checkpoint as checkpoint_module
from regard.train.average import Averaging
from regard.train.checkpoint import Checkpoint, read
from regard.train.ends import Diverged, Stopped
from regard.train.plan import Plan
from regard.train.run import run
from regard.train.update import Descent
from regard.train.watch import Place

averages = pytest.mark.parametrize("averaging", AVERAGES, ids=lambda one: one.kind)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test cuts the power."""
    monkeypatch.setattr(checkpoint_module, "_force", lambda path: None)


def lasting(checkpoint: Checkpoint) -> dict[str, Any]:
    """All of its words but those of time."""
    return {key: value for key, value in checkpoint.state.items() if key not in ("seconds", "pace")}


def stopped_at(update: int, to: Path, its: Plan, **more: Any) -> Path:
    with pytest.raises(Stopped) as stopped:
        run(model := Toy(), Draws(), its, to, measure=drawn(model), watcher=At(update, ask), **more)
    return stopped.value.checkpoint


@averages
@pytest.mark.parametrize("stops", [[1], [6, 7, 8], [15], [20], [13, 29, 30, 39]], ids=str)
def test_stopped_and_resumed_is_never_stopped(averaging: Averaging, stops: list[int], tmp_path: Path) -> None:
    """Also where an epoch ends (7, 15), where a checkpoint is due (20, 30), and just before the end."""
    its = plan(40, 5, averaging=averaging)
    whole = Toy()
    wanted = run(whole, Draws(), its, tmp_path / "whole", measure=drawn(whole))
    for before, update in zip([0, *stops], stops, strict=False):
        torch.manual_seed(update)  # whatever has been drawn meanwhile
        stopped_at(update, tmp_path / "stopped", its, resume=before > 0)
    resumed, log = Toy(seed=8), Log()
    found = run(resumed, Draws(), its, tmp_path / "stopped", measure=drawn(resumed), watcher=log, resume=True)
    assert log.began_at == [stops[-1]]
    assert same(weights(resumed), weights(whole))
    assert (found.updates, found.epochs, found.score) == (wanted.updates, wanted.epochs, wanted.score)
    there, here = read(found.checkpoint), read(wanted.checkpoint)
    assert same(there.tensors, here.tensors)
    assert lasting(there) == lasting(here)
    assert {"model/scratch", "model/twin.weight"}.isdisjoint(here.tensors)  # made anew; another name of a weight
    assert {"model", "optimiser", "average", "meter", "random"} >= {name.split("/")[0] for name in here.tensors}


def test_patience_outlives_a_stop(tmp_path: Path) -> None:
    its = plan(90, 10, patience=2)
    with pytest.raises(Stopped):
        run(model := Toy(), Draws(), its, tmp_path, measure=Scores(model, [3.0, 2.0]), watcher=At(25, ask))
    result = run(model := Toy(), Draws(), its, tmp_path, measure=Scores(model, [1.0]), resume=True)
    assert (result.why, result.updates, result.score) == ("early stop", 30, 3.0)


def test_a_row_of_skipped_updates_outlives_a_stop(tmp_path: Path) -> None:
    """Those from 51 to 90, and all after it: there are 110 at the checkpoint of update 160."""
    for steep, stop in ((range(51, 99), 90), (range(999), 0)):
        model = Toy()
        model.steep = set(steep)
        with pytest.raises((Stopped, Diverged)) as ended:
            run(model, Draws(), plan(1000, 40), tmp_path, watcher=At(stop, ask), resume=stop == 0, now=Ticks(0.0))
    assert "update 160: 110 updates in a row" in str(ended.value)


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    result = run(first := Toy(), Draws(), plan(), tmp_path, measure=drawn(first))
    again = run(
        second := Toy(8), Draws(), plan(), tmp_path, measure=Scores(second, []), watcher=(log := Log()), resume=True
    )
    assert again == result
    assert log.places == []
    assert same(weights(second), weights(first))
    assert not second.training


def test_a_grown_budget_goes_on(tmp_path: Path) -> None:
    run(first := Toy(), Draws(), plan(40), tmp_path, measure=drawn(first))
    result = run(
        second := Toy(), Draws(), plan(60), tmp_path, measure=drawn(second), watcher=(log := Log()), resume=True
    )
    assert (result.updates, log.places[0].update, result.why) == (60, 41, "budget spent")
    assert log.places[0].progress == pytest.approx(41 / 60)
    shrunk = run(third := Toy(), Draws(), plan(30), tmp_path, measure=drawn(third), resume=True)
    assert (shrunk.updates, shrunk.why) == (60, "budget spent")


@pytest.mark.parametrize(
    ("other", "word"),
    [({"seed": 2}, "seed = 1 (now 2)"), ({"identity": "b"}, "another recipe"), ({"descent": Descent(2e-3)}, "rate")],
)
def test_another_plan_is_refused(other: dict[str, Any], word: str, tmp_path: Path) -> None:
    stopped_at(3, tmp_path, plan())
    with pytest.raises(Fault) as fault:
        run(Toy(), Draws(), plan(**other), tmp_path, resume=True)
    assert word in str(fault.value)


def test_another_model_is_refused(tmp_path: Path) -> None:
    stopped_at(3, tmp_path, plan())
    other = Toy()
    other.inner = torch.nn.Linear(7, 7, bias=False)
    with pytest.raises(Fault, match="another model"):
        run(other, Draws(), plan(), tmp_path, resume=True)


def test_one_run_a_folder(tmp_path: Path) -> None:
    def intrude() -> None:
        with pytest.raises(Fault, match="another run is at work"):
            run(Toy(), Draws(), plan(), tmp_path, resume=True)

    run(Toy(), Draws(), plan(), tmp_path, watcher=(log := At(5, intrude)))
    assert len(log.places) == 40
    with pytest.raises(Fault, match="--resume"):
        run(Toy(), Draws(), plan(), tmp_path)


def test_resuming_nothing_begins_anew(tmp_path: Path) -> None:
    run(first := Toy(), Draws(), plan(), tmp_path / "first")
    run(second := Toy(), Draws(), plan(), tmp_path / "second", resume=True, watcher=(log := Log()))
    assert same(weights(first), weights(second))
    assert "beginning anew" in log.lines[0]


def test_a_signal_before_the_first_update(tmp_path: Path) -> None:
    class Early(Log):
        def began(self, place: Place) -> None:
            ask()

    with pytest.raises(Stopped, match="update 0"):
        run(Toy(), Draws(), plan(), tmp_path, watcher=Early())
    run(resumed := Toy(4), Draws(), plan(), tmp_path, resume=True)
    run(whole := Toy(), Draws(), plan(), tmp_path / "whole")
    assert same(weights(resumed), weights(whole))


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    its = plan(60, 10)
    run(whole := Toy(), Draws(), its, tmp_path / "whole", measure=drawn(whole))
    last = stopped_at(35, tmp_path / "run", its)
    (last / "state.safetensors").write_bytes((last / "state.safetensors").read_bytes()[:-1])
    log = Log()
    run(resumed := Toy(), Draws(), its, tmp_path / "run", measure=drawn(resumed), watcher=log, resume=True)
    assert log.began_at == [30]
    assert str(last) in log.lines[0]
    assert same(weights(resumed), weights(whole))


def test_a_best_checkpoint_that_is_gone_is_chosen_anew(tmp_path: Path) -> None:
    its = plan(60, 10, patience=4)
    with pytest.raises(Stopped):
        run(model := Toy(), Draws(), its, tmp_path, measure=Scores(model, [9.0, 1.0, 1.0, 1.0]), watcher=At(45, ask))
    shutil.rmtree(tmp_path / "checkpoints" / "00000010")
    measure, log = Scores(model := Toy(), [3.0, 2.0]), Log()
    result = run(model, Draws(), its, tmp_path, measure=measure, watcher=log, resume=True)
    assert "chosen anew" in log.lines[0]
    assert (result.score, result.why) == (3, "budget spent")
    assert same(weights(model), measure.seen[0])
    shutil.rmtree(tmp_path / "checkpoints" / "00000050")
    result = run(model, Draws(), its, tmp_path, measure=Scores(model, [2.0]), resume=True)
    assert (result.score, result.best) == (2, tmp_path / "checkpoints" / "00000060")


def test_a_full_disk_leaves_the_old_ones_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    watcher = At(12, lambda: monkeypatch.setattr(checkpoint_module, "save_file", full))
    with pytest.raises(Fault, match="No space left on device"):
        run(Toy(), Draws(), plan(), tmp_path, watcher=watcher)
    assert watcher.why == ["failed"]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000008"]
    monkeypatch.undo()
    run(resumed := Toy(), Draws(), plan(), tmp_path, resume=True)
    run(whole := Toy(), Draws(), plan(), tmp_path / "whole")
    assert same(weights(resumed), weights(whole))
