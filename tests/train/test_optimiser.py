"""The optimiser is torch's AdamW after torch's clipping; a gradient that is no number changes nothing."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from toy_run import same

from regard.train.optimiser import BETAS, Optimiser
from regard.train.update import Descent


def made(seed: int = 1) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Embedding(7, 5), nn.Linear(5, 3), nn.LayerNorm(3))


def learn(model: nn.Module, step: int) -> None:
    """Gradients that are sometimes above the clip and sometimes below."""
    ids = torch.arange(7)
    ((model(ids) - torch.arange(3.0)).square().sum() * (0.001 if step % 3 else 1.0)).backward()


@pytest.mark.parametrize("clip", [0.5, 0.0])
def test_it_is_adamw_with_clipping(clip: float) -> None:
    ours, theirs = made(), made()
    optimiser = Optimiser(ours, 0.1, clip)
    matrix = theirs[1].weight
    others = [weight for weight in theirs.parameters() if weight is not matrix]
    groups = [{"params": [matrix], "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, betas=BETAS, foreach=False)
    clipped = []
    for step in range(9):
        rate = 0.05 / (1 + step)
        learn(ours, step)
        learn(theirs, step)
        optimiser.pace(rate)
        norm = optimiser.step()
        wanted = nn.utils.clip_grad_norm_(theirs.parameters(), clip if clip else torch.inf)
        for group in adam.param_groups:
            group["lr"] = rate
        adam.step()
        adam.zero_grad()
        torch.testing.assert_close(norm, wanted)
        clipped.append(bool(norm > clip))
        for (name, one), (_, other) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6, msg=name)
            assert one.grad is None
    assert clip == 0 or len(set(clipped)) == 2


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e30])
@pytest.mark.parametrize("clip", [1.0, 0.0])
def test_a_gradient_that_is_no_number_changes_nothing(bad: float, clip: float) -> None:
    """Nor one whose norm is none."""
    model = made()
    optimiser = Optimiser(model, 0.1, clip)
    optimiser.pace(0.1)
    for _ in range(2):
        learn(model, 0)
        optimiser.step()
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    moments = {name: moment.clone() for name, moment in optimiser.state().items()}
    learn(model, 0)
    model.get_parameter("1.weight").grad[0, 1] = bad  # type: ignore[index]
    assert not optimiser.step().isfinite()
    assert same(model.state_dict(), weights)
    assert same(optimiser.state(), moments)
    learn(model, 0)
    assert optimiser.step().isfinite()
    assert not same(model.state_dict(), weights)


def test_restored_it_goes_on_the_same() -> None:
    model, other = made(), made(2)
    optimiser, restored = Optimiser(model, 0.1, 1.0), Optimiser(other, 0.1, 1.0)
    for step in range(6):
        if step == 3:
            other.load_state_dict(model.state_dict())
            restored.restore({name: moment.clone() for name, moment in optimiser.state().items()})
        for one, its in ((model, optimiser), (other, restored)):
            learn(one, step)
            its.pace(0.1)
            its.step()
    assert same(model.state_dict(), other.state_dict())
    assert same(optimiser.state(), restored.state())


def test_frozen_and_unused_weights_stay() -> None:
    model = made()
    model[1].weight.requires_grad_(False)
    unused = nn.Linear(2, 2)
    both = nn.ModuleList([model, unused])
    optimiser = Optimiser(both, 0.1, 1.0)
    before = {name: weight.clone() for name, weight in both.state_dict().items()}
    learn(model, 0)
    optimiser.pace(0.1)
    optimiser.step()
    after = both.state_dict()
    moved = {name for name in after if not torch.equal(after[name], before[name])}
    assert moved == {"0.0.weight", "0.1.bias", "0.2.weight", "0.2.bias"}
    assert {name.rpartition("/")[0] for name in optimiser.state()} == moved


def test_the_rate_is_that_of_the_progress() -> None:
    descent = Descent(rate=0.3, warmup=0.1, schedule="linear")
    assert descent.rate_at(0.05) == pytest.approx(0.15)
    assert descent.rate_at(0.1) == pytest.approx(0.3)
    assert descent.rate_at(0.55) == pytest.approx(0.15)
