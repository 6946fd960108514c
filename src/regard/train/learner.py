"""What train knows of the world: a model that returns a loss, a stream of batches, a function that measures.

It does not know what a batch holds nor what the model is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

S = TypeVar("S")  # not `Self`: beartype, which looks at functions one by one, cannot tell whose it is


@runtime_checkable
class Batch(Protocol):
    """Tensors that can go to a device, as (nested) dataclasses where a graph is to replay them."""

    def to(self: S, device: torch.device, /) -> S: ...
    @property
    def tokens(self) -> int:
        """The symbols to learn from, counted on the host. It weighs means for people; no loss may read it."""
        ...


B = TypeVar("B", bound=Batch)
B_contra = TypeVar("B_contra", bound=Batch, contravariant=True)
B_co = TypeVar("B_co", bound=Batch, covariant=True)


@runtime_checkable
class Loss(Protocol):
    """`total` is the mean per symbol, to be made small; `parts` are detached and only looked at."""

    @property
    def total(self) -> Tensor: ...
    @property
    def parts(self) -> Mapping[str, Tensor]: ...


@runtime_checkable
class Stream(Protocol[B_co]):
    """Batches without end, in epochs. What an epoch holds is fixed by its number (and by torch's generator).

    The batches skipped by `start` must draw nothing from torch's generator: it already stands where they left it.
    """

    def epoch(self, number: int, start: int) -> Iterator[B_co]:
        """The batches of that epoch from the `start`-th on."""
        ...

    def batches(self, number: int) -> int:
        """How many batches that epoch has."""
        ...


@runtime_checkable
class Weights(Protocol):
    """The part of `nn.Module` that keeps a state: all that averages and checkpoints need."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...
    def named_buffers(self) -> Iterator[tuple[str, Tensor]]: ...
    def modules(self) -> Iterator[nn.Module]: ...
    def state_dict(self) -> dict[str, Any]: ...


@runtime_checkable
class Learner(Weights, Protocol[B_contra]):
    """An `nn.Module` that knows its own loss."""

    def train(self, mode: bool = True) -> Any: ...
    def to(self, device: torch.device, /) -> Any: ...

    @property
    def steady(self) -> bool:
        """Does `progress` not matter to the loss? Then one recorded update stands for all of its shape."""
        ...

    def loss(self, batch: B_contra, progress: float, /) -> Loss:
        """`progress` runs from 0 to 1 over the whole run, for whatever has a schedule of its own."""
        ...

    def observe(self, loss: Any, /) -> None:
        """Called after each update with the loss it gave: a model may keep a moving baseline in its buffers, without
        reading the GPU.
        """
        ...


Measure = Callable[[], Mapping[str, float]]
"""The dev scores of the model as it stands; of two, the one with the higher `score` is the better model."""
