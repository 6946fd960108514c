"""Refusal: what a client asked for cannot be done. It becomes `{"error": text}` under its status, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

LONGEST: Final = 80  # characters of a client's own words that an answer repeats


@final
class Refusal(Exception):
    """One clear line for the client, without a path and without a traceback."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status: Final = status
        self.text: Final = text
        self.headers: Final = dict(headers or {})


def invalid(what: str) -> Refusal:
    """The client's request is wrong."""
    return Refusal(400, f"Invalid request: {what}")


def busy(why: str, seconds: float) -> Refusal:
    """There is more work than can be done; the client may come back after so long."""
    return Refusal(503, why, {"Retry-After": str(max(1, round(seconds)))})


def shown(word: str) -> str:
    """A client's word as an answer may repeat it."""
    return word if len(word) <= LONGEST else f"{word[:LONGEST]}…"
