"""Weights: a bundle's one file of weights as the arrays that graphs ask for. $W_{ij} = s_i q_{ij}$ where it is int8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.name import SCALE
from regard.fault import Fault

Arrays = Mapping[str, NDArray[Any]]


def asked(names: Sequence[str], kept: Arrays, where: str) -> dict[str, NDArray[Any]]:
    """The weights of these names as float32, whatever they are kept as."""
    return {name: _plain(name, kept, where) for name in names}


def _plain(name: str, kept: Arrays, where: str) -> NDArray[np.float32]:
    found, scale = kept.get(name), kept.get(name + SCALE)
    if found is None:
        raise Fault(f"{where}: {name!r} is missing")
    if found.dtype == np.int8:
        if scale is None or scale.dtype.kind != "f" or found.ndim != 2 or scale.shape != found.shape[:1]:
            raise Fault(f"{where}: {name!r} and its scales do not fit together")
        whole = found.astype(np.float32)
        whole *= scale.astype(np.float32)[:, None]
    elif scale is not None or found.dtype.kind != "f":
        raise Fault(f"{where}: {name!r} is kept in a way that this version of regard does not know")
    else:
        whole = np.ascontiguousarray(found, dtype=np.float32)
    if not np.isfinite(whole.sum()) and not np.isfinite(whole).all():
        raise Fault(f"{where}: {name!r} holds numbers that are not finite")
    return whole
