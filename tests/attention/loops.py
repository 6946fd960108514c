"""The papers' attentions in plain Python: lists, loops and floats, one sentence, one query, nothing shared with src."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

Vector = list[float]
Matrix = list[Vector]
Energy = Callable[[Vector, Vector], float]  # of one query and one key
Window = tuple[list[bool], Vector]  # which slots, and what multiplies their weights


def plain(x: Tensor) -> Matrix:
    rows: Matrix = x.detach().tolist()
    return rows


def inner(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix: Matrix, x: Vector) -> Vector:
    return [inner(row, x) for row in matrix]


def plus(*parts: Vector) -> Vector:
    return [sum(each) for each in zip(*parts, strict=True)]


def tanh(x: Vector) -> Vector:
    return [math.tanh(each) for each in x]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softmax(energies: Vector, allowed: list[bool]) -> Vector:
    odds = [math.exp(e) if may else 0.0 for e, may in zip(energies, allowed, strict=True)]
    return [each / sum(odds) for each in odds]


def mean_of(weights: Vector, values: Matrix) -> Vector:
    """The one equation: Σ a·v."""
    context = [0.0] * len(values[0])
    for weight, value in zip(weights, values, strict=True):
        for channel, x in enumerate(value):
            context[channel] += weight * x
    return context


def everywhere(slots: int) -> Window:
    return [True] * slots, [1.0] * slots


def local_m(slots: int, step: int, reach: int) -> Window:
    """p_t = t; past the end of the source it stays at the last slot."""
    centre = min(step, slots - 1)
    return [centre - reach <= slot <= centre + reach for slot in range(slots)], [1.0] * slots


def local_p(slots: int, query: Vector, hidden: Matrix, out: Vector, reach: int) -> Window:
    """Luong 2015, eq. 9 and 10, with σ = D/2."""
    centre = slots * sigmoid(inner(out, tanh(times(hidden, query))))
    bell = [math.exp(-((slot - centre) ** 2) / (2 * (reach / 2) ** 2)) for slot in range(slots)]
    return [centre - reach <= slot <= centre + reach for slot in range(slots)], bell


def seen_through(filters: Matrix, weights: Vector) -> Matrix:
    """F * a: at each slot the sum over its neighbours, nothing beyond the ends (Chorowski 2015, eq. 8)."""
    reach = len(filters[0]) // 2
    return [
        [
            sum(
                filter_[reach + away] * weights[slot + away]
                for away in range(-reach, reach + 1)
                if 0 <= slot + away < len(weights)
            )
            for filter_ in filters
        ]
        for slot in range(len(weights))
    ]


def forwards(chosen: Vector, before: Vector) -> Vector:
    """Raffel 2017, eq. 9, with the quotient as it stands in the paper."""
    weights: Vector = []
    for slot, chance in enumerate(chosen):
        waiting = (1 - chosen[slot - 1]) * weights[slot - 1] / chosen[slot - 1] if slot else 0.0
        weights.append(chance * (waiting + before[slot]))
    return weights


def expected_forwards(chosen: Vector, before: Vector) -> Vector:
    """The same by its meaning: begin where the last step ended, pass slots by until one is taken (Raffel, eq. 6)."""
    weights = [0.0] * len(chosen)
    for start, chance in enumerate(before):
        reached = chance
        for slot in range(start, len(chosen)):
            weights[slot] += reached * chosen[slot]
            reached *= 1 - chosen[slot]
    return weights
