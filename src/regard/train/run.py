"""The run: batch → update → average until the budget is spent, and now and then a report, a checkpoint, a measurement.

Stopped and resumed == never stopped, to the bit on the CPU. It does not know the task, nor what a batch holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, NoReturn, final

import torch

from regard.fault import Fault
from regard.train import randomness
from regard.train.checkpoint import Checkpoints, read
from regard.train.ends import Diverged, Stop, Stopped
from regard.train.learner import B, Learner, Measure, Stream
from regard.train.lock import locked
from regard.train.plan import Plan, Result
from regard.train.replay import lane
from regard.train.standing import Standing
from regard.train.watch import Measured, Report, Watcher, Watchers

REPORT = 1.0  # seconds between two reports, as each waits for the device
MANY = 100  # updates skipped in a row: a spike would have passed by then


def run(
    model: Learner[B],
    stream: Stream[B],
    plan: Plan,
    folder: Path,
    *,
    measure: Measure | None = None,
    watcher: Watcher | None = None,
    resume: bool = False,
    now: Callable[[], float] = time.monotonic,
) -> Result:
    """Trains `model`, which is on its device, and leaves it with the averaged weights of the best checkpoint.

    Raises `Stopped` after a signal, `Diverged` when there is nothing left to save, `Fault` for what the user can mend.
    """
    watcher = watcher or Watchers([])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Fault(f"{folder}: cannot be made: {error.strerror}") from error
    stop = Stop()
    device = next(weight.device for _, weight in model.named_parameters())
    with locked(folder), stop.listening(), lane(device):
        checkpoints = Checkpoints(folder / "checkpoints", plan.keep)
        checkpoints.open()
        if checkpoints.paths() and not resume:
            raise Fault(f"{folder}: there is a run in it already; go on with it by --resume, or give another folder")
        standing = Standing(model, stream, plan, now())
        one = _Run(model, standing, plan, checkpoints, measure, watcher, stop, now)
        why = "failed"
        try:
            one.begin(resume)
            result = one.go()
            why = result.why
        except (Diverged, Stopped) as end:
            why = type(end).__name__.lower()
            raise
        finally:
            standing.feed.close()
            watcher.ended(why)
        return result


@final
class _Run(Generic[B]):
    """Does at each turn the one thing that is due: leave, checkpoint, report, or update."""

    def __init__(
        self,
        model: Learner[B],
        standing: Standing[B],
        plan: Plan,
        checkpoints: Checkpoints,
        measure: Measure | None,
        watcher: Watcher,
        stop: Stop,
        now: Callable[[], float],
    ) -> None:
        self._model = model
        self._standing = standing
        self._plan = plan
        self._checkpoints = checkpoints
        self._measure = measure
        self._watcher = watcher
        self._stop = stop
        self._now = now
        self._saved: Path | None = None  # the last checkpoint
        self._report: Report | None = None
        self._progress = 0.0  # at the last update

    def begin(self, resume: bool) -> None:
        """Where the last checkpoint was made, or from the beginning."""
        checkpoint = self._checkpoints.latest(self._watcher.told)
        if checkpoint is not None:
            self._standing.restore(checkpoint, self._now())
            self._saved = checkpoint.path
            self._look_for_best()
        else:
            randomness.seed(self._plan.seed)
            if resume:
                self._watcher.told("there is no checkpoint to go on from: beginning anew")
        self._place = self._standing.place()
        self._reported = self._place.seconds
        self._watcher.began(self._place)

    def _look_for_best(self) -> None:
        """It may be gone where a newer checkpoint, for which it was given up, has been found damaged."""
        best = self._standing.best
        if best.update in (None, self._standing.updates):
            return
        try:
            read(self._checkpoints.path(best.update))
        except Fault as fault:
            self._watcher.told(f"{fault}; the best checkpoint is chosen anew from here on")
            best.forget()
            self._standing.why = ""

    def go(self) -> Result:
        self._model.train(True)
        standing = self._standing
        while not standing.why:
            seconds, over = self._place.seconds, self._place.progress >= 1
            if self._stop.number:
                self._leave()
            elif over or (standing.updates != standing.marked and standing.pace.due(standing.updates, seconds)):
                self._checkpoint(over)
            elif standing.meter.updates and seconds - self._reported >= REPORT:
                self._tell()
            else:
                self._step()
        return self._ship()

    def _step(self) -> None:
        """One update. Nothing here waits for the device."""
        standing = self._standing
        batch = standing.feed.next()
        self._progress = self._place.progress
        updated = standing.update(batch, self._progress)
        self._model.observe(updated.loss)
        standing.average.update()
        standing.meter.add(updated.loss, updated.norm, batch.tokens)
        standing.updates += 1
        self._tick()
        self._watcher.updated(self._place)

    def _tick(self) -> float:
        """The place as it is now; returns the seconds since it was last asked for."""
        before = self._standing.clock.seconds
        self._standing.clock.tick(self._now())
        self._place = self._standing.place()
        return self._place.seconds - before

    def _tell(self) -> None:
        """Reports, and ends a run that has gone astray."""
        standing = self._standing
        if not standing.meter.updates:
            return
        reading = standing.meter.read()
        self._tick()
        self._report = Report(
            place=self._place,
            losses=reading.losses,
            rate=self._plan.descent.rate_at(self._progress),
            norm=reading.norm,
            tokens_per_second=reading.tokens / max(self._place.seconds - self._reported, 1e-9),
            skipped=reading.skipped,
        )
        self._reported = self._place.seconds
        self._watcher.reported(self._report)
        if reading.lost:
            self._diverge("the loss is no number any more")
        if reading.in_a_row >= MANY:
            self._diverge(f"{reading.in_a_row} updates in a row had gradients that are no numbers")

    def _diverge(self, what: str) -> NoReturn:
        last = f"the last good checkpoint is {self._saved}" if self._saved else "there is no checkpoint before it"
        raise Diverged(f"update {self._standing.updates}: {what}; {last}; begin anew with a lower rate")

    def _checkpoint(self, over: bool) -> None:
        standing = self._standing
        self._tell()
        self._check()
        if standing.marked != standing.updates:
            standing.average.mark()
            standing.marked = standing.updates
        scores = self._scores() if over or standing.pace.affords(self._place.seconds) else {}
        best = bool(scores) and standing.best.take(standing.updates, float(scores["score"]))
        if over:
            standing.why = "budget spent"
        elif scores and standing.best.exhausted:
            standing.why = "early stop"
        # told before it is saved: whoever writes it down takes it back when a run resumes from an earlier checkpoint
        self._watcher.measured(Measured(self._place, scores, best, self._report))
        self._save()

    def _check(self) -> None:
        """The last update of all may spoil the weights without a loss to show it."""
        if not self._standing.finite():
            self._diverge("the weights are no numbers any more")

    def _scores(self) -> Mapping[str, float]:
        """Of the averaged weights, and as if nothing had been measured."""
        if self._measure is None:
            return {}
        self._tick()
        with randomness.untouched(), self._standing.average.swapped(), torch.no_grad():
            self._model.train(False)
            try:
                scores = self._measure()
            finally:
                self._model.train(True)
        self._standing.pace.measured(self._tick())
        return scores

    def _save(self) -> None:
        standing = self._standing
        self._tick()
        standing.pace.reached(standing.updates, self._place.seconds)
        self._saved = self._checkpoints.save(
            standing.updates, standing.tensors(), standing.words(), standing.best.update
        )
        if standing.why:  # the clock of a finished run stands still
            return
        standing.pace.saved(self._tick())
        self._reported = self._place.seconds

    def _leave(self) -> NoReturn:
        """All work is saved, but nothing is measured: what was due here is due when the run goes on."""
        updates = self._standing.updates
        if self._saved != self._checkpoints.path(updates):
            self._tell()
            self._check()
            self._save()
        assert self._saved is not None
        raise Stopped(self._stop.number, updates, self._saved)

    def _ship(self) -> Result:
        standing, best = self._standing, self._standing.best
        if best.update not in (None, standing.updates):
            standing.restore_weights(read(self._checkpoints.path(best.update)))
        standing.average.settle()
        self._model.train(False)
        assert self._saved is not None
        return Result(
            updates=standing.updates,
            epochs=standing.feed.epochs,
            seconds=standing.clock.seconds,
            score=best.score,
            best=None if best.update is None else self._checkpoints.path(best.update),
            checkpoint=self._saved,
            why=standing.why,
        )
