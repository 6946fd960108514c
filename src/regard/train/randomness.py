"""The random states of a process, taken and put back: torch's as byte tensors, Python's and numpy's as JSON."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor


def seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number % 2**32)


def tensors() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda/{at}": state for at, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def words() -> dict[str, Any]:
    kind, keys, position, has_gauss, gauss = np.random.get_state()
    return {"python": random.getstate(), "numpy": [kind, np.asarray(keys).tolist(), position, has_gauss, gauss]}


def restore(states: Mapping[str, Tensor], texts: Mapping[str, Any]) -> None:
    """A state of a device that is not here is passed over: the run goes on, though no longer to the bit."""
    torch.set_rng_state(states["cpu"])
    for at in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        if f"cuda/{at}" in states:
            torch.cuda.set_rng_state(states[f"cuda/{at}"], at)
    version, keys, gauss = texts["python"]
    random.setstate((version, tuple(keys), gauss))
    np.random.set_state(tuple(texts["numpy"]))


@contextmanager
def untouched() -> Iterator[None]:
    """Whatever is drawn inside, outside nothing has been drawn."""
    states, texts = tensors(), words()
    try:
        yield
    finally:
        restore(states, texts)
