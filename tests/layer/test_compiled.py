"""The compiled loops give what torch's operators give, as near as its narrow products come."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from regard.layer import compiled
from regard.layer.product import MANY, linear
from regard.layer.scan import scan

able = pytest.mark.skipif(compiled.library() is None, reason="no gcc, or no AVX-512 BF16")
Run = Callable[[torch.dtype], list[Tensor]]


@pytest.fixture
def by_torch(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(compiled, "library", lambda: None)


def near(run: Run, by_torch: Callable[[], None]) -> None:
    """Is the compiled way as near to float64 as torch's products of bfloat16, in everything that `run` returns?"""
    with torch.autocast("cpu", torch.bfloat16):
        ours = run(torch.float32)
        by_torch()
        theirs = run(torch.float32)
    for own, their, exact in zip(ours, theirs, run(torch.float64), strict=True):
        assert own.dtype == their.dtype or {own.dtype, their.dtype} == {torch.float32, torch.bfloat16}
        assert distance(own, exact) <= max(1.2 * distance(their, exact), 2**-8)
    assert not all(torch.equal(own.double(), their.double()) for own, their in zip(ours, theirs, strict=True))


def distance(x: Tensor, exact: Tensor) -> float:
    assert exact.norm() > 0
    return float((x.double() - exact).norm() / exact.norm())


def gradients(found: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    torch.manual_seed(7)
    aim = torch.randn(found.shape, dtype=torch.float64).to(found.dtype)
    return [found.detach(), *torch.autograd.grad((found * aim).sum(), leaves)]


@able
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
@pytest.mark.parametrize(("rows", "width"), [(3, 16), (61, 48)])
def test_scan(kind: type[nn.GRU | nn.LSTM], rows: int, width: int, by_torch: Callable[[], None]) -> None:
    def run(dtype: torch.dtype) -> list[Tensor]:
        torch.manual_seed(1)
        _, weight, _, bias = kind(8, width).to(dtype).parameters()
        gates = torch.randn(rows, 7, len(weight)).to(dtype).requires_grad_()
        first = [torch.randn(rows, width).to(dtype).requires_grad_() for _ in range(1 + (kind is nn.LSTM))]
        states = scan(gates, weight, bias, first[0], first[1] if first[1:] else None)
        return gradients(states, [gates, weight, bias, *first])

    near(run, by_torch)


@able
@pytest.mark.parametrize(("inputs", "outputs"), [(32, 80), (48, 35), (16, 16)])
@pytest.mark.parametrize("biased", [True, False])
def test_linear(inputs: int, outputs: int, biased: bool, by_torch: Callable[[], None]) -> None:
    def run(dtype: torch.dtype) -> list[Tensor]:
        torch.manual_seed(1)
        x = torch.randn(3, MANY, inputs).to(dtype)[:, 1:].requires_grad_()
        weight, bias = torch.randn(outputs, inputs).to(dtype), torch.randn(outputs).to(dtype)
        leaves = [x, weight.requires_grad_(), *([bias.requires_grad_()] if biased else [])]
        return gradients(linear(x, weight, bias if biased else None), leaves)

    near(run, by_torch)


@able
def test_few_rows_and_odd_widths_are_torchs() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        for rows, inputs in ((MANY - 1, 16), (MANY, 17)):
            x, weight = torch.randn(rows, inputs), torch.randn(5, inputs)
            assert torch.equal(linear(x, weight, None), nn.functional.linear(x, weight))


@able
def test_what_comes_out_does_not_depend_on_the_threads() -> None:
    """To the bit."""
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            read, own, read_bias, own_bias = weights = list(nn.GRU(32, 32).parameters())
            x = torch.randn(53, 9, 32, requires_grad=True)
            with torch.autocast("cpu", torch.bfloat16):
                states = scan(linear(x, read, read_bias), own, own_bias, torch.zeros(53, 32), None)
            found.append(gradients(states, [x, *weights]))
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        assert all(map(torch.equal, found[0], others))


def test_it_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_COMPILE", "0")
    assert compiled.library.__wrapped__() is None


@pytest.mark.parametrize("trouble", ["no compiler", "a broken one", "no place"])
def test_without_a_compiler_there_is_none(trouble: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "gcc"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    place = tmp_path / "cache"
    if trouble == "no place":
        place.write_text("a file", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    monkeypatch.setattr("shutil.which", lambda _: None if trouble == "no compiler" else str(broken))
    assert compiled.library.__wrapped__() is None


@able
def test_it_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled.library.__wrapped__() is not None
    (made,) = (tmp_path / "regard").iterdir()

    def refuse(*_: object, **__: object) -> None:
        raise subprocess.SubprocessError

    monkeypatch.setattr(subprocess, "run", refuse)
    assert compiled.library.__wrapped__() is not None
    assert list((tmp_path / "regard").iterdir()) == [made]
