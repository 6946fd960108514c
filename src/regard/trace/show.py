"""Show: a trace in a file whose ending says what it is. It does not know how each kind is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from regard.fault import Fault
from regard.trace.core import Trace
from regard.whole import whole

PICTURES: Final = (".png", ".svg", ".pdf")
KNOWN: Final = (*PICTURES, ".html", ".json")


def save(
    trace: Trace,
    path: str | Path,
    *,
    reader: str | None = None,
    head: int | None = None,
    title: str = "",
    every_head: bool = False,
) -> str | None:
    """Write one file, whole or not at all; gives one line to pass on where letters had to be drawn as boxes.

    `reader`, `head` and `every_head` choose what a picture shows. A page opens with that choice and holds every head;
    JSON is the whole trace.
    """
    known(path)
    ending = Path(path).suffix.lower()
    if ending == ".json":
        whole(path, trace.save)
        return None
    if ending == ".html":
        from regard.trace import html

        html.save(trace, path, reader=reader, head=head, title=title)
        return None
    from regard.trace import picture

    return picture.save(trace, path, reader=reader, head=head, title=title, every_head=every_head)


def known(path: str | Path) -> None:
    """A Fault for an ending that nothing is written in: ask it before the work, not after."""
    ending = Path(path).suffix.lower()
    if ending not in KNOWN:
        what = f"nothing is drawn as {ending!r}" if ending else "the name has no ending"
        raise Fault(f"{path}: {what}; known are {' '.join(KNOWN)}")
