"""Graphs are small, the same each time, and refused where they would say something else than the model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from compositions import CHOICES, make
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import override

from regard.attention.score import Score
from regard.engine.graph import Graph
from regard.engine.name import ENCODE, NOTE, STEP
from regard.engine.runtime import loaded
from regard.engine.weights import asked
from regard.engine.write import write
from regard.fault import Fault
from regard.memory import Past
from regard.model import Model

ADDITIVE, TRANSFORMER = CHOICES[9], CHOICES[28]


@pytest.mark.parametrize("choice", [ADDITIVE, TRANSFORMER])
def test_no_weight_is_in_a_graph(choice: dict[str, object]) -> None:
    model = make(choice).eval()
    parts = write(model)
    known = dict((*model.named_parameters(), *model.named_buffers()))
    note = json.loads(parts[NOTE])
    for name, key in ((ENCODE, "encode"), (STEP, "step")):
        graph = onnx.load_model_from_string(parts[name]).graph
        outside = [held for held in graph.initializer if held.data_location == onnx.TensorProto.EXTERNAL]
        assert sorted(held.name for held in outside) == sorted(note[key]["weights"])
        assert all(tuple(held.dims) == tuple(known[held.name].shape) for held in outside)
        inside = [held for held in graph.initializer if held.data_location != onnx.TensorProto.EXTERNAL]
        assert all(np.prod(held.dims) <= 16 for held in inside)


def test_the_same_model_gives_the_same_bytes() -> None:
    assert write(make(TRANSFORMER).eval()) == write(make(TRANSFORMER).eval())


def test_what_layers_share_is_there_once() -> None:
    """The mask of the past and the angles of places are the same in every layer."""
    note = json.loads(write(make(CHOICES[29]).eval())[NOTE])
    assert [part["name"] for part in note["state"] if part["name"].endswith("mask")] == ["layers.0.own.mask"]
    assert [name for name in note["memory"] if name.endswith("mask")] == ["layers.0.memory.mask"]


class Odd(Score):
    """Scores that graphs have no rule for."""

    @override
    def forward(self, query: Tensor, keys: Tensor, past: Past) -> Tensor:
        made: Tensor = torch.special.bessel_j0(query @ keys.mT)
        return made


class Counting(Score):
    """Scores that read the number of rows as a plain number."""

    @override
    def forward(self, query: Tensor, keys: Tensor, past: Past) -> Tensor:
        made: Tensor = query @ keys.mT / len(keys)
        return made


def scored(score: Score) -> Model:
    model = make({"kind": "luong", "score": "dot"}).eval()
    model.decoder.get_submodule("attention").score = score
    return model


def test_what_cannot_be_written_is_named() -> None:
    with pytest.raises(Fault, match="no rule is known for torch's 'special_bessel_j0'"):
        write(scored(Odd()))
    with pytest.raises(Fault, match="takes the size of a batch for a plain number"):
        write(scored(Counting()))


def test_a_score_of_ones_own_needs_no_rule_of_its_own() -> None:
    class Cosine(Score):
        @override
        def forward(self, query: Tensor, keys: Tensor, past: Past) -> Tensor:
            product = query @ keys.mT
            lengths = (query * query).sum(-1, keepdim=True).sqrt() * (keys * keys).sum(-1).unsqueeze(-2).sqrt()
            return product / lengths.clamp(min=1e-6)

    assert STEP in write(scored(Cosine()))


def test_the_same_node_is_added_once_and_idle_ones_not_at_all() -> None:
    graph = Graph()
    x = graph.input("x", np.dtype(np.float32), ["row"])
    assert graph.add("Exp", [x]) == graph.add("Exp", [x])
    assert graph.constant(np.ones(2)) == graph.constant(np.ones(2)) != graph.constant(np.ones(2, dtype=np.float32))
    graph.weight("idle", np.dtype(np.float32), (3,))
    graph.add("Mul", ["idle", graph.add("Exp", [x])])
    made = graph.finished({"y": (graph.add("Neg", [graph.add("Exp", [x])]), np.dtype(np.float32), [None])}, "test")
    model = onnx.load_model_from_string(made)
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["Exp", "Neg"]
    assert graph.weights == []


def test_infinity_comes_from_constants_alone() -> None:
    graph = Graph()
    x = graph.input("x", np.dtype(np.float32), ["row"])
    endless = graph.constant(np.array(-np.inf, dtype=np.float32))
    assert graph.finite(graph.add("Exp", [x]))
    assert not graph.finite(graph.add("Neg", [graph.add("Add", [x, endless])]))
    assert graph.finite(graph.add("Softmax", [graph.add("Add", [x, endless])]))


def test_weights_are_read_as_they_are_kept() -> None:
    whole = np.array([[1, -127], [3, 4]], dtype=np.int8)
    scale = np.array([0.5, 2.0], dtype=np.float32)
    kept: dict[str, NDArray[Any]] = {"w": whole, "w.scale": scale, "b": np.array([1.5], dtype=np.float32)}
    found = asked(["w", "b"], kept, "here")
    assert found["w"].tolist() == [[0.5, -63.5], [6.0, 8.0]]
    assert found["b"].dtype == np.float32
    cases: list[tuple[dict[str, NDArray[Any]], str]] = [
        ({"b": kept["b"]}, "'w' is missing"),
        ({"w": whole}, "do not fit together"),
        ({"w": whole, "w.scale": scale[:1]}, "do not fit together"),
        ({"w": whole.astype(np.int16)}, "does not know"),
        ({"w": np.array([np.nan], dtype=np.float32)}, "not finite"),
    ]
    for wrong, told in cases:
        with pytest.raises(Fault, match=told):
            asked(["w"], wrong, "here")


def test_a_damaged_graph_is_refused_in_one_line() -> None:
    model = make(ADDITIVE).eval()
    parts = write(model)
    kept = {name: weight.detach().numpy() for name, weight in (*model.named_parameters(), *model.named_buffers())}
    graphs = [parts[ENCODE], parts[STEP]]
    for note, content, told in (
        (b"{}", graphs, "is no note on graphs"),
        (parts[NOTE].replace(b'"version": 1', b'"version": 9'), graphs, "is of version 9"),
        (parts[NOTE], [parts[ENCODE], b"x" * 50], "cannot run this graph"),
        (parts[NOTE], [parts[ENCODE], parts[STEP][:-200]], "cannot run this graph"),
    ):
        with pytest.raises(Fault, match=told) as fault:
            loaded(note, content, kept, "here")
        assert "\n" not in str(fault.value)
