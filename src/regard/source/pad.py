"""Pad: rows of token ids of different lengths as one table with its mask. It does not know what a token stands for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

PAD, BOS, EOS, UNK = 0, 1, 2, 3

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def padded(rows: Sequence[Sequence[int]]) -> tuple[Ints, Bools]:
    """The rows, padded on the right, and where they are real."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    mask = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    ids = np.full(mask.shape, PAD, dtype=np.int64)
    ids[mask] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    return ids, mask
