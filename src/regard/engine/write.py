"""Write: a model as two graphs, one that encodes and one that does a step, and a note of what goes in and comes out.

The graphs hold no weights. It does not know where a bundle keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import fx

from regard.attention import Call
from regard.engine.follow import AT, Shape, encoding, shape, stepping
from regard.engine.graph import Graph
from regard.engine.leaf import leaves
from regard.engine.lower import RULES, Lowering, Operand
from regard.engine.lower.core import DTYPES
from regard.engine.name import ENCODE, NOTE, STEP, VERSION
from regard.model import Model

PLACES = ("tokens", "parent", "owner")

Names = Mapping[int, str]  # of weights, by the tensor's identity
Same = dict[str, str]  # of each part, the one that it is always equal to


def write(model: Model) -> dict[str, bytes]:
    """The files by their names."""
    names = {id(tensor): name for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    known = shape(model)
    encode, encoder, same = _encode(model, known, names)
    followed, after, calls = stepping(model, known)
    outputs: dict[str, Operand] = {}
    while True:  # parts that begin equal are one, until a step makes them differ
        graph, outputs, readers = _step(followed, known, names, same, [*after], calls)
        made = {name: (same[name], outputs[name].name) for name in known.changing}
        differ = {name for name in known.changing if outputs[same[name]].name != outputs[name].name}
        if not differ:
            break
        first: dict[Any, str] = {}
        same |= {name: first.setdefault(key, name) for name, key in made.items()}
    for name in known.changing:
        if same[name] != name:
            del outputs[name]
    content = _finished(graph, outputs, "step")
    note = {
        "version": VERSION,
        "memory": [name for name in known.memory if same[name] == name],
        "state": [_state(name, known) for name in known.changing if same[name] == name],
        "encode": encoder,
        "step": {"outputs": [*outputs], "readers": readers, "weights": graph.weights},
    }
    return {ENCODE: encode, STEP: content, NOTE: json.dumps(note, indent=1).encode() + b"\n"}


def _encode(model: Model, known: Shape, names: Names) -> tuple[bytes, dict[str, Any], Same]:
    """Also, of the parts of memory and state, those that are equal before the first step."""
    followed, first, calls = encoding(model, known)
    graph = Graph()
    graph.input("ids", np.dtype(np.int64), ["sentences", "slots"])
    graph.input("mask", np.dtype(np.bool_), ["sentences", "slots"])
    made = Lowering(graph, RULES, names, AT).run(followed, ["ids", "mask"])
    begun = dict(zip(first, made, strict=False))
    like = dict(leaves(known.state))
    places: dict[Any, str] = {}
    same: Same = {}
    for name in (*known.memory, *known.changing):
        key = begun[name].name if name in begun else (tuple(like[name].shape), like[name].dtype)
        same[name] = places.setdefault((name in known.memory, key), name)
    outputs = {name: each for name, each in begun.items() if name in known.changing or same[name] == name}
    readers = _readers(calls, made[len(first) :], outputs)
    content = _finished(graph, outputs, "encode")
    return content, {"outputs": [*outputs], "readers": readers, "weights": graph.weights}, same


def _step(
    followed: fx.GraphModule, known: Shape, names: Names, same: Same, after: Sequence[str], calls: Sequence[Call]
) -> tuple[Graph, dict[str, Operand], list[dict[str, str]]]:
    graph = Graph()
    graph.input("at", np.dtype(np.int64), [])
    inputs = [graph.input(name, np.dtype(np.int64), ["rows"]) for name in PLACES]
    placed = [node.meta["val"] for node in followed.graph.find_nodes(op="placeholder")][len(PLACES) :]
    for name, like in zip((*known.memory, *known.changing), placed, strict=True):
        if same[name] == name:
            sizes = [size if isinstance(size, int) else str(size) for size in like.shape]
            graph.input(f"in:{name}", DTYPES[like.dtype], sizes)
        inputs.append(f"in:{same[name]}")
    made = Lowering(graph, RULES, names, AT).run(followed, inputs)
    outputs = dict(zip(["log_probs", *after], made, strict=False))
    return graph, outputs, _readers(calls, made[len(outputs) :], outputs)


def _readers(calls: Sequence[Call], weights: Sequence[Operand], outputs: dict[str, Operand]) -> list[dict[str, str]]:
    """Adds the weights of every attention to the outputs."""
    readers = []
    for call, each in zip(calls, weights, strict=True):
        outputs[f"weights:{call.reader}"] = each
        readers.append({"reader": call.reader, "memory": call.memory, "output": f"weights:{call.reader}"})
    return readers


def _finished(graph: Graph, outputs: Mapping[str, Operand], name: str) -> bytes:
    given = {shown: (each.name, DTYPES[each.dtype], _known(each)) for shown, each in outputs.items()}
    return graph.finished(given, name)


def _known(operand: Operand) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in operand.shape]


def _state(name: str, known: Shape) -> dict[str, Any]:
    """Of one part of the state: whether encoding begins it, or else what it is before the first step."""
    like = dict(leaves(known.state))[name]
    sizes = [-1, *like.shape[1:]]
    if name in known.grows:
        sizes[known.grows[name]] = 0
    begun = name in known.first
    return {"name": name, "begun": begun, "type": DTYPES[like.dtype].name, "shape": None if begun else sizes}
