"""A run ships its best weights, says in one line why it cannot go on, and keeps to its minutes."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_run import AVERAGES, ROWS, At, Draws, Log, Rows, Scores, Ticks, Toy, ask, plan, same, weights

from regard.fault import Fault
from regard.train import checkpoint as checkpoint_module
from regard.train.average import Averaging
from regard.train.checkpoint import read
from regard.train.ends import Diverged, Stopped
from regard.train.plan import Plan, Result
from regard.train.run import MANY, run
from regard.train.schedule import Budget
from regard.train.update import Descent, Update

averages = pytest.mark.parametrize("averaging", AVERAGES, ids=lambda one: one.kind)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test cuts the power."""
    monkeypatch.setattr(checkpoint_module, "_force", lambda path: None)


@averages
def test_a_run_is_its_loop_written_out(averaging: Averaging, tmp_path: Path) -> None:
    its = plan(40, 8, averaging=averaging, precision="float32")
    run(found := Toy(), Draws(), its, tmp_path)
    model = Toy()
    update, average = Update(model, its.descent, "float32"), its.averaging.of(model)
    torch.manual_seed(its.seed)
    batches = (batch for epoch in range(9) for batch in Draws().epoch(epoch, 0))
    for number in range(40):
        updated = update(next(batches), number / 40)
        model.baseline.lerp_(updated.loss.total.detach(), 0.1)
        average.update()
        if number % 8 == 7:
            average.mark()
    average.settle()
    assert same(weights(found), weights(model))


def test_the_seed_and_the_progress_matter(tmp_path: Path) -> None:
    """Or the test above could not fail."""
    ends = []
    for number, its in enumerate([plan(), plan(seed=2), plan(updates=50)]):
        run(model := Toy(), Draws(), its, tmp_path / str(number))
        ends.append(weights(model))
    assert not same(ends[0], ends[1])
    assert not same(ends[0], ends[2])


def test_measuring_and_watching_change_nothing(tmp_path: Path) -> None:
    run(alone := Toy(), Draws(), plan(), tmp_path / "alone")
    run(
        seen := Toy(),
        Draws(),
        plan(),
        tmp_path / "seen",
        measure=Scores(seen, [1.0, 2.0, 3.0, 4.0, 5.0]),
        watcher=Log(),
    )
    assert same(weights(alone), weights(seen))
    assert not alone.training


@averages
def test_the_best_weights_are_shipped(averaging: Averaging, tmp_path: Path) -> None:
    measure = Scores(model := Toy(), [1.0, 5.0, math.nan, 5.0, 2.0])
    its = plan(50, 10, averaging=averaging, keep=1)
    result = run(model, Draws(), its, tmp_path, measure=measure, watcher=(log := Log()))
    assert (result.score, result.why, result.updates) == (5.0, "budget spent", 50)
    assert result.best == tmp_path / "checkpoints" / "00000020"
    assert result.checkpoint == tmp_path / "checkpoints" / "00000050"
    assert [one.best for one in log.scores] == [True, True, False, False, False]
    assert same(weights(model), measure.seen[1])
    assert not same(measure.seen[1], measure.seen[4])
    assert not model.training
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["00000020", "00000050"]


def test_averages_are_shipped_without_a_measure(tmp_path: Path) -> None:
    result = run(model := Toy(), Draws(), plan(averaging=AVERAGES[0]), tmp_path, watcher=(log := Log()))
    assert (result.score, result.best) == (None, None)
    last = read(result.checkpoint)
    assert all(torch.equal(model.get_parameter(name), mean) for name, mean in last.under("average/0").items())
    assert not torch.equal(model.get_parameter("outer.weight"), last.tensors["model/outer.weight"])
    assert [one.scores for one in log.scores] == [{}] * 5


def test_early_stop(tmp_path: Path) -> None:
    scores = [1.0, 3.0, 2.0, 3.0, 9.0, 8.0, 7.0, 6.0]
    measure = Scores(model := Toy(), scores)
    result = run(model, Draws(), plan(90, 10, patience=2), tmp_path, measure=measure, watcher=(log := Log()))
    assert (result.why, result.updates, result.score) == ("early stop", 40, 3.0)
    assert log.why == ["early stop"]
    assert same(weights(model), measure.seen[1])
    again = run(Toy(), Draws(), plan(90, 10, patience=2), tmp_path, measure=measure, resume=True)
    assert again == result
    more = Scores(model := Toy(), scores[4:])
    result = run(model, Draws(), plan(90, 10, patience=3), tmp_path, measure=more, resume=True)
    assert (result.why, result.updates, result.score) == ("early stop", 80, 9.0)


def test_a_folder_that_cannot_be_one_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Fault, match="file"):
        run(Toy(), Draws(), plan(), tmp_path / "file" / "deeper")
    (tmp_path / "checkpoints").write_text("")
    with pytest.raises(Fault, match="checkpoints"):
        run(Toy(), Draws(), plan(), tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_stops(number: int, tmp_path: Path) -> None:
    before = signal.getsignal(number)
    measure = Scores(model := Toy(), [1.0])
    with pytest.raises(Stopped, match="--resume") as stopped:
        run(model, Draws(), plan(), tmp_path, measure=measure, watcher=(log := At(13, lambda: ask(number))))
    assert stopped.value.code == 128 + number
    assert read(stopped.value.checkpoint).state["updates"] == 13
    assert len(measure.seen) == 1  # at update 8
    assert (len(log.places), log.why) == (13, ["stopped"])
    assert signal.getsignal(number) == before


def test_a_signal_in_a_measurement_waits_for_it(tmp_path: Path) -> None:
    def measure() -> Mapping[str, float]:
        ask()
        return {"score": 1.0}

    with pytest.raises(Stopped) as stopped:
        run(Toy(), Draws(), plan(), tmp_path, measure=measure)
    assert read(stopped.value.checkpoint).state["best"] == {"score": 1.0, "update": 8, "since": 0}
    assert read(stopped.value.checkpoint).state["marked"] == 8


def test_other_threads_hear_no_signals(tmp_path: Path) -> None:
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(run(Toy(), Draws(), plan(), tmp_path)))
    thread.start()
    thread.join()
    assert [one.updates for one in results] == [40]


def test_a_loss_that_is_no_number_stops(tmp_path: Path) -> None:
    model = Toy()
    model.spoiled = {13}
    with pytest.raises(Diverged) as diverged:
        run(model, Draws(), plan(), tmp_path, watcher=(log := Log()))
    last = tmp_path / "checkpoints" / "00000008"
    assert "update 16" in str(diverged.value)  # the next checkpoint, which is not saved
    assert f"the last good checkpoint is {last};" in str(diverged.value)
    assert read(last).state["updates"] == 8
    assert not (tmp_path / "checkpoints" / "00000016").exists()
    assert math.isnan(log.reports[-1].losses["loss"])
    assert log.why == ["diverged"]


def test_a_loss_that_is_no_number_stops_at_a_report(tmp_path: Path) -> None:
    model = Toy()
    model.spoiled = {2}
    with pytest.raises(Diverged, match=r"update 3: .* there is no checkpoint before it"):
        run(model, Draws(), plan(100, 50), tmp_path, now=Ticks(0.4))


def test_a_signal_saves_no_spoiled_run(tmp_path: Path) -> None:
    model = Toy()
    model.spoiled = {3}
    with pytest.raises(Diverged):
        run(model, Draws(), plan(), tmp_path, watcher=At(4, ask))
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_spoiled_weights_are_never_saved(tmp_path: Path) -> None:
    model = Toy()
    with pytest.raises(Diverged, match="weights are no numbers"):
        run(model, Draws(), plan(), tmp_path, watcher=At(16, lambda: model.inner.weight.data[0, 0].fill_(torch.inf)))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000008"]


def test_a_few_spikes_are_skipped_and_many_in_a_row_stop(tmp_path: Path) -> None:
    model = Toy()
    model.steep = {3, 4, 9}
    result = run(model, Draws(), plan(), tmp_path / "few", watcher=(log := Log()))
    assert result.why == "budget spent"
    assert sum(report.skipped for report in log.reports) == 3
    model = Toy()
    model.steep = set(range(50, 50 + MANY))
    with pytest.raises(Diverged, match=f"{MANY} updates in a row"):
        run(model, Draws(), plan(1000, 40), tmp_path / "many")
    assert read(tmp_path / "many" / "checkpoints" / "00000120").state["updates"] == 120


def test_a_measure_that_fails_ends_the_run(tmp_path: Path) -> None:
    def fail() -> Mapping[str, float]:
        raise RuntimeError("no dev part")

    log = Log()
    with pytest.raises(RuntimeError, match="no dev part"):
        run(model := Toy(), Draws(), plan(), tmp_path, measure=fail, watcher=log)
    assert log.why == ["failed"]
    assert model.training


def test_data_without_a_batch_is_a_fault(tmp_path: Path) -> None:
    class Nothing:
        def batches(self, number: int) -> int:
            return 0

        def epoch(self, number: int, start: int) -> Any:
            return iter(list[Rows]())

    with pytest.raises(Fault, match="no batch"):
        run(Toy(), Nothing(), plan(), tmp_path)


@pytest.mark.parametrize("updates", [5, 39])
def test_the_stream_is_closed(updates: int, tmp_path: Path) -> None:
    """It may have read ahead in a thread."""
    opened: list[int] = []

    class Reading:
        def batches(self, number: int) -> int:
            return 7

        def epoch(self, number: int, start: int) -> Iterator[Rows]:
            opened.append(number)
            try:
                yield from Draws().epoch(0, start)
            finally:
                opened.remove(number)

    seen: list[list[int]] = []

    def stop() -> None:
        seen.append([*opened])
        ask()

    with pytest.raises(Stopped) as stopped:  # its traceback keeps hold of the run
        run(Toy(), Reading(), plan(), tmp_path, watcher=At(updates, stop))
    assert (seen, opened, stopped.value.code) == ([[updates // 7]], [], 143)


def test_epochs_are_counted(tmp_path: Path) -> None:
    result = run(Toy(), Draws(), Plan(Budget(epochs=3.5)), tmp_path, watcher=(log := Log()))
    assert (result.updates, result.epochs) == (7 + 8 + 7 + 4, 3.5)
    assert log.places[6].epoch == 1.0
    assert log.places[6].progress == pytest.approx(1 / 3.5)


def test_reports_hold_means_and_speeds(tmp_path: Path) -> None:
    """Three looks at the clock of 0.4 seconds between two reports, and none counted for what is not training."""
    ticks = Ticks(0.4)

    def measure() -> Mapping[str, float]:
        ticks.time += 1000
        return {"score": 1.0}

    run(Toy(), Draws(), plan(200, 6), tmp_path, measure=measure, watcher=(log := Log()), now=ticks)
    first = log.reports[0]
    assert first.place.update == 3
    assert first.tokens_per_second == pytest.approx(3 * ROWS / 1.6)
    assert first.rate == pytest.approx(Descent().rate_at(2 / 200))
    assert [report.place.update for report in log.reports][:6] == [3, 6, 9, 12, 15, 18]
    assert all(5 < report.tokens_per_second < 15 for report in log.reports)
    assert [one.place.update for one in log.scores] == [*range(6, 200, 6), 200]
    assert all(one.report is not None and one.report.place.update == one.place.update for one in log.scores)


def test_minutes_are_of_work(tmp_path: Path) -> None:
    its = Plan(Budget(minutes=1.0), checkpoint_updates=10_000)
    with pytest.raises(Stopped):
        run(Toy(), Draws(), its, tmp_path, watcher=(log := At(50, ask)), now=Ticks(0.5))
    assert 20 < log.places[-1].seconds < 50
    result = run(Toy(), Draws(), its, tmp_path, watcher=(rest := Log()), now=Ticks(0.5, 1e6), resume=True)
    assert result.why == "budget spent"
    assert result.seconds == pytest.approx(60, abs=2)
    assert rest.places[0].seconds == pytest.approx(log.places[-1].seconds, abs=3)
    assert rest.places[0].update == 51
    progress = [place.progress for place in log.places + rest.places]
    assert progress == pytest.approx(sorted(progress), abs=0.05)
    again = run(Toy(), Draws(), its, tmp_path, watcher=(none := Log()), now=Ticks(0.5), resume=True)
    assert again == result
    assert none.places == []


def test_measuring_keeps_within_its_share_of_the_minutes(tmp_path: Path) -> None:
    ticks = Ticks(1.0)

    def measure() -> Mapping[str, float]:
        ticks.time += 30
        return {"score": ticks.time}

    its = Plan(Budget(minutes=10.0), checkpoint_updates=20)
    result = run(Toy(), Draws(), its, tmp_path, measure=measure, watcher=(log := Log()), now=ticks)
    measured = [one for one in log.scores if one.scores]
    assert len(measured) * 30 <= 0.08 * 600 + 30
    assert len(log.scores) > 2 * len(measured)
    assert measured[-1] is log.scores[-1]
    assert result.best == result.checkpoint
    assert result.seconds == pytest.approx(600, abs=10)  # the last measurement is over when they are


def test_what_measuring_costs_outlives_a_stop(tmp_path: Path) -> None:
    its, ticks, log = Plan(Budget(minutes=10.0), checkpoint_updates=10), Ticks(1.0), Log()

    def measure() -> Mapping[str, float]:
        ticks.time += 30
        return {"score": 1.0}

    with pytest.raises(Stopped):
        run(Toy(), Draws(), its, tmp_path, measure=measure, watcher=At(12, ask), now=ticks)
    run(Toy(), Draws(), its, tmp_path, measure=measure, watcher=log, now=ticks, resume=True)
    assert [bool(one.scores) for one in log.scores][:2] == [False, False]
