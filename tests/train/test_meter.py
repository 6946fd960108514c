"""What the meter reads is what came together, and it is saved and restored in the middle."""

from __future__ import annotations

import math

import pytest
import torch
from safetensors.torch import load, save
from toy_run import Surprise

from regard.train.meter import Meter, Reading

CPU = torch.device("cpu")
NAN, INF = math.nan, math.inf


def add(meter: Meter, loss: float, norm: float = 1.0, tokens: int = 1, **parts: float) -> None:
    each = {name: torch.tensor(value) for name, value in parts.items()}
    meter.add(Surprise(torch.tensor(loss), each), torch.tensor(norm), tokens)


def test_means_are_per_token() -> None:
    meter = Meter(CPU)
    add(meter, 2.0, norm=3.0, tokens=10, reward=1.0)
    add(meter, 5.0, norm=5.0, tokens=30)
    add(meter, 1.0, norm=4.0, tokens=10, reward=4.0)
    assert meter.updates == 3
    reading = meter.read()
    assert reading.losses == pytest.approx({"loss": (20 + 150 + 10) / 50, "reward": (10 + 40) / 20})
    assert (reading.norm, reading.tokens, reading.skipped, reading.lost) == (4.0, 50, 0, 0)
    assert meter.updates == 0
    assert meter.read() == Reading({}, 0.0, 0, 0, 0, 0)


def test_a_part_named_loss_is_what_is_shown() -> None:
    """The model's total holds penalties too, and its `loss` is the bare likelihood."""
    meter = Meter(CPU)
    add(meter, 9.0, loss_of_another=1.0)
    meter.add(Surprise(torch.tensor(9.0), {"loss": torch.tensor(2.0)}), torch.tensor(1.0), 1)
    assert meter.read().losses == {"loss": (9.0 + 2.0) / 2, "loss_of_another": 1.0}


def test_what_is_no_number_is_counted() -> None:
    meter = Meter(CPU)
    for loss, norm in [(1.0, 1.0), (1.0, NAN), (INF, INF), (1.0, 3.0), (NAN, NAN)]:
        add(meter, loss, norm)
    reading = meter.read()
    assert (reading.skipped, reading.in_a_row, reading.lost, reading.norm) == (3, 2, 2, 2.0)
    assert math.isnan(reading.losses["loss"])
    add(meter, 1.0, 2.0)
    assert meter.read().losses == {"loss": 1.0}


def test_a_row_goes_on_over_readings() -> None:
    meter = Meter(CPU)
    rows = []
    for count in (2, 3):
        for _ in range(count):
            add(meter, 1.0, NAN)
        rows.append(meter.read().in_a_row)
    assert rows == [2, 5]
    assert meter.row() == 5
    add(meter, 1.0)
    assert (meter.row(), meter.read().in_a_row) == (0, 5)
    assert meter.read().in_a_row == 0


@pytest.mark.parametrize("cut", range(6))
def test_restored_it_reads_the_same(cut: int) -> None:
    """At any point, also right after a reading, and through a file, in which no two tensors may be one."""
    steps = [(1.0, 1.0), (2.0, NAN), (3.0, NAN), (4.0, NAN), (5.0, 2.0)]
    whole, meter = Meter(CPU), Meter(CPU)
    for number, (loss, norm) in enumerate(steps):
        if number == cut:
            words, tensors = meter.words(), load(save(meter.tensors()))
            meter = Meter(CPU)
            meter.restore(tensors, words)
        for one in (whole, meter):
            add(one, loss, norm, tokens=number + 1, **({"z": 1.0} if number else {}), a=2.0)
        if number == 1:
            assert whole.read() == meter.read()
    assert whole.updates == meter.updates
    assert list(whole.words()["weights"]) == list(meter.words()["weights"])
    assert whole.read() == meter.read()
