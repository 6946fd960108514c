r"""Penalties on weights, as terms of a loss. They read what was recorded and know nothing of who computed it.

coverage  $\sum_i (1 - \sum_t a_{ti})^2$ (Xu 2015, eq. 14)
entropy   $-\sum_i a_{ti}\log a_{ti}$
squared   $\sum_i a_{ti}^2$
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Weights = Float[Tensor, "batch head query slot"]
Steps = Bool[Tensor, "batch query"]
Slots = Bool[Tensor, "batch slot"]


def coverage(weights: Weights, steps: Steps, slots: Slots) -> Float[Tensor, ""]:
    """How far each real slot is from being read once in all; the mean over slots, heads and rows."""
    read = (weights * steps[:, None, :, None]).sum(-2)
    return ((1 - read) ** 2 * slots[:, None]).sum() / (slots.sum() * weights.shape[1])


def entropy(weights: Weights, steps: Steps, slots: Slots) -> Float[Tensor, ""]:
    """How undecided the reader is, in nats; the mean over steps and heads."""
    each = -torch.xlogy(weights, weights.clamp(min=1e-9)).sum(-1)
    return (each * steps[:, None]).sum() / (steps.sum() * weights.shape[1])


def squared(weights: Weights, steps: Steps, slots: Slots) -> Float[Tensor, ""]:
    """How peaked the weights are: 1 for a single slot, 1/S for all alike; the mean over steps and heads."""
    each = (weights**2).sum(-1)
    return (each * steps[:, None]).sum() / (steps.sum() * weights.shape[1])
