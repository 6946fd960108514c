r"""Trace: $a_{hti}$, what head $h$ read in slot $i$ while row $t$ was written, for every reader of one run.

All weights are kept, before dropout; a mean over heads is taken only when somebody asks for one matrix. It does not
know how the weights were computed, nor whether its labels are words, regions of a picture, frames of speech or cars.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from safetensors import SafetensorError, safe_open

from regard.array import host, joined, single
from regard.fault import Fault, nearest
from regard.shape import Float

VERSION: Final = 1


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """The labels along one side of the weights, and the characters of `text` (as written) that each one stands for.

    An empty span stands for no character: `</s>` and its like. `spans` is None where labels are not parts of a text.
    """

    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] | None = None
    text: str = ""
    kind: str = "text"

    def __post_init__(self) -> None:
        if self.spans is not None and len(self.spans) != len(self.labels):
            raise ValueError(f"{len(self.labels)} labels but {len(self.spans)} spans")

    def __len__(self) -> int:
        return len(self.labels)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One attention's weights in one run. `asks` is the side its queries stand on, `memory` names what it read."""

    reader: str
    memory: str
    weights: Float[Any, "head query slot"]
    asks: str = "target"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Every reading of one sentence, with the labels of both axes.

    A memory called "target" is the decoder's own past: its slot i holds what was written before row i. Any other
    memory has the source's slots.
    """

    source: Axis
    target: Axis
    readings: tuple[Reading, ...]

    def __post_init__(self) -> None:
        for reading in self.readings:
            asked = len(self.source if reading.asks == "source" else self.target)
            read = len(self.target if reading.memory == "target" else self.source)
            if tuple(reading.weights.shape[1:]) != (asked, read):
                found = "x".join(map(str, reading.weights.shape[1:]))
                raise ValueError(f"{reading.reader} has weights of {found}, but its labels are {asked}x{read}")

    def of(self, memory: str = "source") -> tuple[Reading, ...]:
        """What the target read in one memory, first layer first."""
        return tuple(each for each in self.readings if each.memory == memory and each.asks == "target")

    def heat(
        self, reader: str | None = None, head: int | None = None, memory: str = "source"
    ) -> Float[Any, "query slot"]:
        """One matrix: a chosen head of a chosen reader, or the mean over all that were not chosen between."""
        there = self.of(memory)
        chosen = [each for each in there if reader in {None, each.reader}]
        if not chosen:
            names = list(dict.fromkeys(each.reader for each in there))
            what = f"no reader {reader!r} of" if names else "nothing read"
            raise Fault(
                f"{what} the memory {memory!r}{nearest(reader or '', names)} ({', '.join(names) or 'no readers'})"
            )
        heads = [each.weights for each in chosen]
        if head is not None:
            fewest = min(len(each) for each in heads)
            if not 0 <= head < fewest:
                raise Fault(f"no head {head}: heads count from 0 to {fewest - 1} here")
            heads = [each[head : head + 1] for each in heads]
        return joined([single(each) for each in heads]).mean(0)

    def save(self, path: str | Path) -> None:
        """Write one file: safetensors with the labels as JSON in its header or, for a name in `.json`, JSON alone."""
        from safetensors.numpy import save_file

        path = Path(path)
        about = self._labels()
        if path.suffix.lower() == ".json":
            path.write_text(json.dumps(self.record(), ensure_ascii=False) + "\n", encoding="utf-8")
            return
        weights = {str(at): np.ascontiguousarray(host(each.weights)) for at, each in enumerate(self.readings)}
        save_file(weights, path, metadata={"trace": json.dumps(about, ensure_ascii=False)})

    @staticmethod
    def load(path: str | Path) -> Trace:
        """Read what `save` wrote."""
        import torch

        path = Path(path)
        try:
            if path.suffix.lower() == ".json":
                about = json.loads(path.read_text(encoding="utf-8"))
                weights = [torch.tensor(each["weights"], dtype=torch.float32) for each in about["readings"]]
            else:
                with safe_open(path, framework="pt") as file:
                    about = json.loads((file.metadata() or {})["trace"])
                    weights = [file.get_tensor(str(at)) for at in range(len(about["readings"]))]
            return _made(about, weights)
        except FileNotFoundError:
            raise Fault(f"{path}: there is no such file") from None
        except (ValueError, KeyError, TypeError, SafetensorError) as error:
            raise Fault(f"{path}: not a trace ({error})") from None

    def record(self) -> dict[str, Any]:
        """The whole trace as plain values, ready for JSON; each reading carries its weights as nested lists."""
        about = self._labels()
        for each, reading in zip(about["readings"], self.readings, strict=True):
            each["weights"] = single(reading.weights).tolist()
        return about

    def _labels(self) -> dict[str, Any]:
        readings = [{"reader": each.reader, "memory": each.memory, "asks": each.asks} for each in self.readings]
        return {"version": VERSION, "source": asdict(self.source), "target": asdict(self.target), "readings": readings}


def _made(about: dict[str, Any], weights: list[Any]) -> Trace:
    if about["version"] != VERSION:
        raise ValueError(f"its version is {about['version']}, this program reads {VERSION}")
    readings = tuple(
        Reading(each["reader"], each["memory"], weight, each["asks"])
        for each, weight in zip(about["readings"], weights, strict=True)
    )
    return Trace(_axis(about["source"]), _axis(about["target"]), readings)


def _axis(about: dict[str, Any]) -> Axis:
    spans = about["spans"]
    paired = None if spans is None else tuple((int(start), int(end)) for start, end in spans)
    return Axis(tuple(about["labels"]), paired, about["text"], about["kind"])
