r"""Steps: a model in graphs as a search sees it, and as a replay does: tokens in, log-probabilities out.

Rows are never moved by themselves: which row goes on from which is one more input of the next step, and all rows of a
sentence read its one memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from regard.engine.runtime import Runtime
from regard.shape import Bool, Float, Int
from regard.source.pad import padded

UNREAD: Final = 1e-3  # a slot that was never read costs log of this

Value: TypeAlias = Any
"""What ONNX Runtime holds: a tensor, wherever it lies."""


@final
@dataclass(frozen=True, slots=True)
class Walk:
    """Where a model stands on each path: row r goes on from row `parent[r]` of `state`, and reads row `owner[r]` of the
    memory.
    """

    memory: Mapping[str, Value]
    mask: Bool[np.ndarray, "sentence slot"]
    state: Mapping[str, Value]
    seen: Mapping[str, Value]
    parent: Int[np.ndarray, " row"]
    owner: Int[np.ndarray, " row"]
    at: int

    def rows(self, index: Int[np.ndarray, " row"]) -> Walk:
        return Walk(self.memory, self.mask, self.state, self.seen, self.parent[index], self.owner[index], self.at)


@final
class Steps:
    """`coverage` is the weight of Wu's penalty; `record` keeps what every attention reads."""

    def __init__(self, runtime: Runtime, *, coverage: float = 0.0, record: bool = False) -> None:
        self.runtime: Final = runtime
        self.coverage: Final = coverage
        self.record: Final = record
        asked = {"log_probs", *(part.name for part in runtime.state)}
        if coverage:
            asked.add("coverage")
        if record:
            asked |= {reader.output for reader in runtime.step.readers}
        self._asked = [name for name in runtime.step.outputs if name in asked]

    def start(self, rows: Sequence[Sequence[int]]) -> Walk:
        """Before the first step, for each source."""
        ids, mask = padded(rows)
        graph = self.runtime.encode
        names = [name for name in graph.outputs if self.record or not name.startswith("weights:")]
        given = {"ids": _value(ids), "mask": _value(mask)}
        made = dict(zip(names, graph.session.run_with_ort_values(names, given), strict=True))
        state = {
            part.name: made[part.name] if part.begun else _value(part.empty(len(ids))) for part in self.runtime.state
        }
        memory = {name: made[name] for name in self.runtime.memory}
        every = np.arange(len(ids))
        return Walk(memory, mask, state, made, every, every, 0)

    def step(self, tokens: Int[np.ndarray, " row"], state: Walk) -> tuple[Float[np.ndarray, "row symbol"], Walk]:
        places = {"tokens": tokens, "parent": state.parent, "owner": state.owner, "at": np.array(state.at)}
        given = {name: _value(each) for name, each in places.items()}
        for parts in (state.memory, state.state):
            given |= {f"in:{name}": each for name, each in parts.items()}
        made = dict(zip(self._asked, self.runtime.step.session.run_with_ort_values(self._asked, given), strict=True))
        after = {part.name: made[part.name] for part in self.runtime.state}
        every = np.arange(len(tokens))
        walk = Walk(state.memory, state.mask, after, made, every, state.owner, state.at + 1)
        return made["log_probs"].numpy(), walk

    def bonus(self, state: Walk) -> Float[np.ndarray, " row"] | None:
        """$\\beta \\sum_i \\log\\min(\\sum_t a_{ti}, 1)$ (Wu 2016, eq. 14)."""
        if not self.coverage or "coverage" not in state.seen:
            return None
        read: NDArray[np.float32] = state.seen["coverage"].numpy()[state.parent]
        each = np.log(read.clip(UNREAD, 1.0)) * state.mask[state.owner]
        bonus: NDArray[np.float32] = np.float32(self.coverage) * each.sum(-1)
        return bonus


def _value(x: NDArray[Any]) -> Value:
    return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(x))
