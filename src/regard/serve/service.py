"""Service: what each route answers, as plain values. It does not know HTTP: what cannot be done is a Refusal."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, final

from regard.fault import Fault
from regard.serve.ask import AUTO, Ask, asked, missing, no_way, supported, within, word
from regard.serve.batcher import Batcher, Ticket
from regard.serve.confidence import together
from regard.serve.document import FORMATS, Made, decoded, ending, html
from regard.serve.fields import Fields
from regard.serve.figures import Figures
from regard.serve.language import name
from regard.serve.library import Library
from regard.serve.refusal import Refusal, busy, invalid
from regard.serve.said import Joined, Unit
from regard.serve.sentences import parts
from regard.serve.settings import Settings
from regard.serve.shelf import Shelf, Shelved, titled
from regard.serve.turn import Turned, Turner, gather

T = TypeVar("T")
NOTED: Final = 10 << 20  # bytes that the table of suggestions may have


@final
class Service:
    """`library` is replaced as a whole by a reload; a request keeps the one it began with."""

    def __init__(self, library: Library, settings: Settings, reopen: Callable[[], Library]) -> None:
        self.library = library
        self.settings: Final = settings
        self.figures: Final = Figures()
        self.batcher: Final = Batcher(settings.batching, self.figures.batch)
        self.shelf: Final = Shelf(settings.store)
        self._reopen: Final = reopen
        self._reloading = asyncio.Lock()
        self.figures.watch(lambda: self.batcher.outstanding, lambda: self.library.loaded)

    def allow(self, fields: Fields) -> None:
        """Refuses who has no key, where keys are asked for. All keys are compared, each in constant time."""
        given = str(fields.get("api_key") or "").encode()
        right = [hmac.compare_digest(given, key.encode()) for key in self.settings.keys]
        if self.settings.keys and not any(right):
            raise Refusal(403, "Invalid API key")

    async def translate(self, fields: Fields) -> dict[str, Any]:
        """POST /translate."""
        library = self.library
        ask = asked(fields, library, self.settings.limits)
        with self.batcher.admitted(sum(max(1, len(parts(text))) for text in ask.texts)) as ticket:
            made = await self._within(self._all(ticket, library, ask), self.settings.limits.seconds)
        for text, source in zip(ask.texts, ask.sources, strict=True):
            self.figures.translated(source, ask.target, len(text))
        return _answer(ask, made)

    async def _all(self, ticket: Ticket, library: Library, ask: Ask) -> list[Turned]:
        turners = {source: self._turner(ticket, library, source, ask.target) for source in ask.sources}
        wish = Unit("", ask.alternatives + 1, ask.alignment, ask.attention)
        if not ask.html:
            return await gather(
                [turners[source].text(text, wish) for text, source in zip(ask.texts, ask.sources, strict=True)]
            )
        done = [html(turners[source], text) for text, source in zip(ask.texts, ask.sources, strict=True)]
        return [Turned(each.text, (), each.chances) for each in await gather(done)]

    def _turner(self, ticket: Ticket, library: Library, source: str, target: str) -> Turner:
        way = library.way(source, target)
        if way is None:
            raise no_way(source, target)
        return Turner([partial(self.batcher.say, ticket, finder) for finder in way])

    async def _within(self, work: Awaitable[T], seconds: float) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise busy(f"Busy: the translation took longer than {seconds:g} seconds", seconds) from None

    def detect(self, fields: Fields) -> list[dict[str, Any]]:
        """POST /detect."""
        q = fields.get("q")
        if not q:
            raise missing("q")
        texts = q if isinstance(q, list) else [q]
        if not all(isinstance(each, str) for each in texts):
            raise invalid("q parameter is not a string, nor a list of strings")
        within(len(texts), self.settings.limits.batch)
        within(sum(map(len, texts)), self.settings.limits.characters)
        return [each.record() for each in self.library.detector.detect(texts)]

    def frontend(self) -> dict[str, Any]:
        """GET /frontend/settings."""
        first = next(iter(self.library.places.values()))
        limits = self.settings.limits
        return {
            "charLimit": limits.characters,
            "frontendTimeout": 500,
            "apiKeys": bool(self.settings.keys),
            "keyRequired": bool(self.settings.keys),
            "suggestions": self.settings.suggestions is not None,
            "filesTranslation": self.settings.files,
            "supportedFilesFormat": list(FORMATS) if self.settings.files else [],
            "language": {
                "source": {"code": AUTO, "name": "Auto Detect"},
                "target": {"code": first.target, "name": name(first.target)},
            },
        }

    async def file(self, fields: Fields, title: str, content: bytes) -> str:
        """POST /translate_file: the name that the translated file is asked for by."""
        library, limits = self.library, self.settings.limits
        source, target = word(fields, "source"), word(fields, "target")
        if len(content) > limits.file:
            raise invalid(f"the file ({len(content)}) exceeds the limit of {limits.file} bytes")
        form = ending(title)
        text = decoded(content)
        code = library.detector.detect([text])[0].language if source == AUTO else supported(source, library)
        goal = supported(target, library)
        with self.batcher.admitted(1) as ticket:  # it asks for few sentences at a time, however long it is
            turner = self._turner(ticket, library, code, goal)
            made: Made = await self._within(FORMATS[form](turner, text), limits.file_seconds)
        self.figures.translated(code, goal, len(text))
        return self.shelf.put(made.text.encode(), titled(title, goal))

    def kept(self, name: str) -> Shelved:
        """GET /download_file/NAME."""
        found = self.shelf.get(name)
        if found is None:
            raise Refusal(404, "There is no such file, or its time is over")
        return found

    async def suggest(self, fields: Fields) -> dict[str, Any]:
        """POST /suggest: a line of a table that a model can learn from."""
        path = self.settings.suggestions
        if path is None:
            raise Refusal(403, "Suggestions are disabled on this server.")
        q, better = word(fields, "q"), word(fields, "s")
        given = [word(fields, key) for key in ("source", "target")]
        within(max(len(q), len(better)), self.settings.limits.characters)
        codes = [supported(each, self.library) for each in given]
        line = "\t".join(" ".join(each.split()) for each in (q, better, f"{codes[0]}-{codes[1]}"))
        try:
            kept = await asyncio.to_thread(_noted, Path(path), line)
        except OSError:
            kept = False
        if not kept:
            raise busy("Suggestions cannot be kept now", 3600)
        return {"success": True}

    async def reload(self) -> str:
        """All bundles anew from the disk, beside those in use; what is wrong with them changes nothing."""
        async with self._reloading:
            try:
                self.library = await asyncio.to_thread(self._reopen)
            except Fault as fault:
                self.figures.reloaded("failed")
                return f"the bundles were not reloaded, the old ones stay: {fault}"
            self.figures.reloaded("done")
            return "the bundles are reloaded"


def _noted(path: Path, line: str) -> bool:
    with suppress(OSError):
        if path.stat().st_size > NOTED:
            return False
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    return True


def _answer(ask: Ask, made: Sequence[Turned]) -> dict[str, Any]:
    """One value for one text, a list for a list."""

    def each(values: Sequence[Any]) -> Any:
        return list(values) if ask.batch else values[0]

    answer: dict[str, Any] = {"translatedText": each([one.text for one in made])}
    if ask.detected is not None:
        answer["detectedLanguage"] = each([one.record() for one in ask.detected])
    if ask.alternatives:
        answer["alternatives"] = each([list(one.others[: ask.alternatives]) for one in made])
    if ask.confidence:
        answer["confidence"] = each([_rounded(together(one.chances)) for one in made])
    if ask.alignment:
        pairs = zip(ask.texts, made, strict=True)
        answer["alignment"] = each([[_link(text, one.text, link) for link in one.links] for text, one in pairs])
    if ask.attention:
        answer["attention"] = each([[seen for seen in one.seen if seen] for one in made])
    return answer


def _rounded(chance: float | None) -> float | None:
    return None if chance is None else round(chance, 4)


def _link(source: str, target: str, link: Joined) -> dict[str, Any]:
    def side(text: str, start: int, end: int) -> dict[str, Any]:
        return {"text": text[start:end], "start": start, "end": end}

    return {
        "source": side(source, *link.source),
        "target": side(target, *link.target),
        "probability": round(min(link.weight, 1.0), 4),
    }
