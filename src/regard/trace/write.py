"""Write: a file is there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from regard.fault import Fault


def whole(path: str | Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a file beside `path`, of the same ending, then put it in its place in one step."""
    path = Path(path)
    place = Path(os.path.realpath(path))  # a link keeps pointing where it did
    if place.is_dir():
        raise Fault(f"{path}: cannot be written (it is a folder)")
    # The ending stays: writers choose their format by it.
    beside = place.with_name(f".{place.stem[:100]}.{os.getpid()}{place.suffix}")
    try:
        write(beside)
        beside.replace(place)
    except OSError as error:
        missing = "" if place.parent.is_dir() else f"; there is no folder {path.parent}"
        raise Fault(f"{path}: cannot be written ({error.strerror or error}{missing})") from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
