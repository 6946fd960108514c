"""Graphs say what the model says, of every composition: in a search, in a replay, alone and among others."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from compositions import CHOICES, make, name

from regard.attention import record
from regard.engine.name import ENCODE, NOTE, STEP
from regard.engine.runtime import Runtime, loaded
from regard.engine.steps import Steps
from regard.engine.write import write
from regard.model import Steps as Eager
from regard.search.beam import beam
from regard.search.core import Hypothesis, Stepper
from regard.search.sample import Draw, sample
from regard.source.batch import BOS, Padded

SOURCES = [[4, 9, 12, 5, 2], [7, 2], [6, 6, 2], [8, 5, 4, 4, 9, 9, 3, 2]]
LIMITS = np.array([7, 5, 6, 9])

every = pytest.mark.parametrize("at", range(len(CHOICES)), ids=map(name, CHOICES))


@cache
def runtime(at: int) -> Runtime:
    model = make(CHOICES[at]).eval()
    parts = write(model)
    kept = {name: weight.detach().numpy() for name, weight in (*model.named_parameters(), *model.named_buffers())}
    return loaded(parts[NOTE], [parts[ENCODE], parts[STEP]], kept, "here")


def same(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]], close: float = 1e-4) -> None:
    assert [[one.ids for one in each] for each in found] == [[one.ids for one in each] for each in wanted]
    for one, other in zip(
        (one for each in found for one in each), (one for each in wanted for one in each), strict=True
    ):
        assert one.score == pytest.approx(other.score, abs=close)
        assert one.log_probs == pytest.approx(other.log_probs, abs=close)


@every
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("coverage", [0.0, 0.3])
def test_a_search_finds_the_same(at: int, width: int, coverage: float) -> None:
    quick, eager = Steps(runtime(at), coverage=coverage), Eager([make(CHOICES[at]).eval()], coverage=coverage)
    assert isinstance(quick, Stepper)
    found = beam(quick, quick.start(SOURCES), LIMITS, width, best=width)
    same(found, beam(eager, eager.start(Padded.of(SOURCES)), torch.from_numpy(LIMITS), width, best=width))


@pytest.mark.parametrize("at", [9, 15, 28])
def test_samples_are_the_same(at: int) -> None:
    quick, eager, draw = Steps(runtime(at)), Eager([make(CHOICES[at]).eval()]), Draw(top_k=7, top_p=0.9, seed=3)
    found = sample(quick, quick.start(SOURCES), LIMITS, [0, 1, 2, 3], 3, draw)
    wanted = sample(eager, eager.start(Padded.of(SOURCES)), torch.from_numpy(LIMITS), [0, 1, 2, 3], 3, draw)
    same(found, wanted)


@every
def test_alone_batched_and_reordered_are_the_same(at: int) -> None:
    quick = Steps(runtime(at), coverage=0.2)
    together = beam(quick, quick.start(SOURCES), LIMITS, 3, 2)
    order = [2, 0, 3, 1]
    turned = beam(quick, quick.start([SOURCES[row] for row in order]), LIMITS[order], 3, 2)
    same([turned[order.index(row)] for row in range(4)], together, 1e-6)
    alone = [beam(quick, quick.start([ids]), LIMITS[[row]], 3, 2)[0] for row, ids in enumerate(SOURCES)]
    same(alone, together, 1e-6)


@every
@torch.no_grad()
def test_what_is_recorded_is_what_was_looked_at(at: int) -> None:
    model, tokens = make(CHOICES[at]).eval(), [[1, 5, 7], [1, 9, 4], [1, 8, 3], [1, 2, 6]]
    quick = Steps(runtime(at), record=True)
    walk = quick.start(SOURCES)
    with record(model) as calls:
        state = model.decoder.start(model.encode(Padded.of(SOURCES)))
    for reader, call in zip(quick.runtime.encode.readers, calls, strict=True):
        assert (reader.name, reader.memory) == (call.reader, call.memory)
        np.testing.assert_allclose(walk.seen[reader.output].numpy(), call.weights.numpy(), atol=1e-5)
    for token in np.array(tokens).T:
        _, walk = quick.step(token, walk)
        with record(model) as calls:
            state = model.decoder.step(torch.from_numpy(token), state).state
        for reader, call in zip(quick.runtime.step.readers, calls, strict=True):
            assert (reader.name, reader.memory) == (call.reader, call.memory)
            np.testing.assert_allclose(walk.seen[reader.output].numpy(), call.weights.numpy(), atol=1e-5)


@pytest.mark.parametrize("at", [9, 22, 29])
def test_rows_move_with_all_they_hold(at: int) -> None:
    """A state in another order steps as if it had always stood so; a row may be there twice, or not at all."""
    quick = Steps(runtime(at), coverage=0.5)
    _, walk = quick.step(np.full(4, BOS), quick.start(SOURCES))
    index = np.array([3, 1, 1])
    straight, after = quick.step(np.array([4, 5, 6, 7]), walk)
    turned, moved = quick.step(np.array([7, 5, 5]), walk.rows(index))
    np.testing.assert_allclose(turned, straight[index], atol=1e-6)
    one, other = quick.bonus(moved), quick.bonus(after.rows(index))
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert (one <= 0).all()


def test_a_long_source_is_read_as_a_short_one_is() -> None:
    """Longer than all that was followed: the loops over powers of two, and the slots a location score tells apart."""
    for choice in (19, 11):
        model, quick = make(CHOICES[choice]).eval(), Steps(runtime(choice))
        ids = [[4 + at % 8 for at in range(120)]]
        eager = Eager([model])
        limits = np.array([5])
        same(
            beam(quick, quick.start(ids), limits, 2),
            beam(eager, eager.start(Padded.of(ids)), torch.from_numpy(limits), 2),
        )


def test_choices_are_those_named_above() -> None:
    def kind(at: int) -> dict[str, Any]:
        return CHOICES[at]

    assert kind(9)["score"] == "additive"
    assert kind(11)["score"] == "location"
    assert kind(15)["scope"] == "local_p"
    assert kind(19)["align"] == "monotonic"
    assert kind(22)["heads"] == 4
    assert {kind(28)["kind"], kind(29)["kind"]} == {"transformer"}
