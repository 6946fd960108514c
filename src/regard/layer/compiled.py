"""Compiled: the loops of layer/c, made by the machine's own compiler when somebody first trains; None where it cannot.

They are for processors that multiply bfloat16 (AVX-512 BF16), and need gcc. Without either, or with REGARD_COMPILE=0,
the same functions are made of torch's operators; nothing but the speed tells. It knows pointers, not what they hold.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

SOURCES = Path(__file__).parent / "c"
NEEDED = ("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16")
FLAGS = ("-O2", "-shared", "-fPIC", "-fopenmp", "-mfma", *(f"-m{name.replace('_', '')}" for name in NEEDED))
SECONDS = 120  # that the compiler may take
LANES = 16  # every width has to be a multiple of it

Given: TypeAlias = "Tensor | int | float | ctypes.Array[Any] | None"


@cache
def library() -> ctypes.CDLL | None:
    """The loops, compiled once for each state of their source and kept with the user's caches."""
    compiler = shutil.which("gcc")
    if os.environ.get("REGARD_COMPILE") == "0" or compiler is None or not _able():
        return None
    sources = sorted(SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + " ".join(FLAGS).encode()).hexdigest()
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard" / f"loops-{digest[:16]}.so"
    try:
        if not cached.is_file():
            _compile(compiler, [path for path in sources if path.suffix == ".c"], cached)
        return ctypes.CDLL(str(cached))
    except (OSError, subprocess.SubprocessError):  # no place to write, no linker: then without
        return None


def applies(products: torch.dtype, wide: torch.dtype) -> bool:
    """Whether the loops are there, and compute as is asked."""
    return products == torch.bfloat16 and wide == torch.float32 and library() is not None


def fits(*tensors: Tensor) -> bool:
    """Whether the loops know them: on a processor, with a last axis that fills its vectors."""
    return all(each.device.type == "cpu" and each.shape[-1] % LANES == 0 for each in tensors)


def call(name: str, *parts: Given) -> None:
    """A loop by its name; of a tensor it gets the place, and `None` is no place. The threads come first."""
    loaded = library()
    assert loaded is not None
    getattr(loaded, name)(torch.get_num_threads(), *map(_given, parts))


def packed(matrix: Tensor, *, turned: bool) -> Tensor:
    """A matrix as the products want it, for `x @ matrix` or, turned, for `x @ matrix.T`; rows filled up by zeros."""
    matrix = matrix.detach().contiguous()
    rows, columns = matrix.shape
    into = torch.empty(-(-rows // LANES) * LANES * columns, dtype=torch.bfloat16)
    if turned:
        call("pack_turned", columns, rows, matrix, into)
    else:
        call("pack", rows, columns, matrix, into)
    return into


def summed(
    out: Float[Tensor, "row step out"], into: Float[Tensor, "row step in"]
) -> tuple[Float[Tensor, "out in"], Float[Tensor, " out"]]:
    """What the gradients of a layer's outputs make of its matrix and of its bias, over all steps at once."""
    outs, ins = (part.to(torch.bfloat16).flatten(0, -2).contiguous() for part in (out, into))
    weight, bias = torch.empty(outs.shape[1], ins.shape[1]), torch.empty(outs.shape[1])
    call("linear_back", len(outs), ins.shape[1], outs.shape[1], ins, outs, weight, bias)
    return weight, bias


def places(tensors: Sequence[Tensor | None]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(tensors))(*(None if each is None else each.data_ptr() for each in tensors))


def _given(part: Given) -> object:
    if isinstance(part, ctypes.Array):
        return part
    if isinstance(part, Tensor):
        assert part.is_contiguous()
        return ctypes.c_void_p(part.data_ptr())
    if isinstance(part, float):
        return ctypes.c_float(part)
    return ctypes.c_void_p() if part is None else ctypes.c_int(part)


def _able() -> bool:
    known = Path("/proc/cpuinfo")
    return known.is_file() and set(known.read_text(encoding="utf-8", errors="replace").split()).issuperset(NEEDED)


def _compile(compiler: str, sources: list[Path], into: Path) -> None:
    """Two runs at once may both compile; the last one's stays, and they are the same."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        made = Path(folder) / into.name
        command = [compiler, *FLAGS, "-o", str(made), *map(str, sources), "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        made.replace(into)
