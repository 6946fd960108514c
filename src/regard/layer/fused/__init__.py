"""Fused: recurrent layers on a GPU by kernels of our own, with a derivative by hand.

It does not import the kernels: who has no GPU need not have what compiles them.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Final, TypeVar

import torch

T = TypeVar("T")
KINDS: Final = (torch.bfloat16, torch.float32)  # that products are made of


def ready(device: torch.device) -> bool:
    """Whether kernels can be made for it."""
    return device.type == "cuda" and _compiles(device)


def trains(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether somebody learns there, with products that the kernels make."""
    return torch.is_grad_enabled() and dtype in KINDS and ready(device)


def once(done: T | None) -> T:
    """What a way back was left, which it gives up as it goes."""
    if done is None:
        raise RuntimeError("these steps have been gone back through once, and nothing is kept for a second time")
    return done


@cache
def _compiles(device: torch.device) -> bool:
    return (
        find_spec("triton") is not None
        and find_spec("triton.language.extra.cuda.gdc") is not None  # since 3.4
        and torch.version.cuda is not None
        and torch.cuda.get_device_capability(device) >= (8, 0)
    )
