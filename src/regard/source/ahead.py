"""Ahead: the next few things of an iterator are made in the background while one is used. It does not know what."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(things: Iterator[T], depth: int) -> Iterator[T]:
    """The same things in the same order, up to `depth` of them made before they are asked for.

    An error comes where its thing would have come. Who stops early closes this: what was to be made ahead is made, and
    then nothing runs any more.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as worker:
        coming = deque(worker.submit(_next, things) for _ in range(depth))
        while made := coming.popleft().result():
            coming.append(worker.submit(_next, things))
            yield made[0]


def _next(things: Iterator[T]) -> list[T]:
    """One thing, or none at the end: a StopIteration cannot pass through a future."""
    for thing in things:
        return [thing]
    return []
