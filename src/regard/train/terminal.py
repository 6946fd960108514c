"""A run in the terminal: a bar on stderr while it goes on, and one line for each measurement, which stays.

Where stderr is no terminal, there are only the lines.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from regard.train.watch import Measured, Place, Report

LABELS = {"bleu": "BLEU", "chrf": "chrF", "entropy": "attention entropy"}
UNITS = {"entropy": " nats"}
DIGITS = {"entropy": 2, "loss": 2}
PULSE = 0.2  # seconds between two looks at the bar


@final
class Terminal:
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._shown = 0.0
        self._numbers = ""

    def began(self, place: Place) -> None:
        if place.update:
            self._line(f"going on after update {place.update:,}")
        if not self._console.is_terminal:
            return
        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24))
        self._bar = Progress(*columns, console=self._console, transient=True, auto_refresh=False)
        self._task = self._bar.add_task(_where(place), total=1.0)
        self._bar.update(self._task, completed=place.progress)
        self._bar.start()

    def updated(self, place: Place) -> None:
        now = time.monotonic()
        if self._bar is None or now - self._shown < PULSE:
            return
        self._shown = now
        words = [_where(place), self._numbers, _left(place)]
        self._bar.update(self._task, completed=place.progress, description="  ".join(filter(None, words)))
        self._bar.refresh()

    def reported(self, report: Report) -> None:
        self._numbers = _numbers(report)
        if report.skipped:
            plural = "s" if report.skipped > 1 else ""
            self._line(f"skipped {report.skipped} update{plural} whose gradients were no numbers")

    def measured(self, measured: Measured) -> None:
        report = measured.report
        words = [_where(measured.place), _numbers(report) if report else "", _scores(measured.scores)]
        words += ["best" if measured.best else "", _left(measured.place)]
        self._line("  ".join(filter(None, words)))

    def told(self, line: str) -> None:
        self._line(line)

    def ended(self, why: str) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _line(self, text: str) -> None:
        self._console.print(text)


def _where(place: Place) -> str:
    return f"epoch {place.epoch:.1f}  update {place.update:,}"


def _numbers(report: Report) -> str:
    speed = f"{report.tokens_per_second:,.0f} tokens/s"
    return f"loss {report.losses['loss']:.2f}  {speed}" if "loss" in report.losses else speed


def _scores(scores: Mapping[str, float]) -> str:
    """`score` only chooses, and is mostly one of the others again."""
    others = {name: value for name, value in scores.items() if name != "score"}
    shown = {
        name: f"{LABELS.get(name, name)} {value:.{DIGITS.get(name, 1)}f}{UNITS.get(name, '')}"
        for name, value in (others or scores).items()
    }
    return f"dev {' '.join(shown.values())}" if shown else ""


def _left(place: Place) -> str:
    if place.left is None:
        return ""
    minutes, seconds = divmod(max(0, round(place.left)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"
