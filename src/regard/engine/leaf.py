"""Leaf: a state as its tensors, each by the path that leads to it, and the same state with other tensors in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor


def leaves(state: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """In a fixed order. What is no tensor is passed over."""
    if isinstance(state, Tensor):
        yield path, state
    else:
        for name, part in _parts(state):
            yield from leaves(part, f"{path}.{name}" if path else name)


def rebuilt(state: Any, tensors: Mapping[str, Tensor], at: int, path: str = "") -> Any:
    """The same state with these tensors. Its whole numbers are steps so far; `at` takes their place."""
    if isinstance(state, Tensor):
        return tensors[path]
    if type(state) is int:
        return at
    inner = [rebuilt(part, tensors, at, f"{path}.{name}" if path else name) for name, part in _parts(state)]
    if isinstance(state, tuple):
        return tuple(inner)
    return type(state)(*inner) if is_dataclass(state) and not isinstance(state, type) else state


def _parts(state: Any) -> list[tuple[str, Any]]:
    if isinstance(state, tuple):
        return [(str(at), part) for at, part in enumerate(state)]
    if is_dataclass(state):
        return [(each.name, getattr(state, each.name)) for each in fields(state)]
    return []
