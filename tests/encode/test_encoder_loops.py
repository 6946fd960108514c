"""Both directions compiled come as near to float64 as torch's narrow products, in the memory and every gradient."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from regard.encode import RecurrentEncoder, loops
from regard.layer import compiled
from regard.layer.embedding import Embedding
from regard.source.batch import Padded

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="no gcc, or no AVX-512 BF16")

WIDTH, SLOTS = 96, 7
Cell = Literal["gru", "lstm"]


def run(
    cell: Cell, layers: int, reverse: bool, dtype: torch.dtype, rows: int = 53, threads: int = 1
) -> dict[str, Tensor]:
    torch.manual_seed(1)
    made = RecurrentEncoder(Embedding(11, 32), cell, WIDTH, layers, reverse=reverse).to(dtype)
    torch.set_num_threads(threads)
    mask = torch.arange(SLOTS) < (torch.arange(rows) % (SLOTS + 1)).unsqueeze(-1)  # some rows are empty, some full
    memory = made(Padded(torch.randint(0, 11, (rows, SLOTS)), mask))
    assert memory.summary is not None
    aims = [torch.randn(part.shape, dtype=torch.float64) for part in (memory.values, memory.summary)]
    loss = (memory.values.double() * aims[0]).sum() + (memory.summary.double() * aims[1]).sum()
    torch.autograd.backward(loss)
    grads = {name: weight.grad for name, weight in made.named_parameters() if weight.grad is not None}
    assert len(grads) == len(list(made.parameters()))
    return {"values": memory.values.detach(), "summary": memory.summary.detach(), **grads}


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize(("layers", "reverse"), [(1, False), (2, True)])
def test_it_is_as_near_as_torch(cell: Cell, layers: int, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    called, both = [], loops.both

    def counted(*parts: Any) -> Tensor:
        called.append(parts)
        return both(*parts)

    monkeypatch.setattr(loops, "both", counted)
    with torch.autocast("cpu", torch.bfloat16):
        ours = run(cell, layers, reverse, torch.float32)
        assert len(called) == layers
        monkeypatch.setattr(compiled, "library", lambda: None)
        theirs = run(cell, layers, reverse, torch.float32)
    exact = run(cell, layers, reverse, torch.float64)
    assert len(called) == layers
    assert ours.keys() == theirs.keys() == exact.keys()
    for name, wanted in exact.items():
        far, near = (float((each[name].double() - wanted).norm() / wanted.norm()) for each in (ours, theirs))
        assert far <= max(1.5 * near, 2**-8), name


def test_what_comes_out_does_not_depend_on_the_threads() -> None:
    """To the bit."""
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(1)  # what the weights begin with depends on it
            with torch.autocast("cpu", torch.bfloat16):
                found.append(run("lstm", 1, False, torch.float32, threads=threads))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for name, gradient in found[0].items():
            assert torch.equal(gradient, other[name]), name
