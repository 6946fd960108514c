"""Store: the token ids of many pairs in one file, mapped into memory. It does not know what an id stands for.

    header | source and target ids of pair 0, of pair 1, ... | the two lengths of each pair | fingerprint

All numbers are little-endian; an id takes two bytes, or four where one of them needs it. The file is written as its
rows come, beside its place, and renamed into it when it is whole.
"""

from __future__ import annotations

import os
import struct
import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from regard.fault import Fault
from regard.source.batch import Ints
from regard.source.lines import faults
from regard.whole import whole

MAGIC: Final = b"\x93regard\n"
FORMAT: Final = 1
_HEADER: Final = struct.Struct("<8sIIQQI")  # magic, format, bytes an id, pairs, ids, bytes of the fingerprint
_DIGEST: Final = struct.Struct("<I")  # CRC-32 of the header and of all that follows
_BEGIN: Final = _HEADER.size + _DIGEST.size
_ROWS: Final = 4096  # written at once
_CHUNK: Final = 1 << 20  # bytes, a multiple of every size above

Narrow = NDArray[np.uint16] | NDArray[np.int32]
Lengths = NDArray[np.int32]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Opened for reading. The ids stay on the disk until they are asked for; the places of the pairs do not."""

    path: Path
    fingerprint: str  # what the writer says the ids were made from
    lengths: tuple[Lengths, Lengths]  # of the sources and of the targets, without BOS and EOS
    ids: Narrow
    first: Ints  # where in `ids` each pair begins

    @staticmethod
    def write(path: Path, rows: Iterable[tuple[Sequence[int], Sequence[int]]], fingerprint: str = "") -> Store:
        """The file is there whole or not at all, whatever happens on the way."""

        def fill(beside: Path) -> None:
            with beside.open("w+b") as file:
                _fill(file, rows, fingerprint.encode())

        whole(path, fill)
        return Store.open(path)

    @staticmethod
    def open(path: Path) -> Store:
        """A store whose every byte is as it was written, or a Fault. It is read through once, and not kept."""
        with faults(path), path.open("rb") as file:
            begin = file.read(_BEGIN)
            if not begin.startswith(MAGIC[: len(begin)] or MAGIC):
                raise Fault(f"{path}: is not a store of token ids; name another file")
            if len(begin) < _BEGIN:
                raise _damaged(path, "it ends too early")
            _, version, width, pairs, many, more = _HEADER.unpack_from(begin)
            if version != FORMAT:
                raise Fault(
                    f"{path}: is a store of format {version}, and this version of regard reads {FORMAT}; "
                    "delete it to have it made anew"
                )
            size, expected = os.fstat(file.fileno()).st_size, _tail(width, many) + 8 * pairs + more
            if size != expected:
                raise _damaged(path, f"it has {size:,} bytes where {expected:,} were written")
            if _digest(file) != _DIGEST.unpack_from(begin, _HEADER.size)[0]:
                raise _damaged(path, "this is not what was written")
            mapped = np.asarray(np.memmap(file, mode="r"))
        body = mapped[_BEGIN : _BEGIN + width * many]
        ids: Narrow = body.view(np.uint16) if width == 2 else body.view(np.int32)
        tail = _tail(width, many)
        lengths = mapped[tail : tail + 8 * pairs].view(np.int32).reshape(pairs, 2)
        ends = np.cumsum(lengths.sum(-1, dtype=np.int64))
        first = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[:pairs]
        sides = (np.ascontiguousarray(lengths[:, 0]), np.ascontiguousarray(lengths[:, 1]))
        return Store(path, mapped[tail + 8 * pairs :].tobytes().decode(), sides, ids, first)

    def __len__(self) -> int:
        return len(self.first)

    def sources(self, numbers: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
        """The ids of those pairs' sources, one row after another, and how many each row has."""
        return self._gathered(self.first[numbers], self.lengths[0][numbers].astype(np.int64))

    def targets(self, numbers: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
        """The same of the targets."""
        first = self.first[numbers] + self.lengths[0][numbers]
        return self._gathered(first, self.lengths[1][numbers].astype(np.int64))

    def _gathered(self, first: Ints, lengths: Ints) -> tuple[Ints, Ints]:
        ends = np.cumsum(lengths)
        place = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first - (ends - lengths), lengths)
        return self.ids[place].astype(np.int64), lengths


def _fill(file: IO[bytes], rows: Iterable[tuple[Sequence[int], Sequence[int]]], fingerprint: bytes) -> None:
    file.write(bytes(_BEGIN))
    lengths = array("i")
    width, many = 2, 0
    coming = iter(rows)
    while chunk := [side for pair in islice(coming, _ROWS) for side in pair]:
        ids = np.fromiter(chain.from_iterable(chunk), dtype=np.int64)
        lengths.extend(map(len, chunk))
        if width == 2 and ids.max(initial=0) > np.iinfo(np.uint16).max:
            _widen(file, many)
            width = 4
        file.write(ids.astype(np.uint16 if width == 2 else np.int32).tobytes())
        many += len(ids)
    file.write(bytes(_tail(width, many) - file.tell()))
    file.write(np.asarray(lengths, dtype=np.int32).tobytes())
    file.write(fingerprint)
    file.seek(0)
    file.write(_HEADER.pack(MAGIC, FORMAT, width, len(lengths) // 2, many, len(fingerprint)))
    digest = _digest(file)
    file.seek(_HEADER.size)
    file.write(_DIGEST.pack(digest))


def _widen(file: IO[bytes], many: int) -> None:
    """The ids so far, from two bytes to four, where they stand: the last ones first, so that none is written over."""
    for end in range(many, 0, -_CHUNK):
        start = max(0, end - _CHUNK)
        file.seek(_BEGIN + 2 * start)
        ids = np.frombuffer(file.read(2 * (end - start)), dtype=np.uint16)
        file.seek(_BEGIN + 4 * start)
        file.write(ids.astype(np.int32).tobytes())
    file.seek(_BEGIN + 4 * many)


def _digest(file: IO[bytes]) -> int:
    """Of all but the digest itself."""
    file.seek(0)
    digest = zlib.crc32(file.read(_HEADER.size))
    file.seek(_BEGIN)
    while chunk := file.read(_CHUNK):
        digest = zlib.crc32(chunk, digest)
    return digest


def _tail(width: int, many: int) -> int:
    """Where the lengths begin: at a multiple of eight, for the processor's sake."""
    return -(-(_BEGIN + width * many) // 8) * 8


def _damaged(path: Path, why: str) -> Fault:
    return Fault(f"{path}: is damaged ({why}); delete it to have it made anew")
