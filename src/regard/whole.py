"""Whole: a file is there whole or not at all, whatever happens while it is written. It does not know what it holds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from regard.fault import Fault


def whole(path: str | Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a file beside `path`, of the same ending; it is forced to the disk, then put in its place."""
    path = Path(path)
    place = Path(os.path.realpath(path))  # a link keeps pointing where it did
    if place.is_dir():
        raise Fault(f"{path}: cannot be written (it is a folder)")
    # The ending stays: writers choose their format by it.
    beside = place.with_name(f".{place.stem[:100]}.{os.getpid()}{place.suffix}")
    try:
        write(beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(place)
    except OSError as error:
        missing = "" if place.parent.is_dir() else f"; there is no folder {path.parent}"
        raise Fault(f"{path}: cannot be written ({error.strerror or error}{missing})") from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def whole_text(path: str | Path, text: str) -> None:
    def write(beside: Path) -> None:
        beside.write_text(text, encoding="utf-8")

    whole(path, write)
