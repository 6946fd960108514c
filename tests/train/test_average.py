"""Averages equal their formulas written as loops, and are lent to the model without a trace."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch
from torch import nn
from toy_run import same

from regard.train.average import Average, Averaging

KINDS = [Averaging("ema", decay=0.6), Averaging("last", last=3), Averaging("none")]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.kind)


def made(kind: Averaging, seed: int = 1) -> tuple[nn.Linear, Average]:
    torch.manual_seed(seed)
    model = nn.Linear(3, 5)
    return model, kind.of(model)


def walk(model: nn.Linear, average: Average, steps: int) -> list[torch.Tensor]:
    """The weights after each step, of which every other one is a checkpoint."""
    seen = []
    for step in range(steps):
        model.weight.data.add_(torch.randn(5, 3))
        average.update()
        if step % 2:
            average.mark()
        seen.append(model.weight.detach().clone())
    return seen


def test_the_moving_average_is_its_formula() -> None:
    model, average = made(KINDS[0])
    wanted = model.weight.detach().clone()
    for number, weight in enumerate(walk(model, average, 9), 1):
        decay = min(0.6, (1 + number) / (10 + number))
        wanted = decay * wanted + (1 - decay) * weight
    torch.testing.assert_close(average.averaged()["weight"], wanted)


def test_the_mean_is_of_the_last_checkpoints() -> None:
    model, average = made(KINDS[1])
    assert average.averaged()["weight"] is not None
    torch.testing.assert_close(average.averaged()["weight"], model.weight.detach())
    seen = walk(model, average, 9)
    torch.testing.assert_close(average.averaged()["weight"], (seen[3] + seen[5] + seen[7]) / 3)


def test_no_average_is_the_weights() -> None:
    model, average = made(KINDS[2])
    walk(model, average, 3)
    assert torch.equal(average.averaged()["weight"], model.weight)
    assert average.state() == {}


@kinds
def test_lent_and_given_back_to_the_bit(kind: Averaging) -> None:
    model, average = made(kind)
    walk(model, average, 6)
    own = {name: weight.clone() for name, weight in model.state_dict().items()}
    averages = {name: weight.clone() for name, weight in average.averaged().items()}
    with suppress(KeyError), average.swapped():
        assert same(model.state_dict(), averages)
        raise KeyError
    assert same(model.state_dict(), own)
    assert same(average.averaged(), averages)
    average.settle()
    assert same(model.state_dict(), averages)


@kinds
def test_restored_it_goes_on_the_same(kind: Averaging) -> None:
    model, average = made(kind)
    walk(model, average, 5)
    other, restored = made(kind, seed=2)
    other.load_state_dict(model.state_dict())
    restored.restore({name: tensor.clone() for name, tensor in average.state().items()})
    for one, its in ((model, average), (other, restored)):
        torch.manual_seed(7)
        walk(one, its, 4)
    assert same(average.averaged(), restored.averaged())
    assert same(average.state(), restored.state())
