"""Batcher: sentences of many requests, asked of a model together. It does not know models, nor who asked.

As many batches run side by side as a model has threads for. While they work, what comes waits and goes together next;
when a thread is free, the first one waits a few milliseconds for others. Requests take turns, a sentence each, and long
sentences go with long ones, so that neither a long text nor a strange one keeps others waiting. A sentence whose
request was given up is never begun. Since a sentence's answer does not depend on its neighbours, nothing that a client
reads says how it was batched.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final, final

from regard.serve.refusal import busy
from regard.serve.said import Said, Unit
from regard.serve.settings import Batching
from regard.serve.voice import Finder

CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
FEWEST: Final = 8  # sentences that are not spread over several threads
SHORT: Final = 80  # letters: such sentences go together; of longer ones, those of up to thrice the length
LONGER: Final = 3


@final
class Ticket:
    """A request that was let in."""


@final
@dataclass(frozen=True, slots=True)
class Waiting:
    finder: Finder
    unit: Unit
    answer: asyncio.Future[Said]


@final
class Batcher:
    """`told` hears of every batch: its sentences and the seconds it took."""

    def __init__(self, settings: Batching, told: Callable[[int, float], None] = lambda _count, _seconds: None) -> None:
        self._settings: Final = settings
        self._told: Final = told
        self._waiting: OrderedDict[Ticket, deque[Waiting]] = OrderedDict()  # whose turn it is stands first
        self._since = 0.0  # when the first of those that wait came
        self._some = asyncio.Event()  # something waits
        self._freed = asyncio.Event()  # a thread has come free
        self._threads: Final = ThreadPoolExecutor(CORES, "translate")
        self._working: Counter[Finder] = Counter()
        self._batches: set[asyncio.Task[None]] = set()
        self._rate = 50.0  # sentences a second, as the last batches had it
        self.outstanding = 0  # sentences of requests that were let in and are not done

    @contextmanager
    def admitted(self, sentences: int) -> Iterator[Ticket]:
        """Lets a request in, or refuses it when too much waits already. One that comes alone may be of any size."""
        if self.outstanding and self.outstanding + sentences > self._settings.queue:
            raise busy("Busy: too many requests are waiting, try again later", self.outstanding / self._rate)
        self.outstanding += sentences
        ticket = Ticket()
        try:
            yield ticket
        finally:
            self.outstanding -= sentences
            self._waiting.pop(ticket, None)

    async def say(self, ticket: Ticket, finder: Finder, unit: Unit) -> Said:
        """One sentence's answer, when its batch is done."""
        answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        if not self._waiting:
            self._since = monotonic()
        self._waiting.setdefault(ticket, deque()).append(Waiting(finder, unit, answer))
        self._some.set()
        return await answer

    async def run(self) -> None:
        """Makes batches until it is cancelled."""
        while True:
            await self._some.wait()
            await self._company()
            self._freed.clear()
            batch = self._next()
            if batch:
                self._working[batch[0].finder] += 1
                task = asyncio.create_task(self._work(batch))
                self._batches.add(task)
                task.add_done_callback(self._batches.discard)
            elif self._waiting:
                await self._freed.wait()
            else:
                self._some.clear()

    def close(self) -> None:
        for task in self._batches:
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _work(self, batch: Sequence[Waiting]) -> None:
        """One batch, in a thread."""
        began = monotonic()
        finder, units = batch[0].finder, [each.unit for each in batch]
        try:
            answers = await asyncio.get_running_loop().run_in_executor(self._threads, _said, finder, units)
        finally:
            self._working[finder] -= 1
            self._freed.set()
        seconds = max(monotonic() - began, 1e-4)
        self._rate += 0.2 * (len(batch) / seconds - self._rate)
        self._told(len(batch), seconds)
        for each, answer in zip(batch, answers, strict=True):
            if not each.answer.done():
                if isinstance(answer, Said):
                    each.answer.set_result(answer)
                else:
                    each.answer.set_exception(answer)

    def _count(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def _company(self) -> None:
        """Waits until the first has waited its time, or a full batch is there."""
        while self._waiting and self._count() < self._settings.most:
            left = self._since + self._settings.delay - monotonic()
            if left <= 0:
                return
            self._some.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._some.wait()
            self._some.set()

    def _next(self) -> list[Waiting]:
        """A sentence of each request in turn, and again, of those that go with the first."""
        batch: list[Waiting] = []
        most = self._settings.most
        served = True
        while served and len(batch) < most:
            served = False
            for ticket in list(self._waiting):
                each = self._head(ticket)
                if each is None or len(batch) == most:
                    continue
                if not batch:
                    free = min(CORES - self._working.total(), each.finder.threads - self._working[each.finder])
                    if free <= 0:
                        continue
                    most = min(most, max(FEWEST, -(-self._count() // free)))
                elif not _goes(each, batch):
                    continue
                batch.append(self._waiting[ticket].popleft())
                self._waiting.move_to_end(ticket)
                served = True
        return batch

    def _head(self, ticket: Ticket) -> Waiting | None:
        """What a request waits for next, of what was not given up."""
        queue = self._waiting[ticket]
        while queue and queue[0].answer.done():
            queue.popleft()
        if queue:
            return queue[0]
        del self._waiting[ticket]
        return None


def _goes(each: Waiting, batch: Sequence[Waiting]) -> bool:
    """Is it for the same model, and about as long? Whoever goes with a long sentence waits for it."""
    lengths = [len(one.unit.text) for one in (*batch, each)]
    alike = max(lengths) <= max(SHORT, LONGER * min(lengths))
    return alike and each.finder is batch[0].finder and sum(lengths) <= each.finder.letters


def _said(finder: Finder, units: Sequence[Unit]) -> Sequence[Said | Exception]:
    """A fault in one sentence is its own: when a batch fails, each is asked alone."""
    try:
        return finder.find().say(units)
    except Exception as error:
        if len(units) == 1:
            return [error]
        return [_said(finder, [unit])[0] for unit in units]
