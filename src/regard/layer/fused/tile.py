"""Tiles: how a kernel's work is cut among programs. A step of a recurrence is small, so that it takes small tiles to
give every multiprocessor of a large GPU something to do; a wide batch takes larger ones, which read each weight less
often. Few sizes, as each is compiled once. It does not know what is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, final

import torch
from torch import Tensor

PARTS: Final = 4  # programs, at most, that share one sum

# rows × columns, the largest first: of a cell, whose columns are units of three or four gates each, and of a product
CELL: Final = ((64, 32), (32, 16))
PRODUCT: Final = ((64, 64), (32, 32))
SLOTS: Final = 32  # at least
SLICE: Final = 16384  # of slots × width that are at hand at once
DEPTH: Final = {torch.bfloat16: 128, torch.float32: 32}  # of a product, at once
STAGES: Final = 4  # of a product's sums that are on their way at once
WARPS: Final = 8  # of a program that weighs slots
EARLY: Final = False  # whether a launch may take its place before the one in front of it has ended


@final
@dataclass(frozen=True, slots=True)
class Chip:
    """How many programs keep a GPU busy, and how many bytes one of them may have at hand."""

    programs: int = 106
    shared: int = 227 * 1024


@cache
def chip(device: torch.device) -> Chip:
    if device.type != "cuda":
        return Chip()
    from triton.runtime import driver  # torch does not tell how much memory a program may ask for

    found = driver.active.utils.get_device_properties(device.index or 0)
    return Chip(round(0.8 * found["multiprocessor_count"]), found["max_shared_mem"])


@final
@dataclass(frozen=True, slots=True)
class Tile:
    rows: int
    columns: int
    parts: int = 1


def cut(
    rows: int, columns: int, sizes: tuple[tuple[int, int], ...], like: Tensor, *, gates: int = 1, parts: int = 1
) -> Tile:
    """The largest tile that fits and leaves enough programs, for products of numbers `like` these, so many `gates` to a
    column. Where these are too few, the sum of each is shared by `parts`.
    """
    here = chip(like.device)
    bytes_deep = STAGES * DEPTH[like.dtype] * like.element_size()
    high, wide, programs = 0, 0, 0
    for high, wide in sizes:  # the last one where none will do
        programs = -(-rows // high) * -(-columns // wide)
        if programs * parts >= here.programs and (high + gates * wide) * bytes_deep <= here.shared:
            break
    return Tile(high, wide, parts if programs < here.programs else 1)


def power(size: int, least: int = 16) -> int:
    """The power of two that holds it."""
    return max(least, 1 << (size - 1).bit_length())


def wide(slots: int, width: int, tables: int = 1) -> int:
    """How much of the width of all slots is at hand at once, in so many tables."""
    return max(16, min(power(width), SLICE // power(slots, SLOTS) // tables))
