"""Reading: what every attention of a model looked at while given outputs were written, by replaying them once.

It knows models and traces; it does not know how the outputs came about.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from regard.attention import Call, record
from regard.model import Model
from regard.source.batch import BOS, EOS, UNK, Pairs
from regard.source.clean import Cleaned
from regard.source.vocabulary import Tokens, Vocabulary
from regard.trace import fold
from regard.trace.choice import clearest
from regard.trace.core import Axis, Reading, Trace

END: Final = "</s>"
ROWS: Final = 32  # replayed at once, at most
CELLS: Final = 1 << 18  # rows × source pieces × target pieces replayed at once: every head of every layer has so many
LARGEST: Final = 1 << 21  # cells of one row: fourteen hundred pieces a side

Ids = Sequence[int]


@torch.no_grad()
def read(model: Model, rows: Sequence[tuple[Ids, Ids]]) -> list[tuple[Reading, ...]]:
    """The readings of each (source, target), in their order. Ids come without specials."""
    device = next(model.parameters()).device
    found: list[tuple[Reading, ...]] = [()] * len(rows)
    order = sorted(range(len(rows)), key=lambda at: (len(rows[at][0]), len(rows[at][1])))
    for some in _batches(order, [max(len(source), len(target)) + 1 for source, target in rows]):
        sources = [[*rows[at][0], EOS] for at in some]
        targets = [[BOS, *rows[at][1], EOS] for at in some]
        pairs = Pairs.of(sources, targets).to(device)
        with record(model) as calls:
            model.decoder(pairs.target.ids[:, :-1], model.encode(pairs.source))
        joined = list(_joined(calls))
        for row, at in enumerate(some):
            sizes = len(sources[row]), len(targets[row]) - 1
            found[at] = tuple(_reading(call, row, *sizes) for call in joined)
    return found


def large(source: Ids, target: Ids) -> bool:
    """Too large to be replayed: every attention writes down every piece of one side against every one of the other."""
    return max(len(source), len(target)) ** 2 > LARGEST


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


def _joined(calls: Sequence[Call]) -> Iterator[Call]:
    """The calls of each reader as one, its steps side by side."""
    by_reader: dict[tuple[str, str], list[Tensor]] = {}
    for call in calls:
        by_reader.setdefault((call.reader, call.memory), []).append(call.weights)
    for (reader, memory), parts in by_reader.items():
        yield Call(reader, memory, torch.cat(parts, 2))


def _reading(call: Call, row: int, source: int, target: int) -> Reading:
    """One row's weights without its padding. To a trace, what reads itself reads its own side."""
    asks = "source" if call.reader.startswith("encoder") else "target"
    memory = asks if call.memory == "itself" else call.memory
    asked, slots = (source if side == "source" else target for side in (asks, memory))
    return Reading(_named(call.reader), memory, call.weights[row, :, :asked, :slots].float().cpu().clone(), asks)


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
