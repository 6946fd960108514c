"""A run on a GPU, its updates replayed as graphs, is the run it would be without them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_run import At, Draws, Log, Toy, ask, plan, same, weights

from regard.train import replay
from regard.train.average import Averaging
from regard.train.checkpoint import read
from regard.train.ends import Diverged, Stopped
from regard.train.run import run

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def trained(folder: Path, stop: int = 0, resume: bool = False, **more: Any) -> Toy:
    model = Toy(steady=True).to("cuda")

    def measure() -> Mapping[str, float]:
        torch.rand(3, device="cuda")
        return {"score": float(model(torch.arange(5, device="cuda")).abs().sum())}

    run(model, Draws(), plan(60, 10, **more), folder, measure=measure, watcher=At(stop, ask), resume=resume)
    return model


def close(one: Toy, other: Toy) -> bool:
    return all(torch.allclose(a, b, atol=1e-5) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many updates came from a graph, in its one number."""
    count = [0]
    fill = replay.fill

    def counted(static: object, batch: object) -> None:
        count[0] += 1
        fill(static, batch)

    monkeypatch.setattr(replay, "fill", counted)
    return count


@pytest.mark.parametrize("kind", ["ema", "last", "none"])
def test_replayed_is_not_replayed(kind: Any, tmp_path: Path, replayed: list[int]) -> None:
    """Random draws too."""
    its: dict[str, Any] = {"averaging": Averaging(kind, decay=0.8, last=3), "precision": "float32"}
    one = trained(tmp_path / "auto", **its)
    assert replayed == [60 - replay.SEEN]
    other = trained(tmp_path / "never", replay="never", **its)
    assert replayed == [60 - replay.SEEN]
    assert close(one, other)
    assert torch.allclose(one.baseline, other.baseline, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_stopped_and_resumed_is_never_stopped(precision: Any, tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", precision=precision)
    with pytest.raises(Stopped):
        trained(tmp_path / "stopped", 20, precision=precision)
    with pytest.raises(Stopped):
        trained(tmp_path / "stopped", 33, resume=True, precision=precision)
    resumed = trained(tmp_path / "stopped", resume=True, precision=precision)
    assert close(resumed, whole)
    assert not close(resumed, trained(tmp_path / "other", precision=precision, seed=2))


def test_measuring_changes_nothing(tmp_path: Path) -> None:
    run(alone := Toy(steady=True).to("cuda"), Draws(), plan(60, 10), tmp_path / "alone")
    trained(tmp_path / "measured")
    found, wanted = (read(tmp_path / name / "checkpoints" / "00000060") for name in ("measured", "alone"))
    for name, weight in alone.named_parameters():
        assert torch.allclose(found.tensors[f"model/{name}"], wanted.tensors[f"model/{name}"], atol=1e-5)
        assert torch.equal(weight.cpu(), wanted.tensors[f"average/0/{name}"])
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_a_finished_run_ships_the_same_again(tmp_path: Path) -> None:
    model = trained(tmp_path)
    assert same(weights(trained(tmp_path, resume=True)), weights(model))


def test_weights_that_are_no_numbers_stop(tmp_path: Path) -> None:
    model = Toy(steady=True).to("cuda")
    watcher = At(13, lambda: model.inner.weight.data.fill_(torch.nan))
    with pytest.raises(Diverged, match="00000010"):
        run(model, Draws(), plan(60, 10), tmp_path, watcher=watcher)


def test_a_model_that_is_not_steady_is_not_replayed(tmp_path: Path, replayed: list[int]) -> None:
    run(Toy().to("cuda"), Draws(), plan(), tmp_path, watcher=(log := Log()))
    assert replayed == [0]
    assert len(log.places) == 40
