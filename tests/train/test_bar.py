"""A run in the terminal: lines that stay, and a bar where there is a terminal to draw it on."""

from __future__ import annotations

import io
import time
from dataclasses import replace

import pytest
from rich.console import Console

from regard.train.terminal import Terminal
from regard.train.watch import Measured, Place, Report

PLACE = Place(1234, 2.26, 0.5, 70.0, 125.4)
REPORT = Report(PLACE, {"loss": 2.345}, 1e-3, 1.0, 45678.0, 0)


def made(terminal: bool = False) -> tuple[Terminal, io.StringIO]:
    file = io.StringIO()
    console = Console(
        file=file,
        force_terminal=terminal,
        width=120,
        highlight=False,
        markup=False,
        soft_wrap=True,
        legacy_windows=False,
    )
    return Terminal(console), file


def test_without_a_terminal_there_are_only_lines() -> None:
    shown, file = made()
    shown.began(Place(0, 0.0, 0.0, 0.0))
    shown.updated(PLACE)
    shown.reported(REPORT)
    assert file.getvalue() == ""
    shown.measured(Measured(PLACE, {"score": 21.43, "bleu": 21.43, "chrf": 44.0, "entropy": 1.257}, True, REPORT))
    shown.ended("budget spent")
    assert file.getvalue() == (
        "epoch 2.3  update 1,234  loss 2.35  45,678 tokens/s  "
        "dev BLEU 21.4 chrF 44.0 attention entropy 1.26 nats  best  2:05 left\n"
    )


def test_a_checkpoint_alone_has_no_scores() -> None:
    shown, file = made()
    shown.measured(Measured(replace(PLACE, left=None), {}, False, None))
    assert file.getvalue() == "epoch 2.3  update 1,234\n"


def test_a_score_alone_is_shown() -> None:
    shown, file = made()
    shown.measured(Measured(replace(PLACE, left=3725.0), {"score": -3.21}, False, None))
    assert file.getvalue() == "epoch 2.3  update 1,234  dev score -3.2  1:02:05 left\n"


@pytest.mark.parametrize(("skipped", "words"), [(1, "skipped 1 update "), (3, "skipped 3 updates ")])
def test_skipped_updates_are_told(skipped: int, words: str) -> None:
    shown, file = made()
    shown.reported(replace(REPORT, skipped=skipped))
    assert file.getvalue().startswith(words)


def test_brackets_are_words_and_long_lines_stay_whole() -> None:
    shown, file = made()
    line = "/data/[red]run[/red]/checkpoints: " + "damaged " * 30
    shown.told(line)
    assert file.getvalue() == f"{line}\n"


def test_a_resumed_run_says_from_where() -> None:
    shown, file = made()
    shown.began(PLACE)
    assert file.getvalue() == "going on after update 1,234\n"


def test_the_bar_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 10.1, 20.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(times, 20.0))
    shown, file = made(terminal=True)
    shown.began(Place(0, 0.0, 0.0, 0.0))
    shown.reported(REPORT)
    shown.updated(PLACE)
    assert "update 1,234" in file.getvalue()
    assert "loss 2.35" in file.getvalue()
    drawn = len(file.getvalue())
    shown.updated(replace(PLACE, update=1235))
    assert len(file.getvalue()) == drawn  # too soon
    shown.updated(replace(PLACE, update=1236))
    assert "update 1,236" in file.getvalue()
    shown.ended("budget spent")
    drawn = len(file.getvalue())
    shown.updated(replace(PLACE, update=9999))
    shown.ended("again")
    assert len(file.getvalue()) == drawn
