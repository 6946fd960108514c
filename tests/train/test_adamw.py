"""AdamW by the compiled loops is torch's, for gradients of all rows and of a few."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.layer import compiled
from regard.train.optimiser import BETAS, Optimiser

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="no gcc, or no AVX-512 BF16")
SIZES = ((300, 256), (7, 5), (70_000, 1))  # more than a piece of it, less than a vector, rows of one number


@pytest.mark.parametrize("size", SIZES)
def test_rows_without_a_gradient_fade_as_in_torch(size: tuple[int, int]) -> None:
    torch.manual_seed(1)
    ours, theirs = nn.Embedding(*size), nn.Embedding(*size)
    theirs.load_state_dict(ours.state_dict())
    optimiser = Optimiser(ours, 0.1, 0.0)
    optimiser.pace(0.01)
    adam = torch.optim.AdamW(theirs.parameters(), 0.01, BETAS, weight_decay=0.0, foreach=False)
    for _ in range(7):
        ids = torch.randint(0, min(size[0], 50), (4, 6))  # some of them twice
        aim = torch.randn(4, 6, size[1])
        for model in (ours, theirs):
            (model(ids) * aim).sum().backward()
        assert ours.weight.grad is not None
        assert theirs.weight.grad is not None
        assert ours.weight.grad.is_sparse
        torch.testing.assert_close(optimiser.step(), theirs.weight.grad.norm())
        adam.step()
        adam.zero_grad()
        torch.testing.assert_close(ours.weight, theirs.weight, rtol=1e-5, atol=1e-6)
    state = optimiser.state()
    for name in ("exp_avg", "exp_avg_sq"):
        torch.testing.assert_close(state[f"weight/{name}"], adam.state[theirs.weight][name], rtol=1e-4, atol=1e-7)


def test_a_table_that_is_read_and_multiplied_by() -> None:
    """As with tied weights: one gradient is of a few rows, the other of all."""
    torch.manual_seed(1)
    ours, theirs = nn.Embedding(20, 6), nn.Embedding(20, 6)
    theirs.load_state_dict(ours.state_dict())
    optimiser = Optimiser(ours, 0.1, 0.5)
    optimiser.pace(0.01)
    adam = torch.optim.AdamW(theirs.parameters(), 0.01, BETAS, weight_decay=0.0, foreach=False)
    for _ in range(5):
        ids, x = torch.randint(0, 9, (8,)), torch.randn(3, 6)
        for model in (ours, theirs):
            (model(ids).square().sum() + (x @ model.weight.T).tanh().sum()).backward()
        nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        optimiser.step()
        adam.step()
        adam.zero_grad()
        torch.testing.assert_close(ours.weight, theirs.weight, rtol=1e-5, atol=1e-6)


def test_two_tables_that_share_a_gradient() -> None:
    """As words and places do, when they are added."""
    torch.manual_seed(1)
    ours, theirs = (nn.ModuleList([nn.Embedding(9, 6), nn.Embedding(5, 6)]) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    optimiser = Optimiser(ours, 0.1, 0.0)
    optimiser.pace(0.01)
    adam = torch.optim.AdamW(theirs.parameters(), 0.01, BETAS, weight_decay=0.0, foreach=False)
    for _ in range(3):
        words, places, aim = torch.tensor([1, 7, 1, 7, 2]), torch.tensor([0, 1, 1, 3, 0]), torch.randn(5, 6)
        for words_of, places_of in (ours, theirs):
            ((words_of(words) + places_of(places)) * aim).sum().backward()
        optimiser.step()
        adam.step()
        adam.zero_grad()
        for own, their in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(own, their, rtol=1e-5, atol=1e-6)


def test_what_comes_out_does_not_depend_on_the_threads() -> None:
    """To the bit."""
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            model = nn.Linear(700, 300)
            optimiser = Optimiser(model, 0.1, 1.0)
            optimiser.pace(0.01)
            for _ in range(3):
                for weight in model.parameters():
                    weight.grad = torch.randn_like(weight)
                optimiser.step()
            found.append(model.weight.detach().clone())
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(found[0], other) for other in found[1:])
