"""Recording: who read what, while the block runs and no longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Attention, Listener, MultiHead, record
from regard.attention.score import Dot, ScaledDot
from regard.memory import Bound, Memory

WIDTH = 6


class Two(nn.Module):
    """Two attentions of one model: one alone, one inside heads."""

    def __init__(self) -> None:
        super().__init__()
        self.alone = Attention(Dot(), drop=0.5)
        self.layers = nn.ModuleList([MultiHead(Attention(ScaledDot()), 2, WIDTH, WIDTH, WIDTH)])

    def forward(self, query: Tensor, memory: Memory) -> Tensor:
        read = self.alone(query, self.alone.bind(memory)).context
        for layer in self.layers:
            assert isinstance(layer, MultiHead)
            own = Memory(read, read, torch.ones(read.shape[:2], dtype=torch.bool), name="itself")
            read = layer(read, layer.bind(own)).context
        return read


def given() -> tuple[Two, Tensor, Memory]:
    torch.manual_seed(1)
    values = torch.randn(3, 5, WIDTH)
    return Two().eval(), torch.randn(3, 4, WIDTH), Memory(values, values, torch.ones(3, 5, dtype=torch.bool))


def test_names_and_order() -> None:
    model, query, memory = given()
    with record(model) as calls:
        model(query, memory)
        model(query, memory)
    assert [(call.reader, call.memory) for call in calls] == [("alone", "source"), ("layers.0.attention", "itself")] * 2
    assert [tuple(call.weights.shape) for call in calls[:2]] == [(3, 1, 4, 5), (3, 2, 4, 4)]
    assert torch.equal(calls[0].weights, calls[2].weights)


def test_an_attention_alone_is_a_model_too() -> None:
    model, query, memory = given()
    with record(model.alone) as calls:
        model(query, memory)
    assert [call.reader for call in calls] == [""]


def test_handles_are_removed_even_when_it_fails() -> None:
    model, query, memory = given()

    def broken() -> None:
        with record(model):
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        broken()
    with record(model) as calls:
        pass
    model(query, memory)
    assert calls == []
    assert not any(module._listeners for module in model.modules() if isinstance(module, Attention))


def test_recordings_may_be_nested() -> None:
    model, query, memory = given()
    with record(model) as outer:
        with record(model) as inner:
            model(query, memory)
        model(query, memory)
    assert (len(outer), len(inner)) == (4, 2)


def test_it_changes_nothing() -> None:
    """The law over every mechanism stands in tests/laws; here a whole model, in training."""
    model, query, memory = given()
    model.train()
    torch.manual_seed(2)
    plain = model(query, memory)
    torch.manual_seed(2)
    with record(model):
        seen = model(query, memory)
    assert_close(seen, plain)


def test_weights_are_those_before_dropout_and_keep_their_graph() -> None:
    model, query, memory = given()
    model.train()
    query.requires_grad_()
    with record(model) as calls:
        model(query, memory)
    assert_close(calls[0].weights.sum(-1), torch.ones(3, 1, 4))
    (gradient,) = torch.autograd.grad(calls[0].weights.square().sum(), query)
    assert gradient.abs().sum() > 0


def test_a_listener_of_ones_own() -> None:
    model, query, memory = given()
    heard: list[str] = []

    def listener(attention: Attention, memory: Bound, weights: Tensor) -> None:
        heard.append(memory.name)

    assert isinstance(listener, Listener)
    handle = model.alone.listen(listener)
    model(query, memory)
    handle.remove()
    model(query, memory)
    assert heard == ["source"]


@pytest.mark.parametrize("wrap", [lambda: Attention(Dot()), lambda: Attention(Dot(), drop=0.3)])
def test_nobody_listening_writes_no_weights(wrap: Callable[[], Attention]) -> None:
    _, query, memory = given()
    attention = wrap()
    assert attention.fusable
    assert attention(query, attention.bind(memory)).past.weights is None
