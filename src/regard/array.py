"""Array: the little that differs between an array of numpy's and a tensor of torch's, for those who take either.

Torch is never imported here: whoever hands in a tensor has done so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def host(x: Any) -> NDArray[Any]:
    """As an array. A tensor on the processor shares its memory with it."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.detach().cpu())


def like(x: NDArray[Any], other: Any) -> Any:
    """The numbers of `x` in the kind, and on the device, of `other`."""
    return x if isinstance(other, np.ndarray) else other.new_tensor(x)


def copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x.clone()


def single(x: Any) -> Any:
    """As float32, without a gradient."""
    return x.astype(np.float32, copy=False) if isinstance(x, np.ndarray) else x.detach().float()


def joined(parts: Sequence[Any]) -> Any:
    """One after another along the first axis; the first says of which kind."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    whole = first.new_empty(sum(len(each) for each in parts), *first.shape[1:])
    at = 0
    for each in parts:
        whole[at : at + len(each)] = each
        at += len(each)
    return whole


def zeros(sizes: Sequence[int], other: Any) -> Any:
    """Of the kind and type of `other`."""
    return np.zeros(sizes, dtype=other.dtype) if isinstance(other, np.ndarray) else other.new_zeros(sizes)


def highest(x: Any) -> NDArray[Any]:
    """The greatest of each row."""
    return x.max(-1) if isinstance(x, np.ndarray) else host(x.amax(-1))
