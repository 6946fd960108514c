"""Greatest: the few greatest of each row, where a row is as long as a vocabulary.

Ties go to the smaller symbol, whatever the shape: so no output depends on its neighbours. It does not know what the
numbers mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from regard.search.core import Scores
from regard.shape import Float, Int

if TYPE_CHECKING:
    from torch import Tensor

FEW: Final = 16  # with more than these a sort is quicker


def greatest(log_probs: Scores, count: int) -> tuple[Float[Any, "row count"], Int[Any, "row count"]]:
    """The `count` greatest values of each row and where they stand, greatest first, ties to the smaller symbol."""
    if isinstance(log_probs, np.ndarray):
        return _of_array(log_probs, count)
    return _of_tensor(log_probs, count)


def _of_array(x: NDArray[Any], count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A pass over all for each: the machine reads a row faster than any order of it is made."""
    every = np.arange(len(x))
    if count == 1:
        places = x.argmax(-1)[:, None]
    elif count > FEW:
        places = np.argsort(-x, axis=-1, kind="stable")[:, :count]
    else:
        left = np.maximum(x, np.finfo(x.dtype).min)  # so that what is impossible differs from what is taken
        places = np.empty((len(x), count), dtype=np.int64)
        for at in range(count):
            places[:, at] = left.argmax(-1)
            left[every, places[:, at]] = -np.inf
    return x[every[:, None], places], places


def _of_tensor(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`topk` leaves ties open, and what it then does depends on the shape. One more value than asked for tells whether
    a tie crosses the cut; only those rows pay for a full stable sort.
    """
    if count == 1:
        values, symbols = x.max(-1, keepdim=True)  # documented to give the first of equals
        return values, symbols
    values, symbols = x.topk(min(count + 1, x.shape[-1]))
    if values.shape[-1] > count:
        crossing = (values[:, count - 1] == values[:, count]) & values[:, count].isfinite()
        tied = crossing.nonzero().squeeze(-1)
        if len(tied):
            sorted_values, order = x[tied].sort(dim=-1, descending=True, stable=True)
            values[tied], symbols[tied] = sorted_values[:, : count + 1], order[:, : count + 1]
    symbols, order = symbols[:, :count].sort(dim=-1)
    values, order = values[:, :count].gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return values, symbols.gather(-1, order)
