"""AdamW for all weights in one call, by the compiled loops: as torch has it, for gradients of few rows too.

Of an embedding only the rows of a batch have gradients. Torch writes, reads and clears a table of zeros for the others;
here they are none, and their moments fade as they would. It knows the optimiser's state by torch's names.
"""

from __future__ import annotations

from ctypes import c_float, c_int64
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn

from regard.layer import compiled


def applies(weights: list[nn.Parameter]) -> bool:
    return compiled.library() is not None and all(
        each.device.type == "cpu" and each.dtype == torch.float32 and each.is_contiguous() for each in weights
    )


@final
@dataclass(frozen=True, slots=True)
class Gradient:
    """Of all rows of a weight, or of those that `rows` finds a place for; the others have -1 there."""

    values: Tensor
    rows: Tensor | None = None

    @staticmethod
    def of(weight: nn.Parameter) -> Gradient:
        assert weight.grad is not None
        if not weight.grad.is_sparse:
            return Gradient(weight.grad.contiguous())
        indices = weight.grad._indices()[0].contiguous()
        # a copy: two tables whose rows were added up have one gradient between them
        values = weight.grad._values().clone(memory_format=torch.contiguous_format)
        rows = torch.full((len(weight),), -1, dtype=torch.int32)
        compiled.call("merge", *values.shape, indices, values, rows)
        return Gradient(values, rows)


def norm(gradients: list[Gradient]) -> Tensor:
    result = torch.empty(())
    sizes = (c_int64 * len(gradients))(*(each.values.numel() for each in gradients))
    compiled.call("norm", len(gradients), sizes, compiled.places([each.values for each in gradients]), result)
    return result


@torch.no_grad()
def step(adam: torch.optim.AdamW, gradients: dict[nn.Parameter, Gradient], scale: float) -> None:
    """One update from the gradients times `scale`."""
    weights: list[nn.Parameter] = []
    shrinks, strides, roots = [], [], []
    for group in adam.param_groups:
        rate, (beta1, beta2) = float(group["lr"]), group["betas"]
        for weight in group["params"]:
            if weight not in gradients:
                continue
            state = adam.state[weight] or _first(adam.state[weight], weight)
            state["step"] += 1
            number = float(state["step"])
            weights.append(weight)
            shrinks.append(1 - rate * group["weight_decay"])
            strides.append(rate / (1 - beta1**number))
            roots.append((1 - beta2**number) ** -0.5)
    found, states, many = [gradients[each] for each in weights], [adam.state[each] for each in weights], len(weights)
    compiled.call(
        "adamw",
        *(many, (c_int64 * many)(*(each.numel() for each in weights))),
        (c_int64 * many)(*(1 if of.rows is None else each.shape[1] for each, of in zip(weights, found, strict=True))),
        *(compiled.places(list(weights)), compiled.places([each.values for each in found])),
        compiled.places([each.rows for each in found]),
        *(compiled.places([state[name] for state in states]) for name in ("exp_avg", "exp_avg_sq")),
        *((c_float * many)(*numbers) for numbers in (shrinks, strides, roots)),
        *(float(beta1), float(beta2), float(adam.defaults["eps"]), scale),
    )


def _first(state: dict[str, Any], weight: nn.Parameter) -> dict[str, Any]:
    state["step"] = torch.zeros(())
    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(weight), torch.zeros_like(weight)
    return state
