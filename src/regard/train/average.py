"""w̄ ← d_n · w̄ + (1 − d_n) · w,   d_n = min(d, (1 + n) / (10 + n)): or the mean of the last k checkpoints; or w itself.

Averaged weights are what is measured and shipped; training never reads them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

from regard.train.learner import Weights


@final
@dataclass(frozen=True, slots=True)
class Averaging:
    """How to average: `decay` is of the moving average, `last` the number of checkpoints."""

    kind: Literal["ema", "last", "none"] = "ema"
    decay: float = 0.999
    last: int = 5

    def of(self, model: Weights) -> Average:
        match self.kind:
            case "ema":
                return Moving(model, self.decay)
            case "last":
                return Last(model, self.last)
            case "none":
                return Plain(model)


class Average(ABC):
    """The weights to measure and ship, by the names the model gives them."""

    def __init__(self, model: Weights) -> None:
        self._weights = {name: weight.detach() for name, weight in model.named_parameters()}

    @abstractmethod
    def update(self) -> None:
        """The weights have been updated."""

    @abstractmethod
    def mark(self) -> None:
        """A checkpoint is about to be measured."""

    @abstractmethod
    def averaged(self) -> dict[str, Tensor]:
        """The averages as they stand."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]: ...

    @abstractmethod
    def restore(self, state: Mapping[str, Tensor]) -> None: ...

    def settle(self) -> None:
        """The model holds the averages from now on."""
        torch._foreach_copy_(list(self._weights.values()), list(self.averaged().values()))

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """Inside, the model holds the averages; afterwards its own weights again, to the bit."""
        weights, averages = list(self._weights.values()), list(self.averaged().values())
        kept = [weight.clone() for weight in weights]
        torch._foreach_copy_(weights, averages)
        try:
            yield
        finally:
            torch._foreach_copy_(weights, kept)


@final
class Plain(Average):
    """No average: the weights themselves."""

    def update(self) -> None:
        pass

    def mark(self) -> None:
        pass

    def averaged(self) -> dict[str, Tensor]:
        return self._weights

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        pass


@final
class Moving(Average):
    """An exponential moving average, whose memory grows with the run so that it soon forgets the first weights."""

    def __init__(self, model: Weights, decay: float) -> None:
        super().__init__(model)
        self._decay = decay
        self._count = 0
        self._averages = {name: weight.clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def update(self) -> None:
        self._count += 1
        decay = min(self._decay, (1 + self._count) / (10 + self._count))
        torch._foreach_lerp_(list(self._averages.values()), list(self._weights.values()), 1 - decay)

    def mark(self) -> None:
        pass

    def averaged(self) -> dict[str, Tensor]:
        return self._averages

    def state(self) -> dict[str, Tensor]:
        return {"count": torch.tensor(self._count), **{f"0/{name}": mean for name, mean in self._averages.items()}}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self._count = int(state["count"])
        for name, average in self._averages.items():
            average.copy_(state[f"0/{name}"])


@final
class Last(Average):
    """The mean of the weights at the last checkpoints (Vaswani 2017, §6.1), which are kept on the CPU."""

    def __init__(self, model: Weights, last: int) -> None:
        super().__init__(model)
        self._last = last
        self._kept: list[dict[str, Tensor]] = []

    def update(self) -> None:
        pass

    def mark(self) -> None:
        kept = {name: weight.to("cpu", copy=True) for name, weight in self._weights.items()}
        self._kept = [*self._kept, kept][-self._last :]

    def averaged(self) -> dict[str, Tensor]:
        if not self._kept:
            return self._weights
        return {
            name: torch.stack([kept[name] for kept in self._kept]).mean(0).to(weight.device)
            for name, weight in self._weights.items()
        }

    def state(self) -> dict[str, Tensor]:
        return {f"{at}/{name}": weight for at, kept in enumerate(self._kept) for name, weight in kept.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        count = len({key.partition("/")[0] for key in state})
        self._kept = [{name: state[f"{at}/{name}"].clone() for name in self._weights} for at in range(count)]
