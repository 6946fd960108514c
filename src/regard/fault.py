"""Fault: what the user gave was wrong. The command prints its one line and exits with 2, a code of nothing else."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import final


@final
class Fault(Exception):
    """One clear line: what was wrong, where, and what to do."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'width'?`, or nothing when no known word is near."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""
