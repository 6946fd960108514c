"""Every family of attention learns to copy and to reverse, looking where it should; without attention, length wins."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from echo import Echo, Task, learn, looked, make, right

RECURRENT: dict[str, dict[str, Any]] = {
    "bahdanau": {"kind": "bahdanau"},
    **{f"luong-{score}": {"kind": "luong", "score": score} for score in ("dot", "general", "concat", "location")},
    "luong-local-p": {"kind": "luong", "score": "general", "scope": "local_p", "reach": 3},
    "las": {"kind": "bahdanau", "score": "location_aware"},
    "multi-head": {"kind": "bahdanau", "score": "scaled_dot", "heads": 4},
}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "sinusoidal": {"kind": "transformer"},
    "rotary": {"kind": "transformer", "positions": "rotary"},
}
# local-m looks around slot t at step t, and a monotonic reader never goes back: neither can see the end first
FORWARDS: dict[str, dict[str, Any]] = {
    "luong-local-m": {"kind": "luong", "score": "general", "scope": "local_m", "reach": 2},
    "monotonic": {"kind": "bahdanau", "align": "monotonic"},
}

tasks = pytest.mark.parametrize("task", get_args(Task))


def is_learned(choice: dict[str, Any], task: Task, updates: int, rate: float) -> None:
    echo = Echo(task)
    model = learn(make(choice), echo, updates, rate=rate)
    assert right(model, echo) >= 0.99
    assert looked(model, echo) >= 0.75  # chance is one slot in seven


@tasks
@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_models(name: str, task: Task) -> None:
    is_learned(RECURRENT[name], task, updates=220, rate=6e-3)


@pytest.mark.slow
@tasks
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name: str, task: Task) -> None:
    is_learned(TRANSFORMERS[name], task, updates=350, rate=5e-3)


@pytest.mark.parametrize("name", FORWARDS)
def test_what_reads_only_forwards_learns_to_copy(name: str) -> None:
    is_learned(FORWARDS[name], "copy", updates=220, rate=6e-3)


@pytest.mark.slow
def test_hard_attention_learns_by_reinforce() -> None:
    """It samples one slot a step; no gradient says which would have been better, only how well it went.

    A neighbour that has heard of the word, through the encoder's recurrence, goes as well: where it looks is its own.
    """
    echo = Echo("copy")
    model = learn(make({"kind": "bahdanau", "align": "hard", "score": "general"}), echo, updates=700)
    assert right(model, echo) >= 0.99


@pytest.mark.slow
def test_without_attention_length_wins() -> None:
    """Everything in one vector (of a model that is larger) is lost as sentences grow; with attention nothing is."""
    echo, buckets = Echo("reverse", 3, 14), [(3, 4), (5, 8), (9, 11), (12, 14)]
    seeing, blind = make({"kind": "bahdanau"}), make({"kind": "seq2seq", "width": 96})
    sizes = [sum(weight.numel() for weight in model.parameters()) for model in (seeing, blind)]
    assert sizes[0] < sizes[1]
    accuracies = []
    for model in (seeing, blind):
        learn(model, echo, updates=300)
        accuracies.append([right(model, Echo("reverse", *bucket), 200) for bucket in buckets])
    attention, none = accuracies
    assert min(attention) >= 0.99
    assert none[0] > 0.4  # it has learned, too: what fits into the vector
    assert none == sorted(none, reverse=True)
    assert none[-1] < 0.2
