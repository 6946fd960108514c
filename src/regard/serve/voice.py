"""Voice: one bundle that can be asked for sentences. All that the server knows of translators stands in this file.

A sentence's answer does not depend on those it is asked together with.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, final

from regard.fault import Fault
from regard.serve import confidence
from regard.serve.said import Joined, Said, Span, Unit

if TYPE_CHECKING:
    from regard.task.translation import Translation
    from regard.task.translator import Translator


LETTERS: Final = 6_000  # of the sentences of one batch, where an engine does not ask for fewer
EACH: Final = 4  # letters of a piece, about


class Voice(ABC):
    """What the server needs of a model. `threads`: how many may ask at a time; `letters`: how much best at once."""

    threads: int = 1
    letters: int = LETTERS

    @abstractmethod
    def say(self, units: Sequence[Unit]) -> list[Said]:
        """An answer for each, in their order."""


class Finder(ABC):
    """A model that may have to be loaded first."""

    threads: int = 1
    letters: int = LETTERS

    @abstractmethod
    def find(self) -> Voice:
        """Called in a thread that translates."""


@final
class Bundled(Voice):
    """A bundle's translator."""

    def __init__(self, model: Translator) -> None:
        self._model = model
        self.threads = model.engine.threads
        self.letters = min(LETTERS, EACH * model.engine.cells // max(model.wish.search.beam, 1))
        try:
            self._calibration: Final = confidence.known(model.bundle.about)
        except Fault as fault:
            raise Fault(f"{model.bundle.where}: {fault}") from None

    def say(self, units: Sequence[Unit]) -> list[Said]:
        found: dict[int, Said] = {}
        for best in sorted({unit.best for unit in units}):
            at = [number for number, unit in enumerate(units) if unit.best == best]
            wish = replace(self._model.wish, best=best)
            outputs = self._model.translate([units[number].text for number in at], wish)
            found |= {number: self._said(units[number], one) for number, one in zip(at, outputs, strict=True)}
        return [found[number] for number in range(len(units))]

    def _said(self, unit: Unit, found: Translation) -> Said:
        made = self._calibration
        whole = bool(found.ids)  # translated in one part
        return Said(
            found.text,
            self._links(found) if unit.linked and whole else (),
            None if made is None else made.right(found.log_prob, len(found.ids)) if whole and found.finished else 0.0,
            tuple(each.text for each in found.alternatives),
            self._seen(found) if unit.seen and whole else None,
        )

    def _links(self, found: Translation) -> tuple[Joined, ...]:
        """The links of whole words, as spans of characters; none where a word is not to be found in its text."""
        labels = found.words
        source, target = spans(found.source, labels[0]), spans(found.text, labels[1])
        if not (source and target):
            return ()
        return tuple(
            Joined(source[each.source], target[each.target], each.weight)
            for each in found.alignment
            if each.source is not None
        )

    def _seen(self, found: Translation) -> dict[str, Any] | None:
        """The weights that the links are read off, over words; those of every layer and head are the trace's."""
        if not found.alignment:
            return None
        heat = self._model.heatmap(found.trace)
        weights = [[round(float(weight), 4) for weight in row] for row in heat.weights.tolist()]
        return {"source": list(heat.source.labels), "target": list(heat.target.labels), "weights": weights}


def spans(text: str, labels: Sequence[str]) -> list[Span]:
    """Where each word stands in its text."""
    words = [each.span() for each in re.finditer(r"\S+", text)]
    if len(words) == len(labels):
        return words
    found, reached = [], 0
    for label in labels:
        at = text.find(label, reached)
        if at < 0:
            return []
        reached = at + len(label)
        found.append((at, reached))
    return found
