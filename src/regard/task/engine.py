"""Engine: what a translator needs of a model, whoever does the arithmetic: torch, or ONNX Runtime without torch.

Both give the same outputs. Ids come without specials.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from regard.fault import Fault
from regard.search.core import Rows, Stepper
from regard.trace.core import Reading

if TYPE_CHECKING:
    from regard.task.bundle import Opened

Ids = Sequence[int]
Name = Literal["auto", "onnx", "torch"]


@runtime_checkable
class Engine(Protocol):
    """`cells`: hypotheses × source pieces that are best decoded at once. `threads`: batches decoded side by side."""

    @property
    def cells(self) -> int: ...

    @property
    def threads(self) -> int: ...

    def begin(self, sources: Sequence[Ids], limits: Sequence[int], coverage: float) -> tuple[Stepper[Any], Any, Rows]:
        """What a search is given: how to step, the state before the first step, and the limits of each sentence."""
        ...

    def read(self, rows: Sequence[tuple[Ids, Ids]]) -> list[tuple[Reading, ...]]:
        """What every attention looked at while each target was written from its source, in their order."""
        ...

    def scores(self, source: Ids, target: Ids) -> list[float]:
        """The log-probability of each symbol of a target, its end the last."""
        ...


def chosen(made: Opened, asked: Name = "auto") -> Engine:
    """ONNX Runtime where it is there and the bundle has graphs; torch else, or when it is asked for."""
    there = find_spec("onnxruntime") is not None
    if asked == "onnx" and not made.graphs:
        made_by = f"`regard export OUT --to onnx --model {made.where}` makes a bundle that has"
        raise Fault(f"{made.where}: has no graphs; {made_by}")
    if asked == "onnx" and not there:
        raise Fault("the engine onnx needs the package onnxruntime: pip install onnxruntime")
    if asked == "torch" or not (there and made.graphs):
        from regard.task.eager import Eager

        return Eager(made.loaded().model)
    from regard.task.quick import Quick

    return Quick(made)
