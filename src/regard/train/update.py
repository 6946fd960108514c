"""One update: loss, gradients, clipping, AdamW. It never waits for the device, so that a graph can replay it whole.

It does not know which update it is, nor what is done with the weights afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.train.learner import B, Learner, Loss
from regard.train.optimiser import Optimiser
from regard.train.schedule import Schedule, factor

Precision = Literal["auto", "float32", "bfloat16"]


@final
@dataclass(frozen=True, slots=True)
class Descent:
    """How the weights go downhill. `rate` is the peak; `clip` bounds the norm of the gradients, 0 leaves them."""

    rate: float = 1e-3
    warmup: float = 0.05
    schedule: Schedule = "cosine"
    weight_decay: float = 0.01
    clip: float = 1.0

    def rate_at(self, progress: float) -> float:
        return self.rate * factor(progress, self.warmup, self.schedule)


def narrow(precision: Precision, device: torch.device) -> bool:
    """Whether to compute in bfloat16 where autocast thinks it safe. Weights, gradients and moments stay float32.

    `auto` takes it where the hardware multiplies it at speed: a core with avx512_bf16 then trains a recurrent model of
    256 or 512 twice as fast or better. Elsewhere it is emulated and slower.
    """
    if precision != "auto":
        return precision == "bfloat16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    information = Path("/proc/cpuinfo")
    if device.type != "cpu" or not information.is_file():
        return False
    words = set(information.read_text(encoding="utf-8", errors="replace").split())
    return not words.isdisjoint({"avx512_bf16", "amx_bf16"})


@final
@dataclass(frozen=True, slots=True)
class Updated:
    """The loss of the batch before the update, and the norm of its gradients."""

    loss: Loss
    norm: Float[Tensor, ""]


@final
class Update(Generic[B]):
    """Does one; remembers nothing but the optimiser."""

    def __init__(self, model: Learner[B], descent: Descent, precision: Precision) -> None:
        self.optimiser = Optimiser(model, descent.weight_decay, descent.clip)
        self.device = next(weight.device for _, weight in model.named_parameters())
        self._model = model
        self._descent = descent
        self._narrow = narrow(precision, self.device)

    def __call__(self, batch: B, progress: float) -> Updated:
        self.pace(progress)
        return self.step(batch.to(self.device), progress)

    def pace(self, progress: float) -> None:
        self.optimiser.pace(self._descent.rate_at(progress))

    def step(self, batch: B, progress: float) -> Updated:
        """At the rate of the last `pace`, for a batch that is on the device: what a graph may record."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._narrow, cache_enabled=not self._recording):
            loss = self._model.loss(batch, progress)
        torch.autograd.backward(loss.total)
        return Updated(loss, self.optimiser.step())

    @property
    def _recording(self) -> bool:
        """A graph must not keep the narrow copies of the weights that autocast made before it."""
        return self.device.type == "cuda"
