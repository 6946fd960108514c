"""Eager: a model in torch, as an engine. It runs on the GPU where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, final

import torch
from torch import Tensor

from regard.attention import Call, record
from regard.model import Model, Steps
from regard.model.steps import Walks
from regard.source.batch import BOS, EOS, Padded, Pairs
from regard.task.engine import Ids
from regard.task.reading import batches, named
from regard.trace.core import Reading


@final
class Eager:
    cells: Final = 1 << 30
    threads: Final = 1

    def __init__(self, model: Model, device: torch.device | str | None = None) -> None:
        self.device: Final = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.model: Final = model.to(self.device).eval()

    def begin(self, sources: Sequence[Ids], limits: Sequence[int], coverage: float) -> tuple[Steps, Walks, Tensor]:
        steps = Steps([self.model], coverage=coverage)
        padded = Padded.of([[*ids, EOS] for ids in sources]).to(self.device)
        return steps, steps.start(padded), torch.tensor(limits, device=self.device)

    def read(self, rows: Sequence[tuple[Ids, Ids]]) -> list[tuple[Reading, ...]]:
        return read(self.model, rows)

    @torch.inference_mode()
    def scores(self, source: Ids, target: Ids) -> list[float]:
        pairs = Pairs.of([[*source, EOS]], [[BOS, *target, EOS]]).to(self.device)
        scores = self.model.scores(pairs)[0]
        return list(scores.gather(-1, pairs.target.ids[0, 1:, None]).squeeze(-1).tolist())


@torch.no_grad()
def read(model: Model, rows: Sequence[tuple[Ids, Ids]]) -> list[tuple[Reading, ...]]:
    """All steps of an output are replayed at once."""
    device = next(model.parameters()).device
    found: list[tuple[Reading, ...]] = [()] * len(rows)
    for some in batches(rows):
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


def _joined(calls: Sequence[Call]) -> Iterator[Call]:
    """The calls of each reader as one, its steps side by side."""
    by_reader: dict[tuple[str, str], list[Tensor]] = {}
    for call in calls:
        by_reader.setdefault((call.reader, call.memory), []).append(call.weights)
    for (reader, memory), parts in by_reader.items():
        yield Call(reader, memory, torch.cat(parts, 2))


def _reading(call: Call, row: int, source: int, target: int) -> Reading:
    """One row's weights without its padding."""

    def cut(asked: int, slots: int) -> Any:
        return call.weights[row, :, :asked, :slots].float().cpu().clone()

    return named(call.reader, call.memory, cut, source, target)
