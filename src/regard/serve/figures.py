"""Figures: what /metrics tells. Counts, times and sizes alone: no text, no address, no key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

TYPE: Final = CONTENT_TYPE_LATEST
_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


@final
class Figures:
    """One server's, so that two in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter("regard_requests", "Requests answered.", ("route", "status"), registry=self._registry)
        self._seconds = Histogram(
            "regard_request_seconds", "From the first byte to the last.", ("route",),
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._characters = Counter(
            "regard_characters", "Characters translated.", ("source", "target"), registry=self._registry
        )
        self._batch = Histogram(
            "regard_batch_sentences", "Sentences translated at once.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128), registry=self._registry,
        )  # fmt: skip
        self._busy = Counter("regard_translate_seconds", "Spent on translating.", registry=self._registry)
        self._gone = Counter("regard_clients_gone", "Clients that did not wait.", registry=self._registry)
        self._reloads = Counter("regard_reloads", "Reloads of the bundles.", ("outcome",), registry=self._registry)

    def watch(self, waiting: Callable[[], float], loaded: Callable[[], float]) -> None:
        """What is asked for when somebody looks."""
        for name, about, value in (
            ("regard_waiting_sentences", "Sentences let in and not done.", waiting),
            ("regard_bundles_loaded", "Bundles in memory.", loaded),
        ):
            Gauge(name, about, registry=self._registry).set_function(value)

    def request(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def translated(self, source: str, target: str, characters: int) -> None:
        self._characters.labels(source, target).inc(characters)

    def batch(self, sentences: int, seconds: float) -> None:
        self._batch.observe(sentences)
        self._busy.inc(seconds)

    def gone(self) -> None:
        self._gone.inc()

    def reloaded(self, outcome: str) -> None:
        self._reloads.labels(outcome).inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)
