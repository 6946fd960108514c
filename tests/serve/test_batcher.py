"""Sentences of many requests go together, in time, in bounds, and never at each other's cost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest
from typing_extensions import override
from voices import exact

from regard.serve.batcher import Batcher
from regard.serve.refusal import Refusal
from regard.serve.said import Said, Unit
from regard.serve.settings import Batching
from regard.serve.voice import Finder, Voice


class Recorded(Voice):
    """Says everything in capitals and keeps what it was asked together; waits for `go` first."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()

    @override
    def say(self, units: Sequence[Unit]) -> list[Said]:
        self.asked.append([unit.text for unit in units])
        self.go.wait()
        if any("fault" in unit.text for unit in units):
            raise RuntimeError("a fault")
        return [exact(unit) for unit in units]


class Found(Finder):
    def __init__(self, voice: Voice, threads: int = 1) -> None:
        self._voice = voice
        self.threads = threads

    @override
    def find(self) -> Voice:
        return self._voice


async def said(batcher: Batcher, finder: Finder, unit: Unit) -> Said:
    """As a request of its own."""
    with batcher.admitted(1) as ticket:
        return await batcher.say(ticket, finder, unit)


def batched(work: Callable[[Batcher], Awaitable[Any]], **settings: Any) -> Any:
    async def run() -> Any:
        batcher = Batcher(Batching(**settings))
        running = asyncio.create_task(batcher.run())
        try:
            return await work(batcher)
        finally:
            running.cancel()
            batcher.close()

    return asyncio.run(run())


def test_what_waits_together_goes_together_in_batches_of_the_most() -> None:
    voice = Recorded()
    find = Found(voice)

    async def work(batcher: Batcher) -> list[Said]:
        return await asyncio.gather(*(said(batcher, find, Unit(str(n))) for n in range(150)))

    answers = batched(work, most=64)
    assert [each.text for each in answers] == [str(n) for n in range(150)]
    assert [len(each) for each in voice.asked] == [64, 64, 22]


def test_the_first_waits_no_longer_than_its_time() -> None:
    voice = Recorded()

    async def work(batcher: Batcher) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await said(batcher, Found(voice), Unit("alone"))
        return loop.time() - began

    assert batched(work, delay=0.3) >= 0.29
    assert voice.asked == [["alone"]]


def test_long_sentences_go_in_small_company() -> None:
    voice = Recorded()
    find = Found(voice)

    async def work(batcher: Batcher) -> list[Said]:
        return await asyncio.gather(*(said(batcher, find, Unit("x" * 2_500)) for _ in range(5)))

    batched(work)
    assert [len(each) for each in voice.asked] == [2, 2, 1]


def test_requests_take_turns_and_long_sentences_go_by_themselves() -> None:
    """A request of a hundred sentences, one of strange length, and two of one sentence that came last."""
    voice = Recorded()
    find = Found(voice)

    async def work(batcher: Batcher) -> None:
        async def ask(*texts: str) -> None:
            with batcher.admitted(len(texts)) as ticket:
                await asyncio.gather(*(batcher.say(ticket, find, Unit(text)) for text in texts))

        many = [f"many {number}" for number in range(100)]
        await asyncio.gather(ask(*many), ask("long " * 60), ask("one"), ask("two"))

    batched(work, most=10)
    assert voice.asked[0] == ["many 0", "one", "two", *(f"many {number}" for number in range(1, 8))]
    assert voice.asked[1] == ["long " * 60]
    assert [len(each) for each in voice.asked[2:]] == [10] * 9 + [2]


def test_models_are_not_mixed_and_none_is_kept_waiting_for_ever() -> None:
    one, other = Recorded(), Recorded()
    find_one, find_other = Found(one), Found(other)

    async def work(batcher: Batcher) -> list[Said]:
        says = (said(batcher, find_other if n % 2 else find_one, Unit(str(n))) for n in range(10))
        return await asyncio.gather(*says)

    assert [each.text for each in batched(work)] == [str(n) for n in range(10)]
    assert one.asked == [["0", "2", "4", "6", "8"]]
    assert other.asked == [["1", "3", "5", "7", "9"]]


def test_what_was_given_up_is_not_begun() -> None:
    voice = Recorded()
    find = Found(voice)

    async def work(batcher: Batcher) -> Said:
        voice.go.clear()
        first = asyncio.create_task(said(batcher, find, Unit("first")))
        while not voice.asked:
            await asyncio.sleep(0.001)
        late = [asyncio.create_task(said(batcher, find, Unit(f"late {n}"))) for n in range(9)]
        await asyncio.sleep(0.01)
        for each in late[:8]:
            each.cancel()
        await asyncio.gather(*late[:8], return_exceptions=True)
        first.cancel()  # in the middle of its batch
        voice.go.set()
        return await late[8]

    assert batched(work).text == "LATE 8"
    assert voice.asked == [["first"], ["late 8"]]


def test_a_fault_is_its_own() -> None:
    voice = Recorded()
    find = Found(voice)

    async def work(batcher: Batcher) -> list[Said | BaseException]:
        says = (said(batcher, find, Unit(text)) for text in ("a", "fault", "b"))
        first = await asyncio.gather(*says, return_exceptions=True)
        return [*first, await said(batcher, find, Unit("after"))]

    a, fault, b, after = batched(work)
    assert [a.text, b.text, after.text] == ["A", "B", "AFTER"]
    assert isinstance(fault, RuntimeError)


def test_who_comes_to_a_full_queue_is_told_when_to_come_back() -> None:
    async def work(batcher: Batcher) -> None:
        with batcher.admitted(50):  # alone, of any size
            assert batcher.outstanding == 50
            with pytest.raises(Refusal) as refused, batcher.admitted(1):
                raise AssertionError("it was let in")
            assert refused.value.status == 503
            assert int(refused.value.headers["Retry-After"]) >= 1
        assert batcher.outstanding == 0
        with batcher.admitted(5), batcher.admitted(5), pytest.raises(Refusal), batcher.admitted(1):
            pass

    batched(work, queue=10)


def test_as_many_batches_run_side_by_side_as_a_model_has_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is shared out among the threads that are free; one that may not be asked twice at a time is not."""
    monkeypatch.setattr("regard.serve.batcher.CORES", 3)

    def run(threads: int) -> list[int]:
        voice = Recorded()
        find = Found(voice, threads)

        async def work(batcher: Batcher) -> None:
            voice.go.clear()
            asked = [asyncio.create_task(said(batcher, find, Unit(str(n)))) for n in range(30)]
            while len(voice.asked) < threads:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            assert len(voice.asked) == threads  # no more at a time
            voice.go.set()
            await asyncio.gather(*asked)

        batched(work)
        return [len(each) for each in voice.asked]

    assert run(1) == [30]
    assert run(2) == [15, 15]
    assert run(3) == [10, 10, 10]


def test_batches_are_counted() -> None:
    told: list[tuple[int, float]] = []
    voice = Recorded()

    async def run() -> None:
        batcher = Batcher(Batching(), lambda count, seconds: told.append((count, seconds)))
        running: asyncio.Task[Coroutine[Any, Any, None]] = asyncio.create_task(batcher.run())  # type: ignore[arg-type]
        await said(batcher, Found(voice), Unit("a"))
        running.cancel()
        batcher.close()

    asyncio.run(run())
    assert [count for count, _ in told] == [1]
    assert told[0][1] > 0
