"""Graph: ONNX nodes as they are added one by one. The same node is never added twice, so what layers share they share.

Weights have a name, a shape and no content: they come from the bundle's one file when the graph is read. It does not
know what the nodes are for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET: Final = 17
CONTRIB: Final = "com.microsoft"  # ONNX Runtime's own
ELSEWHERE: Final = "weights"

Attributes = Mapping[str, Any]
Output = tuple[str, np.dtype[Any], Sequence[int | None]]
"""Where it stands in the graph, its type and its sizes, as far as they are known."""


@final
class Graph:
    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._known: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._held: dict[str, TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._wild: set[str] = set()
        self._made: dict[str, tuple[str, tuple[str, ...]]] = {}

    def finite(self, name: str) -> bool:
        """Whether nothing without an end went into it: only where a constant brings it can it be there."""
        return name not in self._wild

    @property
    def weights(self) -> list[str]:
        """The names of all that comes from elsewhere."""
        return [name for name, held in self._held.items() if held.data_location == TensorProto.EXTERNAL]

    def made(self, name: str, op: str) -> Sequence[str]:
        """The inputs of the node that gives this, if it is such a one."""
        return self._made[name][1] if self._made.get(name, ("", ()))[0] == op else ()

    def held(self, name: str) -> bool:
        """Whether it is a weight."""
        return name in self._held

    def input(self, name: str, dtype: np.dtype[Any], shape: Sequence[str | int]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, _code(dtype), list(shape)))
        return name

    def weight(self, name: str, dtype: np.dtype[Any], shape: Sequence[int]) -> str:
        if name not in self._held:
            held = TensorProto(name=name, data_type=_code(dtype), dims=list(shape))
            held.data_location = TensorProto.EXTERNAL
            held.external_data.add(key="location", value=ELSEWHERE)
            self._held[name] = held
        return name

    def constant(self, value: NDArray[Any]) -> str:
        key = ("constant", value.dtype.str, value.shape, value.tobytes())
        if key not in self._known:
            name = f"c{len(self._known)}"
            self._held[name] = numpy_helper.from_array(value, name)
            self._known[key] = (name,)
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                self._wild.add(name)
        return self._known[key][0]

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def add(self, op: str, inputs: Sequence[str], attributes: Attributes | None = None, domain: str = "") -> str:
        return self.several(op, inputs, 1, attributes, domain)[0]

    def several(
        self, op: str, inputs: Sequence[str], outputs: int, attributes: Attributes | None = None, domain: str = ""
    ) -> tuple[str, ...]:
        given = dict(attributes or {})
        key = (op, domain, tuple(inputs), repr(sorted(given.items())), outputs)
        if key not in self._known:
            names = tuple(f"{op}{len(self._known)}_{at}" for at in range(outputs))
            self._nodes.append(helper.make_node(op, list(inputs), list(names), domain=domain, **given))
            self._known[key] = names
            self._made |= dict.fromkeys(names, (op, tuple(inputs)))
            if op != "Softmax" and self._wild & set(inputs):
                self._wild |= set(names)
        return self._known[key]

    def finished(self, outputs: Mapping[str, Output], name: str) -> bytes:
        """The model as a file; `outputs` names what it gives."""
        made = {value for node in self._nodes for value in node.output}
        shown_as: dict[str, str] = {}
        for shown, (value, _, _) in outputs.items():
            if value in made and value not in shown_as:  # ONNX Runtime trips over an Identity that others read around
                shown_as[value] = shown
            else:
                self._nodes.append(helper.make_node("Identity", [shown_as.get(value, value)], [shown]))
        for node in self._nodes:
            for values in (node.input, node.output):
                values[:] = [shown_as.get(value, value) for value in values]
        given = [
            helper.make_tensor_value_info(shown, _code(dtype), list(shape))
            for shown, (_, dtype, shape) in outputs.items()
        ]
        nodes, held = self._needed(set(outputs))
        graph = helper.make_graph(nodes, name, self._inputs, given, held)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=10, producer_name="regard")
        return bytes(model.SerializeToString(deterministic=True))

    def _needed(self, wanted: set[str]) -> tuple[list[onnx.NodeProto], list[TensorProto]]:
        """Nodes that nobody asks for stay out, and so do the weights that only they read."""
        kept = []
        for node in reversed(self._nodes):
            if wanted & set(node.output):
                wanted |= set(node.input)
                kept.append(node)
        self._held = {name: held for name, held in self._held.items() if name in wanted}
        return kept[::-1], list(self._held.values())


def _code(dtype: np.dtype[Any]) -> int:
    return int(helper.np_dtype_to_tensor_dtype(dtype))
