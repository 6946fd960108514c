"""Settings: every limit of the server in one place, each with the default that `regard serve` starts with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for. -1 is none, where that is said."""

    characters: int = 20_000  # of all texts of a request together; -1: none
    batch: int = 256  # texts of a request; -1: none
    alternatives: int = 4  # beside the translation itself; one fewer than the width of the bundles' beam
    seconds: float = 30.0  # until a request that waits or works is given up
    body: int = 2 << 20  # bytes of a request
    file: int = 1 << 20  # bytes of a file to translate
    file_seconds: float = 600.0  # until the translation of a file is given up
    each_minute: int = 0  # requests of one client address in a minute; 0: as many as come


@final
@dataclass(frozen=True, slots=True)
class Batching:
    """How requests come together, and how many may wait."""

    delay: float = 0.005  # seconds that the first of a batch waits for others, when nothing else is to be done
    most: int = 64  # sentences that are translated at once
    queue: int = 2_000  # sentences that may wait; what comes then is told to come back


@final
@dataclass(frozen=True, slots=True)
class Store:
    """Translated files wait for whoever asked for them, in memory."""

    seconds: float = 1800.0
    bytes: int = 64 << 20  # of all files together: the oldest goes first


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """How a server behaves."""

    limits: Limits = field(default_factory=Limits)
    batching: Batching = field(default_factory=Batching)
    store: Store = field(default_factory=Store)
    memory: int = 2 << 30  # bytes of weights that may be loaded at once
    keys: tuple[str, ...] = ()  # none: nobody needs one
    files: bool = True
    suggestions: str | None = None  # a table that suggestions are added to; None: they are refused
