"""Trace: what was read is kept whole, and comes back from disk as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.fault import Fault
from regard.trace.core import Axis, Reading, Trace

SOURCE = Axis(("▁Rahul", "▁is", "▁good", "</s>"), ((0, 5), (6, 8), (9, 13), (13, 13)), "Rahul is good")
TARGET = Axis(("▁राहुल", "▁चांगला", "</s>"), ((0, 5), (6, 12), (12, 12)), "राहुल चांगला")


def weights(heads: int, rows: int = 3, slots: int = 4) -> torch.Tensor:
    return torch.rand(heads, rows, slots, generator=torch.Generator().manual_seed(heads)).softmax(-1)


def made() -> Trace:
    own = Reading("layer1.self", "target", weights(2, 3, 3))
    return Trace(
        SOURCE, TARGET, (Reading("layer1", "source", weights(2)), own, Reading("layer2", "source", weights(3)))
    )


def test_one_memory_at_a_time() -> None:
    assert [each.reader for each in made().of()] == ["layer1", "layer2"]
    assert [each.reader for each in made().of("target")] == ["layer1.self"]
    assert made().heat(memory="target").shape == (3, 3)


def test_heat_is_the_mean_over_what_was_not_chosen() -> None:
    trace = made()
    torch.testing.assert_close(trace.heat(), torch.cat([weights(2), weights(3)]).mean(0))
    torch.testing.assert_close(trace.heat("layer2"), weights(3).mean(0))
    torch.testing.assert_close(trace.heat("layer2", 2), weights(3)[2])
    torch.testing.assert_close(trace.heat(head=1), (weights(2)[1] + weights(3)[1]) / 2)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(Fault, match=r"did you mean 'layer2'\?"):
        made().heat("layer22")
    with pytest.raises(Fault, match="from 0 to 1"):
        made().heat(head=2)
    with pytest.raises(Fault, match="nothing read"):
        made().heat(memory="picture")
    with pytest.raises(Fault, match="nothing read"):
        Trace(SOURCE, TARGET, ()).heat()


def test_labels_and_weights_agree() -> None:
    with pytest.raises(ValueError, match="layer1 has weights of 3x5"):
        Trace(SOURCE, TARGET, (Reading("layer1", "source", weights(1, 3, 5)),))
    with pytest.raises(ValueError, match="2 labels but 1 spans"):
        Axis(("a", "b"), ((0, 1),))


@pytest.mark.parametrize("name", ["run.safetensors", "run.json"])
def test_saved_and_loaded_is_the_same(tmp_path: Path, name: str) -> None:
    trace = made()
    trace.save(tmp_path / name)
    back = Trace.load(tmp_path / name)
    assert (back.source, back.target) == (trace.source, trace.target)
    for old, new in zip(trace.readings, back.readings, strict=True):
        assert (old.reader, old.memory, old.asks) == (new.reader, new.memory, new.asks)
        assert torch.equal(old.weights, new.weights)


def test_labels_need_no_text(tmp_path: Path) -> None:
    cars = Axis(("car 12 m ahead", "car 30 m left"), kind="scene")
    trace = Trace(cars, Axis(("brake",), kind="control"), (Reading("driver", "scene", weights(1, 1, 2)),))
    trace.save(tmp_path / "t.safetensors")
    back = Trace.load(tmp_path / "t.safetensors")
    assert back.source == cars
    assert back.heat(memory="scene").shape == (1, 2)


def test_a_file_that_is_no_trace_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="there is no such file"):
        Trace.load(tmp_path / "none.safetensors")
    for name, content in (("a.json", "{}"), ("b.json", "not"), ("c.safetensors", "not a tensor"), ("d.json", "[]")):
        (tmp_path / name).write_text(content)
        with pytest.raises(Fault, match="not a trace"):
            Trace.load(tmp_path / name)
