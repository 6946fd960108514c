"""Record: every attention's weights while a block of code runs.

Recording changes nothing in the outputs. It does not know sentences or labels: that is a trace's work. The weights keep
their graph, so that a penalty on them can be trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.core import Attention
from regard.memory import Bound


@final
@dataclass(frozen=True, slots=True)
class Call:
    """One call of one attention: who read, which memory, with what weights."""

    reader: str
    memory: str
    weights: Float[Tensor, "batch head query slot"]


@contextmanager
def record(model: nn.Module) -> Iterator[list[Call]]:
    """The calls of every attention in `model`, in order, into the list it yields."""
    calls: list[Call] = []
    handles = []
    for name, module in model.named_modules():
        if isinstance(module, Attention):

            def note(attention: Attention, memory: Bound, weights: Tensor, *, name: str = name) -> None:
                calls.append(Call(name, memory.name, weights if weights.dim() == 4 else weights.unsqueeze(1)))

            handles.append(module.listen(note))
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()
