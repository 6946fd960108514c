"""Gate: what every request passes on its way in and out: how large, how slow and how frequent it may be, and how faults
are told. It does not know routes.

A body is read whole before anything else is done, so a slow client holds a little memory and no work. Every answer
bears the headers that let pages of other sites ask. What goes wrong here is written to stderr, never to the client.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final, final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.refusal import Refusal
from regard.serve.settings import Limits

READING: Final = 15.0  # seconds for a body to come
WRITING: Final = 30.0  # seconds for a client to take a part of an answer
LINGER: Final = 10.0  # seconds that a body which is not wanted is still taken, so that its sender reads the answer
ADDRESSES: Final = 10_000  # that are remembered for the limit per minute

HEADERS: Final = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"Authorization, Content-Type"),
    (b"access-control-max-age", b"1728000"),
    (b"x-content-type-options", b"nosniff"),
]

Told = Callable[[str, int, float], None]


@final
class Gate:
    def __init__(self, app: ASGIApp, limits: Limits, told: Told, paths: frozenset[str]) -> None:
        self._app: Final = app
        self._limits: Final = limits
        self._told: Final = told
        self._paths: Final = paths
        self._pace: Final = Pace(limits.each_minute)
        self._most: Final = max(limits.body, limits.file + (64 << 10))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, answer = monotonic(), _Answer(send)
        try:
            await self._through(scope, receive, answer)
        except Refusal as refusal:
            await _refuse(answer, refusal)
        except (TimeoutError, ConnectionError):
            pass  # who does not take the answer does not get it
        except Exception:
            # The lines of the program, without what anybody asked for.
            sys.stderr.write("regard serve: a fault of ours\n" + "".join(traceback.format_exc(chain=False)))
            await _refuse(answer, Refusal(500, "Internal error"))
        finally:
            self._told(self._route(scope["path"]), answer.status, monotonic() - began)

    async def _through(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        if not self._pace.lets((scope.get("client") or ("",))[0]):
            raise Refusal(
                429, f"Slowdown: {self._limits.each_minute} per 1 minute", {"Retry-After": "60", "Connection": "close"}
            )
        body = await self._body(scope, receive, answer)
        if body is None:
            return
        if scope["method"] == "OPTIONS" and self._route(scope["path"]) != "other":
            await answer({"type": "http.response.start", "status": 204, "headers": []})
            await answer({"type": "http.response.body", "body": b""})
            return
        given = False

        async def again() -> Message:
            """The body, then whatever comes: that the client has gone."""
            nonlocal given
            if not given:
                given = True
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        await self._app(scope, again, answer)

    async def _body(self, scope: Scope, receive: Receive, answer: _Answer) -> bytes | None:
        """The whole body; None when the client has gone, or was told that it is too large or too slow."""
        told = dict(scope["headers"]).get(b"content-length", b"0")
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(READING):
                more = True
                while more and size <= self._most and int(told) <= self._most:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        answer.status = 499
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    parts.append(part)
                    more = message.get("more_body", False)
        except TimeoutError:
            await _refuse(answer, Refusal(408, "Invalid request: the body is too slow", {"Connection": "close"}))
            return None
        if more:
            limit = f"Invalid request: the body is larger than {self._most} bytes"
            await _refuse(answer, Refusal(413, limit, {"Connection": "close"}), receive)
            return None
        return b"".join(parts)

    def _route(self, path: str) -> str:
        """Of the routes that are there: what a client made up is no name of a figure."""
        if path in self._paths:
            return path
        first = f"/{path.split('/')[1]}/" if path.count("/") > 1 else path
        return f"{first}NAME" if f"{first}NAME" in self._paths else "other"


@final
class _Answer:
    """Sends what the application sends, with the headers of every answer, within a time."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0  # 0: nothing was sent

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            there = {name for name, _ in message.get("headers", ())}
            added = [each for each in HEADERS if each[0] not in there]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        async with asyncio.timeout(WRITING):
            await self._send(message)


async def _refuse(answer: _Answer, refusal: Refusal, rest: Receive | None = None) -> None:
    """Says it, where nothing was said before; what the client is still sending is taken and thrown away."""
    if answer.status:
        return
    body = json.dumps({"error": refusal.text}, ensure_ascii=False).encode()
    extra = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *extra]
    try:
        await answer({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await answer({"type": "http.response.body", "body": body, "more_body": True})
        if rest is not None:
            async with asyncio.timeout(LINGER):
                while (message := await rest()).get("more_body"):
                    pass
                if message["type"] == "http.disconnect":
                    return
    except TimeoutError:
        pass
    await answer({"type": "http.response.body", "body": b"", "more_body": False})


@final
class Pace:
    """So many requests of one address in a minute: a bucket that runs full again. 0: as many as come."""

    def __init__(self, each_minute: int) -> None:
        self._each_minute = each_minute
        self._seen: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def lets(self, address: str) -> bool:
        if self._each_minute <= 0:
            return True
        now = monotonic()
        left, since = self._seen.pop(address, (float(self._each_minute), now))
        left = min(float(self._each_minute), left + (now - since) * self._each_minute / 60)
        self._seen[address] = (left - 1 if left >= 1 else left, now)
        if len(self._seen) > ADDRESSES:
            self._seen.popitem(last=False)
        return left >= 1
