"""Lowering: a followed function → nodes of a graph, one operation of torch's after another, each by its rule.

It does not know which operations there are: that is the table's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Final, TypeAlias, final

import numpy as np
import torch
from onnx import helper
from torch import Tensor, fx

from regard.engine.graph import Attributes, Graph
from regard.fault import Fault

Size: TypeAlias = int | torch.SymInt

DTYPES: Final[Mapping[torch.dtype, np.dtype[Any]]] = {
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    torch.int64: np.dtype(np.int64),
    torch.int32: np.dtype(np.int32),
    torch.int8: np.dtype(np.int8),
    torch.bool: np.dtype(np.bool_),
}


@final
@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor: its name in the graph and, as `like`, one of its type and shape."""

    name: str
    like: Tensor

    @property
    def dtype(self) -> torch.dtype:
        return self.like.dtype

    @property
    def shape(self) -> Sequence[Size]:
        return self.like.shape


@final
@dataclass(frozen=True, slots=True)
class Length:
    """A size that only a run knows, as a vector of one."""

    name: str
    like: Size


Rule: TypeAlias = Callable[..., Any]
"""(the lowering, what the operation makes, its arguments) → the name of the value, or of several."""


@final
class Lowering:
    """`weights` has the name of each weight, by the tensor's identity; `at` is the number that stands for the number of
    steps.
    """

    def __init__(self, graph: Graph, rules: Mapping[str, Rule], weights: Mapping[int, str], at: int) -> None:
        self.graph: Final = graph
        self._rules = rules
        self._weights = weights
        self._sizes: dict[str, tuple[str, int]] = {}  # which input's, and along which axis
        self._at = at  # this number in the function is the input of that name in the graph

    def run(self, followed: fx.GraphModule, inputs: Sequence[str]) -> list[Operand]:
        known: dict[fx.Node, Any] = {}
        given = iter(inputs)
        for node in followed.graph.nodes:
            if node.op == "placeholder":
                known[node] = Operand(next(given), node.meta["val"])
                for at, size in enumerate(known[node].shape):
                    if not isinstance(size, int) and size.node.expr.is_Symbol:
                        self._sizes.setdefault(str(size), (known[node].name, at))
            elif node.op == "get_attr":
                known[node] = self._held(getattr(followed, str(node.target)))
            elif node.op == "call_function":
                known[node] = self._called(node, known)
            elif node.op == "output":
                return [known[each] for each in node.args[0]]
        raise AssertionError("a followed function has an output")

    def _held(self, tensor: Tensor) -> Operand:
        name = self._weights.get(id(tensor))
        if name is None:
            return Operand(self.graph.constant(tensor.detach().cpu().numpy()), tensor)
        return Operand(self.graph.weight(name, np.dtype(np.float32), tuple(tensor.shape)), tensor)

    def _called(self, node: fx.Node, known: dict[fx.Node, Any]) -> Any:
        if node.target is operator.getitem:
            whole, at = node.args
            return known[whole][at]  # type: ignore[index]
        name = str(getattr(node.target, "__name__", node.target)).partition(".")[0].lstrip("_")
        rule = self._rules.get(name)
        if rule is None:
            raise Fault(f"this model cannot be written as a graph: no rule is known for torch's {name!r}")
        args = [_resolved(each, known) for each in node.args]
        named = {key: _resolved(each, known) for key, each in node.kwargs.items()}
        made = rule(self, node.meta.get("val"), *args, **named)
        return _bound(made, node.meta.get("val"))

    # --- what rules are made of

    def add(self, op: str, *inputs: Operand | str, attributes: Attributes | None = None) -> str:
        return self.graph.add(op, [each if isinstance(each, str) else each.name for each in inputs], attributes)

    def cast(self, value: Operand | str, to: torch.dtype, of: torch.dtype | None = None) -> str:
        name = value if isinstance(value, str) else value.name
        of = value.dtype if isinstance(value, Operand) else of
        if of is to:
            return name
        return self.add("Cast", name, attributes={"to": int(helper.np_dtype_to_tensor_dtype(DTYPES[to]))})

    def number(self, value: Any, dtype: torch.dtype) -> str:
        """A tensor, a size or a plain number as a value of that type."""
        if isinstance(value, Operand):
            return self.cast(value, dtype)
        if isinstance(value, Length):
            return self.cast(self.add("Squeeze", value.name), dtype, torch.int64)
        if value == self._at and isinstance(value, int):
            return self.cast("at", dtype, torch.int64)
        return self.graph.constant(np.array(value, dtype=DTYPES[dtype]))

    def sized(self, size: Size) -> str:
        """A size as a vector of one: that of an input, or sums and products of such."""
        return self.graph.ints(size) if isinstance(size, int) else self._counted(size.node.expr)

    def _counted(self, expression: Any) -> str:
        if expression.is_Integer:
            return self.graph.ints(int(expression))
        if expression.is_Symbol:
            name, at = self._sizes[str(expression)]
            return self.add("Shape", name, attributes={"start": at, "end": at + 1})
        if not (expression.is_Add or expression.is_Mul):
            raise Fault(f"this model cannot be written as a graph: no rule is known for the size {expression}")
        first, *others = map(self._counted, expression.args)
        return reduce(partial(self.add, "Add" if expression.is_Add else "Mul"), others, first)

    def reshaped(self, name: str | Operand, sizes: Sequence[Size]) -> str:
        """Of those that only a run knows, one can be left open."""
        free = [at for at, size in enumerate(sizes) if not isinstance(size, int)]
        wanted = [-1 if free[-1:] == [at] else size for at, size in enumerate(sizes)]
        if len(free) < 2:
            return self.add("Reshape", name, self.graph.ints(*map(int, wanted)))
        return self.add("Reshape", name, self.add("Concat", *map(self.sized, wanted), attributes={"axis": 0}))

    def length(self, value: Any) -> str:
        """A size as a vector of one."""
        if isinstance(value, Length):
            return value.name
        return self.graph.ints(int(value))

    def shape(self, sizes: Sequence[Any]) -> str:
        if not any(isinstance(size, Length) for size in sizes):
            return self.graph.ints(*(int(size) for size in sizes))
        return self.add("Concat", *(self.length(size) for size in sizes), attributes={"axis": 0})


def _resolved(value: Any, known: Mapping[fx.Node, Any]) -> Any:
    if isinstance(value, fx.Node):
        return known[value]
    if isinstance(value, list | tuple):
        return [_resolved(each, known) for each in value]
    return value


def _bound(made: Any, like: Any) -> Any:
    """What a rule made, with what is known of its shape."""
    if isinstance(made, Operand | Length | torch.dtype) or made is None:
        return made
    if isinstance(made, str):
        return Operand(made, like) if isinstance(like, Tensor) else Length(made, like)
    return [_bound(each, of) for each, of in zip(made, like, strict=True)]
