"""The kernels' likelihood is torch's, and so is its gradient, over more symbols than are at hand at once.

Without a GPU they run as Python, one program after another.
"""

from __future__ import annotations

import os

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
pytest.importorskip("triton")

from regard.layer.fused import likelihood

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("wide", [16, 64])
def test_it_is_torchs(dtype: torch.dtype, smoothing: float, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "WIDE", wide)
    torch.manual_seed(1)
    scores = (6 * torch.randn(7, 37, device=DEVICE)).to(dtype).requires_grad_()
    gold = torch.randint(0, 37, (7,), device=DEVICE)
    aim = torch.randn(7, device=DEVICE)
    found = likelihood.Surprise.apply(scores, gold, smoothing)  # type: ignore[no-untyped-call]
    wide_scores = scores.detach().float().requires_grad_()
    wanted = cross_entropy(wide_scores, gold, reduction="none", label_smoothing=smoothing)
    assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    (one,) = torch.autograd.grad((found * aim).sum(), scores)
    (other,) = torch.autograd.grad((wanted * aim).sum(), wide_scores)
    assert one.dtype == dtype
    relative, absolute = (1e-5, 1e-6) if dtype == torch.float32 else (1e-2, 1e-3)
    assert_close(one.float(), other, rtol=relative, atol=absolute)
