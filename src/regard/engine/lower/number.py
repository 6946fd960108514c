"""Numbers: what is done to each element, and what is made of a whole axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch

from regard.engine.lower.core import Lowering, Operand, Rule


def _both(op: str, *, compared: bool = False, turned: bool = False) -> Rule:
    """An operation of two, either of which may be a plain number; `alpha` weighs the second."""

    def rule(here: Lowering, like: Any, x: Any, y: Any, *, alpha: Any = 1) -> str:
        if not isinstance(like, torch.Tensor):
            return here.add(op, here.length(x), here.length(y))
        if op == "Mul" and y == 1 and isinstance(x, Operand):
            return here.cast(x, like.dtype)
        dtype = _promoted(x, y) if compared else like.dtype
        first, second = here.number(x, dtype), here.number(y, dtype)
        if alpha != 1:
            second = here.add("Mul", second, here.number(alpha, dtype))
        return here.add(op, *((second, first) if turned else (first, second)))

    return rule


def _promoted(x: Any, y: Any) -> torch.dtype:
    dtypes = [each.dtype for each in (x, y) if isinstance(each, Operand)]
    if len(dtypes) == 2:
        return torch.promote_types(*dtypes)
    other = y if isinstance(x, Operand) else x
    return torch.float32 if isinstance(other, float) and not dtypes[0].is_floating_point else dtypes[0]


def _each(op: str) -> Rule:
    return lambda here, like, x: here.add(op, here.cast(x, like.dtype))


def both(here: Lowering, like: Any, x: Operand, y: Operand) -> str:
    true = here.number(True, torch.bool)
    if true in (x.name, y.name):
        return y.name if x.name == true else x.name
    return here.add("And", here.cast(x, torch.bool), here.cast(y, torch.bool))


def greater(here: Lowering, like: Any, x: Any, y: Any) -> str:
    """More than minus infinity is everything finite: a score that refuses no slot is not asked at every step."""
    if y == -math.inf and isinstance(x, Operand) and here.graph.finite(x.name):
        return here.number(True, torch.bool)
    return str(_both("Greater", compared=True)(here, like, x, y))


def ne(here: Lowering, like: Any, x: Any, y: Any) -> str:
    return here.add("Not", _both("Equal", compared=True)(here, like, x, y))


def power(here: Lowering, like: Any, x: Any, y: Any) -> str:
    if y == 2:
        return here.add("Mul", x, x)
    return here.add("Pow", here.number(x, like.dtype), here.number(y, like.dtype))


def clamp(here: Lowering, like: Any, x: Operand, min: Any = None, max: Any = None) -> str:
    made = here.cast(x, like.dtype)
    if min is not None:
        made = here.add("Max", made, here.number(min, like.dtype))
    return made if max is None else here.add("Min", made, here.number(max, like.dtype))


def masked_fill(here: Lowering, like: Any, x: Operand, mask: Operand, value: Any) -> str:
    return here.add("Where", mask, here.number(value, like.dtype), x)


def where(here: Lowering, like: Any, mask: Operand, x: Any, y: Any) -> str:
    return here.add("Where", mask, here.number(x, like.dtype), here.number(y, like.dtype))


def softmax(here: Lowering, like: Any, x: Operand, dim: int, dtype: Any = None) -> str:
    return here.add("Softmax", here.cast(x, like.dtype), attributes={"axis": dim})


def log_softmax(here: Lowering, like: Any, x: Operand, dim: int, dtype: Any = None) -> str:
    return here.add("LogSoftmax", here.cast(x, like.dtype), attributes={"axis": dim})


def total(here: Lowering, like: Any, x: Operand, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> str:
    made = here.cast(x, like.dtype)
    if dim is None:
        return here.add("ReduceSum", made, attributes={"keepdims": 0})
    axes = dim if isinstance(dim, list) else [dim]
    return here.add("ReduceSum", made, here.graph.ints(*axes), attributes={"keepdims": int(keepdim)})


def mean(here: Lowering, like: Any, x: Operand, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> str:
    axes = list(range(x.like.dim())) if dim is None else dim if isinstance(dim, list) else [dim]
    return here.add("ReduceMean", x, attributes={"axes": axes, "keepdims": int(keepdim)})


def some(here: Lowering, like: Any, x: Operand, dim: int, keepdim: bool = False) -> str:
    most = here.add("ReduceMax", here.cast(x, torch.float32), attributes={"axes": [dim], "keepdims": int(keepdim)})
    return here.cast(most, torch.bool, torch.float32)


def amax(here: Lowering, like: Any, x: Operand, dim: Any = (), keepdim: bool = False) -> str:
    axes = dim if isinstance(dim, list) else [dim]
    return here.add("ReduceMax", x, attributes={"axes": axes, "keepdims": int(keepdim)})


def argmax(here: Lowering, like: Any, x: Operand, dim: int, keepdim: bool = False) -> str:
    return here.add("ArgMax", x, attributes={"axis": dim, "keepdims": int(keepdim)})


def cumsum(here: Lowering, like: Any, x: Operand, dim: int, *, dtype: Any = None) -> str:
    return here.add("CumSum", here.cast(x, like.dtype), here.graph.constant(np.array(dim, dtype=np.int64)))


def addcmul(here: Lowering, like: Any, x: Operand, y: Operand, z: Operand, *, value: Any = 1) -> str:
    product = here.add("Mul", y, z)
    return here.add("Add", x, product if value == 1 else here.add("Mul", product, here.number(value, like.dtype)))


def lerp(here: Lowering, like: Any, x: Operand, y: Operand, weight: Any) -> str:
    return here.add("Add", x, here.add("Mul", here.number(weight, like.dtype), here.add("Sub", y, x)))


def outer(here: Lowering, like: Any, x: Operand, y: Operand) -> str:
    column = here.add("Unsqueeze", here.cast(x, like.dtype), here.graph.ints(1))
    return here.add("Mul", column, here.cast(y, like.dtype))


EACH: Final = ("tanh", "sigmoid", "relu", "exp", "log", "cos", "sin", "abs", "sqrt", "neg")
NUMBER: Final[Mapping[str, Rule]] = {
    "add": _both("Add"),
    "sub": _both("Sub"),
    "rsub": _both("Sub", turned=True),
    "mul": _both("Mul"),
    "div": _both("Div"),
    "truediv": _both("Div"),
    "minimum": _both("Min"),
    "maximum": _both("Max"),
    "le": _both("LessOrEqual", compared=True),
    "lt": _both("Less", compared=True),
    "ge": _both("GreaterOrEqual", compared=True),
    "gt": greater,
    "eq": _both("Equal", compared=True),
    "ne": ne,
    **dict.fromkeys(("bitwise_and", "logical_and", "and__"), both),
    "bitwise_not": lambda here, like, x: here.add("Not", x),
    "logical_not": lambda here, like, x: here.add("Not", here.cast(x, torch.bool)),
    **{name: _each(name.capitalize()) for name in EACH},
    "pow": power,
    "clamp": clamp,
    "clamp_min": clamp,
    "masked_fill": masked_fill,
    "where": where,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "sum": total,
    "mean": mean,
    "any": some,
    "amax": amax,
    "argmax": argmax,
    "cumsum": cumsum,
    "addcmul": addcmul,
    "lerp": lerp,
    "outer": outer,
}
