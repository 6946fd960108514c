"""Shelf: translated files wait here, in memory, under names that nobody can guess, until their time is over."""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import Final, final

from regard.serve.settings import Store


@final
@dataclass(frozen=True, slots=True)
class Shelved:
    """A file as it is handed out."""

    content: bytes
    title: str
    until: float


@final
class Shelf:
    """The oldest file goes when there is no room for a new one."""

    def __init__(self, settings: Store) -> None:
        self._settings: Final = settings
        self._files: OrderedDict[str, Shelved] = OrderedDict()
        self._size = 0

    def put(self, content: bytes, title: str) -> str:
        """The name it is asked for by."""
        ending = title.rpartition(".")[2]
        name = f"{secrets.token_urlsafe(24)}.{ending}"
        self._files[name] = Shelved(content, title, monotonic() + self._settings.seconds)
        self._size += len(content)
        while len(self._files) > 1 and self._size > self._settings.bytes:
            self._drop(next(iter(self._files)))
        return name

    def get(self, name: str) -> Shelved | None:
        """The file, unless it is over."""
        self.tidy()
        return self._files.get(name)

    def tidy(self) -> None:
        """Takes out what is over; all wait equally long, so those stand first."""
        while self._files and next(iter(self._files.values())).until <= monotonic():
            self._drop(next(iter(self._files)))

    def _drop(self, name: str) -> None:
        self._size -= len(self._files.pop(name).content)


def titled(name: str, target: str) -> str:
    """What a translated file is called: letters.txt → letters_mr.txt; nothing of a path, nothing to break a header."""
    plain = name.replace("\\", "/").rpartition("/")[2]
    stem, _, ending = (plain if "." in plain else f"{plain}.txt").rpartition(".")
    bare = re.sub(r"[^\w.-]+", "_", stem, flags=re.ASCII).strip("._")[:80]
    return f"{bare or 'translation'}_{target}.{ending.lower()}"
