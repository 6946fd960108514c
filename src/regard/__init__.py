"""Regard learns to turn one sequence into another by attention, and shows what it looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.fault import Fault as Fault
    from regard.task.api import load as load
    from regard.task.translation import Translation as Translation
    from regard.task.translation import Wish as Wish
    from regard.task.translator import Translator as Translator
    from regard.trace.alignment import Link as Link
    from regard.trace.core import Trace as Trace

_HOMES = {
    "Fault": "regard.fault",
    "Link": "regard.trace.alignment",
    "Trace": "regard.trace.core",
    "Translation": "regard.task.translation",
    "Translator": "regard.task.translator",
    "Wish": "regard.task.translation",
    "load": "regard.task.api",
}
__all__ = ["Fault", "Link", "Trace", "Translation", "Translator", "Wish", "load"]


def __getattr__(name: str) -> Any:
    """Looked up when it is used: the command prints its help without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
