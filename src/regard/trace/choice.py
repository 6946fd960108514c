r"""Choice: which matrix of a trace is shown; by default $\frac{1}{H} \sum_h a_{hti}$ over all heads on the source.

The mean hides no head and needs no judgement, but the many heads of a transformer blur it. `clearest` names the head
whose rows tell most apart (`alignment.clarity`): not the sharpest one, which is often a head that rests on `</s>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from regard.array import single
from regard.fault import Fault
from regard.trace.alignment import clarity
from regard.trace.core import Axis, Trace
from regard.trace.terminal import Heatmap

CLEAREST: Final = "clearest"
BEGIN: Final = "<s>"


def chosen(trace: Trace, reader: str | None = None, head: int | None = None, memory: str | None = None) -> Heatmap:
    """One matrix with its axes, titled by what was chosen.

    `reader` is a reader's name, `clearest`, or None for the mean over all; `head` one of its heads or None for their
    mean. `memory` is the source or, in a trace that has none, the first thing read that is not the target itself.
    """
    memory = memory or main_memory(trace)
    if reader == CLEAREST:
        reader, head = clearest(trace, memory, head)
    weights = trace.heat(reader, head, memory)
    return Heatmap(weights, across(trace, memory), trace.target, named(reader, head))


def panels(trace: Trace, reader: str | None = None, memory: str | None = None) -> Iterator[Heatmap]:
    """Every head of one reader or, without one, every head of every reader, first layer first."""
    memory = memory or main_memory(trace)
    trace.heat(reader, None, memory)  # names what is not there
    for reading in trace.of(memory):
        if reader in {None, reading.reader}:
            for head, weights in enumerate(reading.weights):
                title = named(reading.reader, head if len(reading.weights) > 1 else None)
                yield Heatmap(single(weights), across(trace, memory), trace.target, title)


def clearest(trace: Trace, memory: str | None = None, head: int | None = None) -> tuple[str, int]:
    """The reader and head whose rows tell most apart; among equals, the first."""
    readings = trace.of(memory or main_memory(trace))
    scored = [
        (-clarity(each.weights[at]), place, at)
        for place, each in enumerate(readings)
        for at in range(len(each.weights))
        if head in {None, at}
    ]
    if not scored:
        raise Fault("this trace has no such head to choose between" if readings else "this trace has no readings")
    _, place, at = min(scored)
    return readings[place].reader, at


def main_memory(trace: Trace) -> str:
    """The source where the target read it, else the first memory that is not the target itself."""
    read = [each.memory for each in trace.readings if each.asks == "target"]
    if "source" in read:
        return "source"
    return next((memory for memory in read if memory != "target"), read[0] if read else "source")


def across(trace: Trace, memory: str) -> Axis:
    """The labels of a memory's slots. Slot i of the decoder's own past holds what was written before row i."""
    return past(trace.target) if memory == "target" else trace.source


def past(target: Axis) -> Axis:
    """The target one step behind itself."""
    labels = (BEGIN, *target.labels[:-1]) if len(target) else ()
    spans = None if target.spans is None else ((0, 0), *target.spans[:-1])[: len(labels)]
    return replace(target, labels=labels, spans=spans)


def named(reader: str | None, head: int | None) -> str:
    """`decoder.attention, head 2`; nothing for the mean over all."""
    told = [each for each in (reader, None if head is None else f"head {head}") if each]
    return ", ".join(told)
