"""Server: the application on a socket, until it is told to end. It does not know routes.

SIGTERM and SIGINT let no new connection in and end when what was begun is done; SIGHUP loads the bundles anew. A
connection that does not say its request in time is closed, and when there are too many, the one that idles longest.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, final

import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.fault import Fault
from regard.serve.app import app
from regard.serve.library import Library
from regard.serve.service import Service
from regard.serve.settings import Settings

SAYING: Final = 10.0  # seconds for the head of a request
IDLE: Final = 20  # seconds between two requests of one connection
CONNECTIONS: Final = 1_000
HEAD: Final = 512 << 10  # bytes: a text may stand in the query string, nine bytes a letter
DRAIN: Final = 30  # seconds for what was begun

Tell = Callable[[str], None]


def serve(names: Sequence[str], host: str, port: int, settings: Settings, tell: Tell) -> None:
    """Serves until it is told to end."""
    door = _door(host, port)
    with door:
        library = Library.open(names, settings.memory)
        asyncio.run(_run(library, names, door, settings, tell))


async def _run(library: Library, names: Sequence[str], door: socket.socket, settings: Settings, tell: Tell) -> None:
    service = Service(library, settings, lambda: Library.open(names, settings.memory))
    server: uvicorn.Server

    def ready() -> None:
        _signals(server, service, tell)
        host, port = door.getsockname()[:2]
        pairs = ", ".join(f"{source}→{target}" for source, target in library.places)
        tell(f"regard serves {pairs} at http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl-C ends it)")

    for name in ("uvicorn.error", "asyncio", "python_multipart"):  # what clients do wrong is told to them alone
        logging.getLogger(name).setLevel(logging.ERROR)
    config = uvicorn.Config(
        app(service, ready),
        http=_Guarded,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=DRAIN,
        h11_max_incomplete_event_size=HEAD,
    )
    server = uvicorn.Server(config)
    await server.serve([door])
    tell("regard has ended")


def _door(host: str, port: int) -> socket.socket:
    """The socket, before anything is loaded: a port in use is known at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, for what asyncio knows to be TCP it does not hold back: an answer would wait 40 ms for a client's receipt.
    door = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((host, port))
        door.listen(1024)
    except (OSError, OverflowError, UnicodeError) as error:
        door.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise Fault(f"{host}:{port}: this port is in use; choose another one with --port") from None
        why = error.strerror if isinstance(error, OSError) else error
        raise Fault(f"{host}:{port}: cannot be listened on ({why})") from None
    return door


def _signals(server: uvicorn.Server, service: Service, tell: Tell) -> None:
    """Instead of uvicorn's own, which would end the process by the same signal once more."""
    loop = asyncio.get_running_loop()
    kept: set[asyncio.Task[None]] = set()

    def end() -> None:
        server.force_exit = server.should_exit  # the second time, at once
        server.should_exit = True

    async def reload() -> None:
        tell(await service.reload())

    def anew() -> None:
        task = loop.create_task(reload())
        kept.add(task)
        task.add_done_callback(kept.discard)

    with suppress(NotImplementedError):  # where there are no such signals
        loop.add_signal_handler(signal.SIGTERM, end)
        loop.add_signal_handler(signal.SIGINT, end)
        if sys.platform != "win32":
            loop.add_signal_handler(signal.SIGHUP, anew)


@final
class _Guarded(H11Protocol):
    """Closes what opens a connection and does not come to its point."""

    _late: asyncio.TimerHandle | None = None
    _since = 0.0  # when something was heard of it last

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._since = self.loop.time()
        there = [each for each in self.connections if isinstance(each, _Guarded) and not each.transport.is_closing()]
        if len(there) > CONNECTIONS:
            idle = [each for each in there if not each._busy()]
            min(idle, key=lambda each: each._since).transport.close()
        self._await()

    @override
    def data_received(self, data: bytes) -> None:
        self._since = self.loop.time()
        super().data_received(data)
        if self._busy():
            self._came()
        elif self._late is None:
            self._await()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._came()
        super().connection_lost(exc)

    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await(self) -> None:
        self._late = self.loop.call_later(SAYING, self._close)

    def _came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if not self._busy() and not self.transport.is_closing():
            self.transport.close()
