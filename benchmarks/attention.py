"""How long each mechanism takes, forward and back, and what the fused kernel saves.

    python benchmarks/attention.py [--rows 32] [--steps 20] [--slots 30] [--width 256] [--repeat 20]

Scores are measured with soft alignment everywhere, alignments and scopes with the additive score; what needs the
previous weights is read step by step, as it is in training. The table is in Markdown; each time is the median.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from regard.attention import Attended, Attention
from regard.attention.align import Hard, Monotonic
from regard.attention.scope import LocalM, LocalP
from regard.attention.score import Additive, Concat, Dot, General, Location, LocationAware, ScaledDot
from regard.memory import Bound, Memory


def mechanisms(width: int, slots: int) -> Iterator[tuple[str, Attention]]:
    yield "dot", Attention(Dot())
    yield "scaled_dot", Attention(ScaledDot())
    yield "general", Attention(General(width, width))
    yield "additive", Attention(Additive(width, width, width))
    yield "concat", Attention(Concat(width, width, width))
    yield "location", Attention(Location(width, slots))
    yield "location_aware", Attention(LocationAware(width, width, width))
    yield "local_m", Attention(Additive(width, width, width), LocalM(5))
    yield "local_p", Attention(Additive(width, width, width), LocalP(width, width, 5))
    yield "hard", Attention(Additive(width, width, width), align=Hard())
    yield "monotonic", Attention(Additive(width, width, width), align=Monotonic())


def total(read: Attended) -> Tensor:
    """Something to descend; a sampled slot is reached by its log-probability alone."""
    return read.context.sum() + (0.0 if read.log_prob is None else read.log_prob.sum())


def step_by_step(attention: Attention, query: Tensor, memory: Memory) -> Tensor:
    bound = attention.bind(memory)
    past = attention.start(bound)
    loss = torch.zeros(())
    for step in range(query.shape[1]):
        read = attention(query[:, step : step + 1], bound, past)
        past = read.past
        loss = loss + total(read)
    return loss


def at_once(attention: Attention, query: Tensor, memory: Memory) -> Tensor:
    return total(attention(query, attention.bind(memory)))


def deaf(attention: Attention, memory: Bound, weights: Tensor) -> None:
    """Somebody listens, so the weights have to be written down."""


def milliseconds(work: Callable[[], Tensor], repeat: int) -> float:
    times = []
    for _ in range(repeat + 2):
        began = time.perf_counter()
        work().backward()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[2:])  # the first ones find memory and kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rows", 32), ("steps", 20), ("slots", 30), ("width", 256), ("repeat", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    torch.manual_seed(1)
    query = torch.randn(asked.rows, asked.steps, asked.width, requires_grad=True)
    slots = torch.randn(asked.rows, asked.slots, asked.width, requires_grad=True)
    memory = Memory(slots, slots, torch.ones(asked.rows, asked.slots, dtype=torch.bool))
    where = f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    print(f"{asked.rows} rows of {asked.steps} steps over {asked.slots} slots, {asked.width} wide; {where}\n")
    print("| mechanism | at once, ms | fused, ms | step by step, ms |\n|---|---|---|---|")
    for name, attention in mechanisms(asked.width, asked.slots):
        once, stepped = (partial(way, attention, query, memory) for way in (at_once, step_by_step))
        fused = milliseconds(once, asked.repeat) if attention.fusable else None
        hearing = attention.listen(deaf)
        eager = None if attention.sequential else milliseconds(once, asked.repeat)
        times = (eager, fused, milliseconds(stepped, asked.repeat))
        hearing.remove()
        print(f"| `{name}` | {' | '.join('-' if each is None else f'{each:.1f}' for each in times)} |")


if __name__ == "__main__":
    main()
