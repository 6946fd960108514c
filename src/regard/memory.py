r"""Memory: what an encoder wrote and a query may read.   $c_t = \sum_i a_{ti} v_i$ reads its values by its keys.

It does not know who wrote it (a sentence, a picture, speech, a road) nor who will read it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@final
@dataclass(frozen=True, slots=True)
class Memory:
    """Slots to read: `values`, the `keys` that find them, and a `mask` (True = real).

    `summary` is the whole source in one vector: all that a model without attention may read, and what a recurrent
    decoder starts from. `name` tells memories apart in a trace.
    """

    keys: Float[Tensor, "*batch slot key"]
    values: Float[Tensor, "*batch slot value"]
    mask: Bool[Tensor, "*#batch slot"]
    summary: Float[Tensor, "*#batch summary"] | None = None
    name: str = "source"

    def rows(self, index: Int[Tensor, " row"]) -> Memory:
        """The same memory for the chosen batch rows."""
        summary = None if self.summary is None else self.summary[index]
        return replace(self, keys=self.keys[index], values=self.values[index], mask=self.mask[index], summary=summary)


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """A Memory as one attention sees it: its keys are already projected into score space."""

    keys: Float[Tensor, "*batch slot key"]
    values: Float[Tensor, "*#batch slot value"]
    mask: Bool[Tensor, "*#batch slot"]
    name: str

    def rows(self, index: Int[Tensor, " row"]) -> Bound:
        return replace(self, keys=self.keys[index], values=self.values[index], mask=self.mask[index])

    def append(self, new: Bound) -> Bound:
        """The same memory with more slots at its end: what a self-attention does with each new step."""
        return replace(
            self,
            keys=torch.cat([self.keys, new.keys], -2),
            values=torch.cat([self.values, new.values], -2),
            mask=torch.cat([self.mask, new.mask], -1),
        )


@final
@dataclass(frozen=True, slots=True)
class Past:
    """What an attention remembers of its own earlier steps: how many, the last weights and their running sum.

    The weights are None where nobody computed them (the fused path).
    """

    step: int
    weights: Float[Tensor, "*batch slot"] | None = None
    coverage: Float[Tensor, "*batch slot"] | None = None

    def rows(self, index: Int[Tensor, " row"]) -> Past:
        return Past(
            self.step,
            None if self.weights is None else self.weights[index],
            None if self.coverage is None else self.coverage[index],
        )
