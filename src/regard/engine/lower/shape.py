"""Shapes: what only moves elements, and what makes new tensors of a given shape."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch

from regard.engine.lower.core import DTYPES, Length, Lowering, Operand, Rule


def same(here: Lowering, like: Any, x: Operand, *rest: Any, **more: Any) -> str:
    """The same elements, of another type perhaps."""
    return here.cast(x, like.dtype)


def size(here: Lowering, like: Any, x: Operand, dim: int) -> Any:
    return like if isinstance(like, int) else Length(here.sized(like), like)


def count(here: Lowering, like: Any, x: Operand) -> Length:
    return Length(here.add("Reshape", here.add("Size", x), here.graph.ints(1)), like)


def reshape(here: Lowering, like: Any, x: Operand, *rest: Any) -> str:
    return here.reshaped(x, like.shape)


def unsqueeze(here: Lowering, like: Any, x: Operand, dim: int) -> str:
    return here.add("Unsqueeze", x, here.graph.ints(dim))


def squeeze(here: Lowering, like: Any, x: Operand, dim: Any) -> str:
    axes = here.graph.ints(*(dim if isinstance(dim, list) else [dim]))
    rows = here.graph.made(x.name, "Gather")
    bare = here.graph.made(rows[1], "Unsqueeze") if rows else ()
    if bare and bare[1] == axes and here.graph.held(rows[0]):  # of a table, by places that only had an axis more
        return here.graph.add("Gather", [rows[0], bare[0]])
    return here.add("Squeeze", x, axes)


def transpose(here: Lowering, like: Any, x: Operand, one: int = -2, two: int = -1) -> str:
    order = list(range(x.like.dim()))
    order[one], order[two] = order[two], order[one]
    return here.add("Transpose", x, attributes={"perm": order})


def permute(here: Lowering, like: Any, x: Operand, order: list[int]) -> str:
    return here.add("Transpose", x, attributes={"perm": order})


def expand(here: Lowering, like: Any, x: Operand, sizes: Sequence[Any], **rest: Any) -> str:
    lead = len(sizes) - x.like.dim()
    wanted = [1 if each == -1 and at >= lead else each for at, each in enumerate(sizes)]
    if all(isinstance(each, int) and each == 1 for each in wanted[lead:]) and not lead:
        return x.name
    return here.add("Expand", x, here.shape(wanted))


def cut(here: Lowering, like: Any, x: Operand, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> str:
    start = 0 if start is None else start
    end = sys.maxsize if end is None else end
    if step == 1 and start == 0 and end == sys.maxsize:
        return x.name
    bounds = [here.length(start), here.length(end), here.graph.ints(dim), here.graph.ints(step)]
    return here.add("Slice", x, *bounds)


def select(here: Lowering, like: Any, x: Operand, dim: int, at: Any) -> str:
    return here.add("Gather", x, here.number(at, torch.int64), attributes={"axis": dim})


def cat(here: Lowering, like: Any, parts: list[Operand], dim: int = 0) -> str:
    some = [each for each in parts if not (isinstance(each.shape[dim], int) and each.shape[dim] == 0)]
    if len(some) == 1:
        return here.cast(some[0], like.dtype)
    return here.add("Concat", *(here.cast(each, like.dtype) for each in some), attributes={"axis": dim})


def stack(here: Lowering, like: Any, parts: list[Operand], dim: int = 0) -> str:
    axis = here.graph.ints(dim)
    return here.add("Concat", *(here.add("Unsqueeze", each, axis) for each in parts), attributes={"axis": dim})


def chunk(here: Lowering, like: Any, x: Operand, *rest: Any) -> Sequence[str]:
    """`chunk`, `split` and `split_with_sizes`: the sizes of the parts are known."""
    dim = rest[1] if len(rest) > 1 else 0
    if len(like) == 1:
        return [x.name]
    sizes = here.graph.ints(*(int(each.shape[dim]) for each in like))
    return here.graph.several("Split", [x.name, sizes], len(like), {"axis": dim % x.like.dim()})


def unbind(here: Lowering, like: Any, x: Operand, dim: int = 0) -> Sequence[str]:
    return [select(here, None, x, dim, at) for at in range(len(like))]


def gather(here: Lowering, like: Any, x: Operand, dim: int, index: Operand, **rest: Any) -> str:
    return here.add("GatherElements", x, index, attributes={"axis": dim})


def index_select(here: Lowering, like: Any, x: Operand, dim: int, index: Operand) -> str:
    return here.add("Gather", x, index, attributes={"axis": dim})


def index(here: Lowering, like: Any, x: Operand, places: list[Operand | None]) -> str:
    """By one vector of places."""
    (dim,) = [at for at, each in enumerate(places) if each is not None]
    place = places[dim]
    assert place is not None
    return here.add("Gather", x, place, attributes={"axis": dim})


def scatter(here: Lowering, like: Any, x: Operand, dim: int, places: Operand, value: Any, **rest: Any) -> str:
    if not isinstance(value, Operand):
        shape = here.add("Shape", places)
        value = here.add("Expand", here.number(value, like.dtype), shape)
    return here.add("ScatterElements", x, places, value, attributes={"axis": dim})


def pad(here: Lowering, like: Any, x: Operand, sizes: list[Any], mode: Any = None, value: Any = None) -> str:
    """Constants before and behind the last axes."""
    value = mode if isinstance(mode, int | float) else value
    axes = len(sizes) // 2
    zeros = [0] * (x.like.dim() - axes)
    before, after = sizes[-2::-2], sizes[::-2]
    amounts = here.shape([*zeros, *before, *zeros, *after])
    return here.add("Pad", x, amounts, here.number(value or 0, like.dtype))


def arange(here: Lowering, like: Any, start: Any, end: Any = None, step: Any = 1, **rest: Any) -> str:
    start, end = (0, start) if end is None else (start, end)
    if all(isinstance(each, int) for each in (start, end, step)):
        return here.graph.constant(np.arange(start, end, step, dtype=DTYPES[like.dtype]))
    numbers = (here.number(each, torch.int64) for each in (start, end, step))
    return here.cast(here.add("Range", *numbers), like.dtype, torch.int64)


def _filled(value: float) -> Rule:
    def rule(here: Lowering, like: Any, sizes: Any, *rest: Any, **more: Any) -> str:
        if isinstance(sizes, Operand):  # zeros_like(x), x.new_zeros(sizes)
            sizes = rest[0] if rest else here.add("Shape", sizes)
        return full(here, like, sizes, value)

    return rule


def full(here: Lowering, like: Any, sizes: Any, value: Any, *rest: Any, **more: Any) -> str:
    if isinstance(sizes, Operand):  # full_like(x, value), x.new_full(sizes, value)
        sizes, value = (value, rest[0]) if rest else (here.add("Shape", sizes), value)
    name = here.number(value, like.dtype)
    return here.add("Expand", name, sizes if isinstance(sizes, str) else here.shape(sizes))


SAME: Final = ("to", "to_copy", "clone", "detach", "alias", "contiguous", "lift_fresh_copy", "type_as", "dropout")
SHAPE: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(SAME, same),
    "promote_types": lambda here, like, one, two: torch.promote_types(one, two),
    "sym_size": size,
    "sym_numel": count,
    **dict.fromkeys(("reshape", "view", "unsafe_view", "flatten", "unflatten"), reshape),
    "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    **dict.fromkeys(("transpose", "t", "mT", "numpy_T"), transpose),
    "permute": permute,
    "expand": expand,
    "slice": cut,
    "select": select,
    "cat": cat,
    "stack": stack,
    **dict.fromkeys(("chunk", "split", "split_with_sizes"), chunk),
    "unbind": unbind,
    "gather": gather,
    "index_select": index_select,
    "index": index,
    "scatter": scatter,
    **dict.fromkeys(("constant_pad_nd", "pad"), pad),
    "arange": arange,
    **dict.fromkeys(("zeros", "new_zeros", "zeros_like"), _filled(0.0)),
    **dict.fromkeys(("ones", "new_ones", "ones_like"), _filled(1.0)),
    **dict.fromkeys(("full", "new_full", "full_like"), full),
}
