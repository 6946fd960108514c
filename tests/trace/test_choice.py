"""Choice: the mean by default, a head by name, and the head that tells most."""

from __future__ import annotations

import pytest
import torch

from regard.fault import Fault
from regard.trace.choice import chosen, clearest, main_memory, panels
from regard.trace.core import Axis, Reading, Trace

SOURCE = Axis(("a", "b", "</s>"), ((0, 1), (2, 3), (3, 3)), "a b")
TARGET = Axis(("x", "y", "</s>"), ((0, 1), (2, 3), (3, 3)), "x y")
RESTING = torch.tensor([[0.0, 0.0, 1.0]]).expand(3, 3)
FLAT = torch.full((3, 3), 1 / 3)
TELLING = torch.tensor([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])


def made() -> Trace:
    own = Reading("layer1.self", "target", torch.eye(3)[None])
    encoder = Reading("encoder1", "source", torch.eye(3)[None], asks="source")
    layer1 = Reading("layer1", "source", torch.stack([RESTING, FLAT]))
    layer2 = Reading("layer2", "source", torch.stack([FLAT, TELLING]))
    return Trace(SOURCE, TARGET, (encoder, own, layer1, layer2))


def test_the_mean_over_all_readers_of_the_source_is_the_default() -> None:
    heat = chosen(made())
    torch.testing.assert_close(heat.weights, (RESTING + FLAT + FLAT + TELLING) / 4)
    assert (heat.source, heat.target, heat.title) == (SOURCE, TARGET, "")


def test_a_reader_and_a_head_by_name() -> None:
    heat = chosen(made(), "layer2", 1)
    torch.testing.assert_close(heat.weights, TELLING)
    assert heat.title == "layer2, head 1"
    with pytest.raises(Fault, match="did you mean 'layer2'"):
        chosen(made(), "layer22")


def test_the_clearest_head_is_not_the_sharpest() -> None:
    assert clearest(made()) == ("layer2", 1)
    assert chosen(made(), "clearest").title == "layer2, head 1"
    assert chosen(made(), "clearest", 0).title == "layer1, head 0"
    with pytest.raises(Fault, match="no such head"):
        chosen(made(), "clearest", 7)
    with pytest.raises(Fault, match="no readings"):
        chosen(Trace(SOURCE, TARGET, ()), "clearest")


def test_panels_are_every_head() -> None:
    assert [each.title for each in panels(made())] == [
        "layer1, head 0",
        "layer1, head 1",
        "layer2, head 0",
        "layer2, head 1",
    ]
    assert len(list(panels(made(), "layer1"))) == 2
    with pytest.raises(Fault, match="no reader"):
        list(panels(made(), "layer9"))


def test_the_past_runs_one_step_behind() -> None:
    heat = chosen(made(), memory="target")
    assert heat.source.labels == ("<s>", "x", "y")
    assert heat.source.spans == ((0, 0), (0, 1), (2, 3))


def test_a_trace_without_a_source_shows_what_was_read() -> None:
    scene = Axis(("car ahead", "car left"), kind="scene")
    weights = torch.tensor([[[0.25, 0.75]]])
    trace = Trace(scene, Axis(("brake",)), (Reading("driver", "scene", weights),))
    assert main_memory(trace) == "scene"
    torch.testing.assert_close(chosen(trace).weights, weights[0])
    assert main_memory(Trace(scene, scene, ())) == "source"
