"""Sides: the directions of one recurrent layer, each over its own reading of the rows. On a GPU, in training, they go
side by side, a launch a step for all of them. They begin from nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from regard.layer import fused
from regard.layer.recurrent import Stack
from regard.layer.scan import narrow


def sides(
    stacks: Sequence[Stack], inputs: Sequence[Float[Tensor, "row slot inputs"]]
) -> tuple[Float[Tensor, "row slot width"], ...]:
    """The states of each after each slot."""
    owns, biases = zip(*(stack.own for stack in stacks), strict=True)
    dtype = narrow(owns[0])
    if not fused.trains(inputs[0].device, dtype) or owns[0].dtype not in fused.KINDS:
        return tuple(stack.run(x, stack.zero(x)) for stack, x in zip(stacks, inputs, strict=True))
    from regard.layer.fused.scan import scans

    return scans([stack.known(x) for stack, x in zip(stacks, inputs, strict=True)], owns, biases, dtype)
