"""Penalties are their equations, as loops over what is real."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.attention import penalty

ROWS, HEADS, STEPS, SLOTS = 3, 2, 5, 7


def given() -> tuple[Tensor, Tensor, Tensor]:
    """Weights that are arbitrary where no step or slot is real."""
    torch.manual_seed(1)
    steps = torch.arange(STEPS) < torch.tensor([[5], [3], [1]])
    slots = torch.arange(SLOTS) < torch.tensor([[7], [2], [4]])
    weights = torch.randn(ROWS, HEADS, STEPS, SLOTS).masked_fill(~slots[:, None, None], -torch.inf).softmax(-1)
    return weights, steps, slots


def mean(each: list[float]) -> float:
    return sum(each) / len(each)


def real(mask: Tensor, row: int) -> range:
    return range(int(mask[row].sum()))


def test_coverage() -> None:
    weights, steps, slots = given()
    want = [
        (1 - sum(float(weights[row, head, step, slot]) for step in real(steps, row))) ** 2
        for row in range(ROWS)
        for head in range(HEADS)
        for slot in real(slots, row)
    ]
    assert float(penalty.coverage(weights, steps, slots)) == pytest.approx(mean(want))


def test_entropy() -> None:
    weights, steps, slots = given()
    want = [
        -sum(a * math.log(a) for slot in real(slots, row) if (a := float(weights[row, head, step, slot])) > 0)
        for row in range(ROWS)
        for head in range(HEADS)
        for step in real(steps, row)
    ]
    assert float(penalty.entropy(weights, steps, slots)) == pytest.approx(mean(want))


def test_squared() -> None:
    weights, steps, slots = given()
    want = [
        sum(float(weights[row, head, step, slot]) ** 2 for slot in real(slots, row))
        for row in range(ROWS)
        for head in range(HEADS)
        for step in real(steps, row)
    ]
    assert float(penalty.squared(weights, steps, slots)) == pytest.approx(mean(want))


@pytest.mark.parametrize("term", [penalty.coverage, penalty.entropy, penalty.squared])
def test_steps_and_slots_that_are_not_there_weigh_nothing(term: type) -> None:
    weights, steps, slots = given()
    there = steps[:, None, :, None] & slots[:, None, None]
    other = torch.where(there, weights, torch.zeros(())) + ~steps[:, None, :, None] / SLOTS
    assert float(term(other, steps, slots)) == pytest.approx(float(term(weights, steps, slots)))


@pytest.mark.parametrize("term", [penalty.coverage, penalty.entropy, penalty.squared])
def test_gradients_are_finite_even_of_a_single_slot(term: type) -> None:
    """A weight of exactly 0 or 1 is where log turns infinite."""
    weights = torch.eye(SLOTS)[None, None, :STEPS].repeat(ROWS, HEADS, 1, 1).requires_grad_()
    _, steps, slots = given()
    (gradient,) = torch.autograd.grad(term(weights, steps, slots), weights)
    assert gradient.isfinite().all()


def test_the_sharpest_and_the_bluntest() -> None:
    steps, slots = torch.ones(1, 4, dtype=torch.bool), torch.ones(1, 4, dtype=torch.bool)
    sharp, blunt = torch.eye(4)[None, None], torch.full((1, 1, 4, 4), 0.25)
    assert float(penalty.entropy(sharp, steps, slots)) == 0
    assert float(penalty.entropy(blunt, steps, slots)) == pytest.approx(math.log(4))
    assert float(penalty.squared(sharp, steps, slots)) == 1
    assert float(penalty.squared(blunt, steps, slots)) == pytest.approx(0.25)
    assert float(penalty.coverage(sharp, steps, slots)) == 0
    assert float(penalty.coverage(blunt, steps, slots)) == 0
