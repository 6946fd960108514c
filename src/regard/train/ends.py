"""How a run may end before its budget is spent: the weights went astray, or someone asked it to stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import final


@final
class Diverged(Exception):
    """The loss or the gradients are no numbers any more. The command prints its one line and exits with 1."""


@final
class Stopped(Exception):
    """Stopped by a signal, all work saved in `checkpoint`. The command prints its one line and exits with `code`."""

    def __init__(self, number: int, update: int, checkpoint: Path) -> None:
        super().__init__(f"stopped after update {update}, saved in {checkpoint}; --resume goes on from there")
        self.code = 128 + number
        self.checkpoint = checkpoint


@final
class Stop:
    """Has someone asked to stop? The first signal is a wish, the second one ends the process at once."""

    def __init__(self) -> None:
        self.number = 0

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self.number:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.number = number

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Only the main thread may hear signals; in any other one the run goes on to its end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
