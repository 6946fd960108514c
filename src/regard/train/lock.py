"""One run in a folder at a time: the system lets go of the lock however a process ends, so that none is left behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.fault import Fault


def _take(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Inside, the folder is ours. The file itself stays: to remove it would let two processes lock two files."""
    try:
        file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Fault(f"{folder / 'lock'}: {error.strerror}") from error
    try:
        try:
            _take(file)
        except OSError as error:
            raise Fault(f"{folder}: another run is at work in this folder; wait for it or give another one") from error
        yield
    finally:
        os.close(file)
