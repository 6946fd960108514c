"""w ← w − rate · (m̂ / (√v̂ + ε) + decay · w)   (AdamW, Loshchilov 2019), for a gradient clipped to a norm.

An update whose gradient is not finite leaves everything as it is. Nothing here waits for the device: the rate, the clip
and the skip are tensors that the fused kernel reads, so that the whole update can be replayed as one CUDA graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.train import adamw
from regard.train.learner import Weights

BETAS = (0.9, 0.98)  # Vaswani 2017: with 0.999 the second moment of a short run is mostly its warm-up
MOMENTS = ("exp_avg", "exp_avg_sq", "step")


@final
class _Fused(torch.optim.AdamW):
    """torch's own, with the two tensors declared that its fused kernel looks for (as `GradScaler` uses them)."""

    grad_scale: Tensor | None = None
    found_inf: Tensor | None = None


@final
class Optimiser:
    """Weight decay pulls on matrices only: not on biases and norms, and not on embeddings, whose rare rows have no
    gradient to resist it.
    """

    def __init__(self, model: Weights, weight_decay: float, clip: float) -> None:
        self._named = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
        decayed = [w for w in self._named.values() if w.ndim > 1 and id(w) not in embeddings]
        matrices = set(map(id, decayed))
        others = [w for w in self._named.values() if id(w) not in matrices]
        device = next(iter(self._named.values())).device
        self._clip = clip
        self._adam = _Fused(
            [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=torch.zeros((), device=device),
            betas=BETAS,
            fused=True,
            capturable=device.type == "cuda",
        )
        self._by_loops = adamw.applies(list(self._named.values()))
        if self._by_loops:
            for module in model.modules():
                if isinstance(module, nn.Embedding):
                    module.sparse = True  # its gradient is of the rows that were read, which `adamw` knows

    def pace(self, rate: float) -> None:
        """Sets the rate of the updates to come. Outside of `step`, so that a replayed step reads it anew."""
        for group in self._adam.param_groups:
            group["lr"].fill_(rate)

    def step(self) -> Float[Tensor, ""]:
        """One update from the gradients in place, which it takes away. Returns their norm before clipping."""
        norm = self._loops() if self._by_loops else self._torchs()
        for weight in self._named.values():
            weight.grad = None
        return norm

    def _loops(self) -> Tensor:
        gradients = {weight: adamw.Gradient.of(weight) for weight in self._named.values() if weight.grad is not None}
        norm = adamw.norm(list(gradients.values()))
        if norm.isfinite():
            over = float(norm) / self._clip if self._clip > 0 else 1.0
            adamw.step(self._adam, gradients, 1 / max(over, 1.0))
        return norm

    def _torchs(self) -> Tensor:
        gradients = [weight.grad for weight in self._named.values() if weight.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        self._adam.found_inf = (~norm.isfinite()).float()
        if self._clip > 0:  # the kernel divides each gradient by this as it reads it: clipping costs no pass of its own
            self._adam.grad_scale = (norm / self._clip).clamp(min=1.0)
        self._adam.step()
        return norm

    def state(self) -> dict[str, Tensor]:
        """`name/exp_avg`, `name/exp_avg_sq` and `name/step` of every weight that had a gradient yet."""
        return {
            f"{name}/{moment}": self._adam.state[weight][moment]
            for name, weight in self._named.items()
            if weight in self._adam.state
            for moment in MOMENTS
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for name, weight in self._named.items():
            if f"{name}/step" in state:
                self._adam.state[weight] = {
                    moment: state[f"{name}/{moment}"].to(weight.device, copy=True) for moment in MOMENTS
                }
