"""How many sentences a second the server gives, how long one waits, and whether it keeps its memory and its answers.

    python benchmarks/serve.py [TABLE.tsv] [--model en-mr] [--seconds 20] [--minutes 2] [--clients 64] [--peer [PYTHON]]

The sentences of the table are asked for one a request, over real sockets, by a client on the same machine: one after
another; by many clients at once, each asking anew when it is answered; and at random times (Poisson) at half of the
rate that came out. Then good and bad requests of all kinds go on for so many minutes, and the server's memory is read.
Every answer is compared with the one given alone. --peer puts CTranslate2, with the same weights, behind a
minimal server of the same libraries that batches nothing, and asks it the same (pip install ctranslate2).

It does not measure a network, nor other lengths of sentences than the table's: those of Tatoeba have six words.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from quality import machine, today

from regard.source.report import Report
from regard.source.table import read

TABLE = Path(__file__).parents[1] / "examples" / "dev.tsv"
PEER = Path(__file__).parent / "peers" / "ctranslate.py"


@dataclass
class Seen:
    """What a run of requests came to: seconds of each, how it ended, and answers that differ from those alone."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    took: float = 0.0

    @property
    def rate(self) -> float:
        return self.statuses[200] / self.took

    def at(self, share: float) -> float:
        return sorted(self.seconds)[min(int(share * len(self.seconds)), len(self.seconds) - 1)]


class Client:
    """One connection that stays open, and as little work as can be: the server has the machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(
        self, path: str, body: bytes, kind: str = "application/json", method: str = "POST"
    ) -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        used = self._writer is not None
        try:
            return await self._sent(head.encode() + body)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.close()
            if not used:
                raise
        return await self._sent(head.encode() + body)  # the server closes a connection that idled long

    async def _sent(self, request: bytes) -> tuple[int, bytes]:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(request)
        told = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        size = int(told.partition(b"content-length:")[2].partition(b"\r")[0] or 0)
        answer = await self._reader.readexactly(size)
        if b"connection: close" in told:
            self.close()
        return int(told.split(b" ", 2)[1]), answer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


@contextmanager
def server(*command: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server in a process of its own; its first line says where."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        if "http://" not in line:
            raise SystemExit(f"{' '.join(command)}: {line}{process.stderr.read()}")
        address = urlsplit(next(word for word in line.split() if word.startswith("http://")))
        try:
            yield address.port or 0, psutil.Process(process.pid)
        finally:
            process.terminate()


def translation(text: str) -> bytes:
    return json.dumps({"q": text, "source": "en", "target": "mr"}).encode()


async def one(client: Client, text: str, seen: Seen, alone: dict[str, str]) -> None:
    began = time.perf_counter()
    status, answer = await client.ask("/translate", translation(text))
    seen.seconds.append(time.perf_counter() - began)
    seen.statuses[status] += 1
    if status == 200:
        given = json.loads(answer)["translatedText"]
        seen.wrong += alone.setdefault(text, given) != given


async def closed(port: int, texts: Sequence[str], clients: int, seconds: float, alone: dict[str, str]) -> Seen:
    """So many clients, each of which asks again when it is answered."""
    seen, began = Seen(), time.perf_counter()

    async def ask(number: int) -> None:
        client, mine = Client(port), random.Random(number)
        while time.perf_counter() - began < seconds:
            await one(client, mine.choice(texts), seen, alone)
        client.close()

    await asyncio.gather(*(ask(number) for number in range(clients)))
    seen.took = time.perf_counter() - began
    return seen


async def open_(port: int, texts: Sequence[str], rate: float, seconds: float, alone: dict[str, str]) -> Seen:
    """Requests at random times, whether those before are answered or not."""
    seen, mine, idle, tasks = Seen(), random.Random(7), list[Client](), set[asyncio.Task[None]]()

    async def ask(text: str) -> None:
        client = idle.pop() if idle else Client(port)
        await one(client, text, seen, alone)
        idle.append(client)

    began = due = time.perf_counter()
    while due - began < seconds:
        due += mine.expovariate(rate)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.add(asyncio.create_task(ask(mine.choice(texts))))
    await asyncio.gather(*tasks)
    seen.took = time.perf_counter() - began
    for client in idle:
        client.close()
    return seen


async def soak(
    port: int, texts: Sequence[str], minutes: float, memory: Callable[[], float]
) -> tuple[Seen, list[float]]:
    """Good and bad requests, mixed, and the server's MiB once a second."""
    seen, sizes, began = Seen(), list[float](), time.perf_counter()
    kinds = list(mixed(texts))

    async def ask(number: int) -> None:
        client, mine = Client(port), random.Random(number)
        while time.perf_counter() - began < 60 * minutes:
            started = time.perf_counter()
            try:
                status = await mine.choice(kinds)(client, mine)
            except (ConnectionError, asyncio.IncompleteReadError):
                client.close()
                status = 0
            seen.statuses[status] += 1
            seen.seconds.append(time.perf_counter() - started)
        client.close()

    async def watch() -> None:
        while True:
            sizes.append(memory())
            await asyncio.sleep(1)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(ask(number) for number in range(24)))
    watching.cancel()
    seen.took = time.perf_counter() - began
    return seen, sizes


Kind = Callable[[Client, random.Random], Awaitable[int]]


def mixed(texts: Sequence[str]) -> Iterator[Kind]:
    """The requests of a bad day. A status of 0 is a connection that the server closed, or this side did."""

    def sent(make: Callable[[random.Random], bytes], path: str = "/translate", kind: str = "application/json") -> Kind:
        async def ask(client: Client, mine: random.Random) -> int:
            return (await client.ask(path, make(mine), kind))[0]

        return ask

    def asked(mine: random.Random, more: dict[str, Any]) -> bytes:
        return json.dumps({"q": mine.choice(texts), "source": "en", "target": "mr", **more}).encode()

    def page(mine: random.Random) -> str:
        return f"<p>{mine.choice(texts)} <b>{mine.choice(texts)}</b> &amp; <a href='x'>{mine.choice(texts)}</a></p>"

    for _ in range(6):
        yield sent(lambda mine: asked(mine, {}))
    yield sent(lambda mine: asked(mine, {"q": [mine.choice(texts) for _ in range(9)], "source": "auto"}))
    yield sent(lambda mine: asked(mine, {"alignment": True, "attention": True, "confidence": True, "alternatives": 3}))
    yield sent(lambda mine: asked(mine, {"q": page(mine), "format": "html"}))
    yield sent(lambda mine: asked(mine, {"q": "See {name} at https://example.org/?a=1, 25 times 😀"}))
    yield sent(lambda mine: asked(mine, {"q": " ".join(mine.choices(texts, k=40))}))
    yield sent(lambda mine: asked(mine, {"q": mine.randbytes(300).decode("latin-1")}))
    yield sent(lambda mine: asked(mine, {"q": "x" * 15_000}))
    yield sent(lambda mine: asked(mine, {"q": "x" * 30_000}))
    yield sent(lambda mine: asked(mine, {"q": 7, "target": "zz"}))
    yield sent(lambda mine: asked(mine, {"target": "zz"}))
    yield sent(lambda mine: b"[" * 50_000)
    yield sent(lambda mine: b"q=%ff&source=en", kind="application/x-www-form-urlencoded")
    yield sent(lambda mine: mine.randbytes(2_000))
    yield sent(lambda mine: b"q=" + mine.choice(texts).encode(), "/detect", "application/x-www-form-urlencoded")
    yield _vanishing
    yield _figures


async def _vanishing(client: Client, mine: random.Random) -> int:
    """Asks, and does not wait for the answer."""
    gone = Client(client._port)
    with suppress(TimeoutError):
        async with asyncio.timeout(mine.random() / 10):
            await gone.ask("/translate", translation("We live here. " * 40))
    gone.close()
    return 0


async def _figures(client: Client, _: random.Random) -> int:
    return (await client.ask("/metrics", b"", method="GET"))[0]


async def warm(port: int, texts: Sequence[str]) -> dict[str, str]:
    """Every answer as it is given alone."""
    alone: dict[str, str] = {}
    client = Client(port)
    for text in texts:
        await one(client, text, Seen(), alone)
    client.close()
    return alone


async def rates(port: int, texts: Sequence[str], asked: argparse.Namespace) -> list[str]:
    alone = await warm(port, texts)
    single = await closed(port, texts, 1, asked.seconds, alone)
    many = await closed(port, texts, asked.clients, asked.seconds, alone)
    half = await open_(port, texts, many.rate / 2, asked.seconds, alone)
    rows = []
    for name, seen in (
        ("one request at a time", single),
        (f"{asked.clients} clients", many),
        (f"at random, {many.rate / 2:.0f} a second", half),
    ):
        p50, p99 = (f"{1000 * seen.at(share):.0f}" for share in (0.5, 0.99))
        other = sum(seen.statuses.values()) - seen.statuses[200]
        rows.append(
            f"| {name} | {seen.rate:.0f} | {seen.rate / single.rate:.1f} | {p50} | {p99} | {seen.wrong} | {other} |"
        )
    return rows


def soaked(seen: Seen, sizes: Sequence[float], minutes: float) -> Iterator[str]:
    quarter = max(len(sizes) // 4, 1)
    second, last = sizes[quarter : 2 * quarter] or sizes, sizes[-quarter:]
    ours = sum(count for status, count in seen.statuses.items() if status >= 500 and status != 503)
    told = ", ".join(f"{count:,} × {status or 'closed'}" for status, count in sorted(seen.statuses.items()))
    yield f"{minutes:g} minutes of good and bad requests: {sum(seen.statuses.values()):,} requests ({told});"
    yield f"faults of ours (5xx but 503): {ours}; p99 {1000 * seen.at(0.99):.0f} ms."
    yield f"Memory, MiB: median of the second quarter {statistics.median(second):.0f}, of the last"
    yield f"{statistics.median(last):.0f}; highest {max(sizes):.0f}."


def calibration(model: str, table: str) -> str:
    import regard
    from regard.serve import confidence

    cases = confidence.cases(regard.load(model), table)
    found = confidence.measured(cases)
    plain = confidence.error([2.718281828**each.log_prob for each in cases], [each.right for each in cases])
    return (
        f"Confidence: expected calibration error {found['error']:.3f} over {found['sentences']:,} sentences, each by a"
        f" fit that left it out ({found['right']:.0%} right); of the model's own probability {plain:.3f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", default=str(TABLE))
    parser.add_argument("--model", default="en-mr")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--peer", nargs="?", const=sys.executable, metavar="PYTHON", help="that has ctranslate2")
    parser.add_argument("--sentences", type=int, default=1000)
    asked = parser.parse_args()
    texts = list(dict.fromkeys(pair.source for pair in read(asked.table, None, Report())))
    texts = random.Random(1).sample(texts, min(asked.sentences, len(texts)))
    peer = " --peer" if asked.peer else ""
    words = f"--seconds {asked.seconds:g} --minutes {asked.minutes:g}{peer}"
    print(f"    python benchmarks/serve.py {Path(asked.table).name} {words}\n")
    print(f"{machine()}, Python {sys.version.split()[0]}, {today()}; {asked.model}, {len(texts):,} sentences\n")
    names = ("requests", "sentences/s", "ratio", "median, ms", "p99, ms", "unlike alone", "not answered")
    head = f"| {' | '.join(names)} |\n|{'---|' * len(names)}"
    with server(sys.executable, "-m", "regard", "serve", "--port", "0", "--model", asked.model) as (port, process):
        print(head, *asyncio.run(rates(port, texts, asked)), sep="\n", flush=True)
        if asked.minutes:
            seen, sizes = asyncio.run(soak(port, texts, asked.minutes, lambda: process.memory_info().rss / (1 << 20)))
            print("", *soaked(seen, sizes, asked.minutes), sep="\n", flush=True)
    print("\n" + calibration(asked.model, asked.table), flush=True)
    if asked.peer:
        with server(asked.peer, str(PEER), "--model", asked.model) as (port, _):
            print("\nCTranslate2, the same weights, behind a minimal server:\n", head, sep="\n")
            print(*asyncio.run(rates(port, texts, asked)), sep="\n", flush=True)


if __name__ == "__main__":
    main()
