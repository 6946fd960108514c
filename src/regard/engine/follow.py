"""Follow: a model's own code, run once on tensors without content, as the list of torch's operations that it did.

So a graph says what the model says, every score, scope and alignment, without a second text of the equations. Sizes are
followed as symbols; numbers of steps as `AT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, final

import torch
from jaxtyping import config
from torch import Tensor, fx
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from regard.attention import Call, record
from regard.engine.leaf import leaves, rebuilt
from regard.fault import Fault
from regard.memory import Memory
from regard.model import Model
from regard.source.batch import EOS, Padded

AT: Final = 7919  # stands for the number of steps so far: a prime that nothing else is
# Sizes to follow with: primes, each another. A loop over powers of two is followed as often as so many slots ask for.
SENTENCES, ROWS, BEFORE, SLOTS, STEPS = 29, 31, 37, 257, 41
FREE: Final = {SENTENCES, ROWS, BEFORE, SLOTS, STEPS}

Named = dict[str, Tensor]


# Recurrent layers as one operation: torch's own would be followed slot by slot, and their number be fixed.
torch.library.define("regard::gru", "(Tensor x, Tensor first, Tensor[] weights) -> (Tensor, Tensor)")
torch.library.define("regard::lstm", "(Tensor x, Tensor[] first, Tensor[] weights) -> (Tensor, Tensor, Tensor)")


def _gru(x: Tensor, first: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
    return x.new_empty(*x.shape[:2], first.shape[-1]), torch.empty_like(first)


def _lstm(x: Tensor, first: list[Tensor], weights: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    hidden, cell = first
    return x.new_empty(*x.shape[:2], hidden.shape[-1]), torch.empty_like(hidden), torch.empty_like(cell)


torch.library.register_fake("regard::gru", _gru)
torch.library.register_fake("regard::lstm", _lstm)


@final
class _Layers(TorchFunctionMode):
    """Puts these two where torch's own are called."""

    @override
    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function is torch.gru:
            return torch.ops.regard.gru(args[0], args[1], list(args[2]))
        if function is torch.lstm:
            return torch.ops.regard.lstm(args[0], list(args[1]), list(args[2]))
        return function(*args, **(kwargs or {}))


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """How a decoder's state is made: what never changes (its memory) and what does, which axis is that of the source's
    slots, and which one grows with the steps.
    """

    state: Any
    memory: tuple[str, ...]
    changing: tuple[str, ...]
    first: frozenset[str]  # what there is before the first step
    slots: dict[str, int]
    grows: dict[str, int]


@torch.no_grad()
def shape(model: Model) -> Shape:
    """Found out by doing three steps: what a step hands on as it was is the memory."""
    start, one, two = _walked(model, 3)
    before, here, later = (dict(leaves(each)) for each in (start, one, two))
    wider = dict(leaves(_walked(model, 4)[1]))
    kept = tuple(name for name, leaf in here.items() if before.get(name) is leaf)
    changing = tuple(name for name in here if name not in kept)
    return Shape(one, kept, changing, frozenset(before), _differing(here, wider), _differing(here, later))


def _walked(model: Model, slots: int) -> list[Any]:
    """The state before the first step, after it and after the second."""
    states = [model.decoder.start(_encoded(model, torch.full((2, slots), EOS)), track=True)]
    for _ in range(2):
        states.append(model.decoder.step(torch.full((2,), EOS), states[-1]).state)
    return states


def _differing(one: Named, other: Named) -> dict[str, int]:
    """The axis in which tensors of the same name differ."""
    sizes = {name: zip(leaf.shape, other[name].shape, strict=True) for name, leaf in one.items()}
    return {name: axis for name, pairs in sizes.items() for axis, (short, long) in enumerate(pairs) if short != long}


def encoding(model: Model, known: Shape) -> tuple[fx.GraphModule, list[str], list[Call]]:
    """(ids, mask) → what there is before the first step, and what the encoder looked at. The names of what comes."""
    calls: list[Call] = []
    names = [name for name in (*known.memory, *known.changing) if name in known.first]

    def encode(ids: Tensor, mask: Tensor) -> list[Tensor]:
        with record(model) as heard, _Layers():
            memory = _encoded(model, ids, mask)
        state = dict(leaves(model.decoder.start(memory, track=True)))
        calls[:] = heard
        return [*(state[name] for name in names), *(call.weights for call in heard)]

    ids = torch.full((SENTENCES, SLOTS), EOS)
    return _followed(encode, [ids, ids > 0]), names, calls


def stepping(model: Model, known: Shape) -> tuple[fx.GraphModule, list[str], list[Call]]:
    """(tokens, parent, owner, memory, state) → log-probabilities, state, coverage, what was looked at.

    Row r goes on from row `parent[r]` of the state, and reads row `owner[r]` of the memory.
    """
    calls: list[Call] = []
    covers = False

    def step(tokens: Tensor, parent: Tensor, owner: Tensor, *given: Tensor) -> list[Tensor]:
        nonlocal covers
        rows = [owner] * len(known.memory) + [parent] * len(known.changing)
        parts = [leaf.index_select(0, row) for leaf, row in zip(given, rows, strict=True)]
        named = dict(zip((*known.memory, *known.changing), parts, strict=True))
        with record(model) as heard:
            stepped = model.decoder.step(tokens, rebuilt(known.state, named, AT))
        logits = model.output(stepped.features.unsqueeze(1)).squeeze(1)
        after = dict(leaves(stepped.state))
        coverage = model.decoder.coverage(stepped.state)
        covers, calls[:] = coverage is not None, heard
        seen = [] if coverage is None else [coverage]
        found = (after[name] for name in known.changing)
        return [torch.log_softmax(logits.float(), -1), *found, *seen, *(call.weights for call in heard)]

    return _followed(step, _examples(known)), [*known.changing, *(["coverage"] if covers else [])], calls


def _examples(known: Shape) -> list[Tensor]:
    """Of the right sizes; what stands in them does not matter."""
    small = dict(leaves(known.state))
    parts = []
    for name in (*known.memory, *known.changing):
        sizes = [SENTENCES if name in known.memory else BEFORE, *small[name].shape[1:]]
        if name in known.slots:
            sizes[known.slots[name]] = SLOTS
        if name in known.grows:
            sizes[known.grows[name]] = STEPS
        parts.append(torch.zeros(sizes, dtype=small[name].dtype))
    places = torch.zeros(ROWS, dtype=torch.long)
    return [torch.full((ROWS,), EOS), places, places.clone(), *parts]


def _encoded(model: Model, ids: Tensor, mask: Tensor | None = None) -> Memory:
    return model.encode(Padded(ids, torch.ones_like(ids, dtype=torch.bool) if mask is None else mask))


@torch.no_grad()
def _followed(function: Callable[..., list[Tensor]], examples: list[Tensor]) -> fx.GraphModule:
    unsized = ShapeEnv()
    mode = FakeTensorMode(shape_env=unsized, allow_non_fake_inputs=True)
    follow = make_fx(function, tracing_mode="fake", pre_dispatch=True, _allow_non_fake_inputs=True)
    with _unchecked():
        followed = follow(*(_unsized(each, mode, at) for at, each in enumerate(examples)))
    if unsized.replacements:
        raise Fault("this model cannot be written as a graph: it takes the size of a batch for a plain number")
    return followed


@contextmanager
def _unchecked() -> Iterator[None]:
    """Under the tests every shape is checked, and a symbol that is checked against a number becomes that number."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)


def _unsized(example: Tensor, mode: FakeTensorMode, at: int) -> Tensor:
    """The same without content, and with a symbol for each size that is free."""
    sizes = [DimDynamic.DUCK if size in FREE else DimDynamic.STATIC for size in example.shape]
    context: StatelessSymbolicContext[Any, Any] = StatelessSymbolicContext(dynamic_sizes=sizes)
    return mode.from_tensor(example, symbolic_context=context, source=ConstantSource(f"input{at}"))
