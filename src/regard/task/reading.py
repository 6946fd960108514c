"""Reading: what every attention of a model looked at while given outputs were written, by replaying them once.

It knows models and traces; it does not know how the outputs came about.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from regard.source.clean import Cleaned
from regard.source.pad import UNK
from regard.source.vocabulary.core import Tokens, Vocabulary
from regard.trace import fold
from regard.trace.core import Axis, Reading, Trace

if TYPE_CHECKING:
    from regard.model import Model

END: Final = "</s>"
ROWS: Final = 32  # replayed at once, at most
CELLS: Final = 1 << 18  # rows × source pieces × target pieces replayed at once: every head of every layer has so many
LARGEST: Final = 1 << 21  # cells of one row: fourteen hundred pieces a side

Ids = Sequence[int]


def read(model: Model, rows: Sequence[tuple[Ids, Ids]]) -> list[tuple[Reading, ...]]:
    """The readings of each (source, target), in their order. Ids come without specials."""
    from regard.task import eager

    return eager.read(model, rows)


def large(source: Ids, target: Ids) -> bool:
    """Too large to be replayed: every attention writes down every piece of one side against every one of the other."""
    return max(len(source), len(target)) ** 2 > LARGEST


def batches(rows: Sequence[tuple[Ids, Ids]]) -> Iterator[list[int]]:
    """Which rows are replayed together: those of about the same lengths."""
    order = sorted(range(len(rows)), key=lambda at: (len(rows[at][0]), len(rows[at][1])))
    return _batches(order, [max(len(source), len(target)) + 1 for source, target in rows])


def _batches(order: Sequence[int], longest: Sequence[int]) -> Iterator[list[int]]:
    """Rows together as long as their squares are not too many; `order` has them by length, so none pads others much."""
    some: list[int] = []
    width = 0
    for at in order:
        width = max(width, longest[at])
        if some and (len(some) == ROWS or (len(some) + 1) * width**2 > CELLS):
            yield some
            some, width = [], longest[at]
        some.append(at)
    if some:
        yield some


def named(reader: str, memory: str, cut: Callable[[int, int], Any], source: int, target: int) -> Reading:
    """The reading of one row, of which `cut` gives so many queries and slots. To a trace, what reads itself reads its
    own side.
    """
    asks = "source" if reader.startswith("encoder") else "target"
    memory = asks if memory == "itself" else memory
    asked, slots = (source if side == "source" else target for side in (asks, memory))
    return Reading(_named(reader), memory, cut(asked, slots), asks)


def _named(reader: str) -> str:
    """`decoder.layers.0.source`: that the heads there stand around one more attention is no news to anyone."""
    return reader if reader == "decoder.attention" else reader.removesuffix(".attention")


def labelled(
    text: str, cleaned: Cleaned, tokens: Tokens, target: Vocabulary, ids: Ids, readings: Sequence[Reading]
) -> Trace:
    """The readings with both axes: pieces of the source as it was written, pieces of the output as it reads."""
    spans = tuple(cleaned.span(*span) for span in tokens.spans)
    labels = tuple(text[start:end] or "▁" for start, end in spans)
    source = Axis((*labels, END), (*spans, (len(text), len(text))), text)
    written, places = target.spell(ids)
    shown = tuple(written[start:end] or "▁" for start, end in places)
    return Trace(source, Axis((*shown, END), (*places, (len(written), len(written))), written), tuple(readings))


def head(trace: Trace, stored: Mapping[str, Any] | None) -> tuple[str | None, int | None]:
    """The reader and head that links are read from: the bundle's measured choice, else the one that tells most."""
    names = {each.reader: len(each.weights) for each in trace.of()}
    if stored is not None and stored.get("head") in range(names.get(stored.get("reader", ""), 0)):
        return str(stored["reader"]), int(stored["head"])
    from regard.trace.choice import clearest

    return clearest(trace, "source") if names else (None, None)


def replacements(trace: Trace, ids: Ids, matrix: tuple[str | None, int | None]) -> list[str]:
    """For each id, the source word that was read most while it was written: what stands for an unknown word.

    It comes without the signs around it, which are words of their own to whoever left a word out.
    """
    plan = fold.plan(trace.source, specials=False)
    if not trace.of() or not len(plan.axis):
        return [""] * len(ids)
    weights = trace.heat(*matrix) @ plan.matrix(trace.heat(*matrix)).T
    words = [_bare(label) for label in plan.axis.labels]
    return [words[int(weights[row].argmax())] if number == UNK else "" for row, number in enumerate(ids)]


def _bare(word: str) -> str:
    inside = [at for at, letter in enumerate(word) if unicodedata.category(letter)[0] not in "PZ"]
    return word[inside[0] : inside[-1] + 1] if inside else word
