"""Layers: products with weights, norms, and whole recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from regard.engine.lower.core import Lowering, Operand, Rule


def linear(here: Lowering, like: Any, x: Operand, weight: Operand, bias: Operand | None = None) -> str:
    """As one product of two matrices, which is what ONNX Runtime lays out beforehand."""
    rest = () if bias is None else (bias,)
    row = here.graph.made(x.name, "Gather")
    if row and here.graph.held(row[0]):  # the product of a whole table once, when the graph is loaded
        table = here.add("Gemm", row[0], weight, *rest, attributes={"transB": 1})
        return here.add("Gather", table, row[1])
    if x.like.dim() == 2:
        return here.add("Gemm", x, weight, *rest, attributes={"transB": 1})
    flat = here.add("Reshape", x, here.graph.ints(-1, int(weight.shape[1])))
    made = here.add("Gemm", flat, weight, *rest, attributes={"transB": 1})
    return here.reshaped(made, like.shape)


def embedding(here: Lowering, like: Any, weight: Operand, ids: Operand, *rest: Any) -> str:
    return here.add("Gather", weight, ids)


def layer_norm(
    here: Lowering, like: Any, x: Operand, shape: Sequence[int], weight: Operand, bias: Operand, *rest: Any
) -> str:
    attributes = {"axis": -len(shape), "epsilon": rest[0] if rest else 1e-5}
    return here.add("LayerNormalization", x, weight, bias, attributes=attributes)


def matmul(here: Lowering, like: Any, x: Operand, y: Operand) -> str:
    return here.add("MatMul", x, y)


def conv1d(
    here: Lowering,
    like: Any,
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> str:
    attributes = {"strides": stride, "pads": [*padding, *padding], "dilations": dilation, "group": groups}
    return here.add("Conv", x, weight, *(() if bias is None else (bias,)), attributes=attributes)


def gru(here: Lowering, like: Any, x: Operand, first: Operand, weights: list[Operand], *rest: Any) -> Sequence[str]:
    return _recurrent(here, "GRU", x, [first], weights, (1, 0, 2), {"linear_before_reset": 1})


def lstm(
    here: Lowering, like: Any, x: Operand, first: list[Operand], weights: list[Operand], *rest: Any
) -> Sequence[str]:
    return _recurrent(here, "LSTM", x, first, weights, (0, 3, 1, 2), {})


def _recurrent(
    here: Lowering,
    op: str,
    x: Operand,
    first: Sequence[Operand],
    weights: Sequence[Operand],
    order: Sequence[int],
    more: Mapping[str, int],
) -> list[str]:
    """One layer in one direction, rows first. ONNX has the gates in another order, and steps before rows."""
    read, own, read_bias, own_bias = weights
    width = int(own.like.shape[1])

    def gates(weight: Operand) -> str:
        sizes = here.graph.ints(*([width] * len(order)))
        parts = here.graph.several("Split", [weight.name, sizes], len(order), {"axis": 0})
        return here.add("Concat", *(parts[at] for at in order), attributes={"axis": 0})

    zero = here.graph.ints(0)
    both = here.add("Concat", gates(read_bias), gates(own_bias), attributes={"axis": 0})
    matrices = [here.add("Unsqueeze", each, zero) for each in (gates(read), gates(own), both)]
    steps = here.add("Transpose", x, attributes={"perm": [1, 0, 2]})
    inputs = [steps, *matrices, "", *(each.name for each in first)]
    states = here.graph.several(op, inputs, 1 + len(first), {"hidden_size": width, **more})
    every = here.add("Squeeze", states[0], here.graph.ints(1))
    return [here.add("Transpose", every, attributes={"perm": [1, 0, 2]}), *states[1:]]


LAYER: Final[Mapping[str, Rule]] = {
    "linear": linear,
    "embedding": embedding,
    "layer_norm": layer_norm,
    **dict.fromkeys(("matmul", "mm", "bmm"), matmul),
    "conv1d": conv1d,
    "gru": gru,
    "lstm": lstm,
}
