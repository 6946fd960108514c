"""Compiles what the decoders launch for a Hopper GPU that need not be there, and prints a line for each kernel.

Called by test_kernels_compile.py in a process of its own, as a process that interprets kernels cannot compile them.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from regard.attention import Attention
from regard.attention.score import Additive, General
from regard.decode import BahdanauDecoder, LuongDecoder
from regard.layer import fused
from regard.layer.embedding import Embedding
from regard.layer.fused import tile
from regard.layer.fused.scan import scans
from regard.layer.recurrent import Cell, Stack
from regard.memory import Memory

POINTERS = {torch.bfloat16: "*bf16", torch.float32: "*fp32", torch.uint8: "*u8"}
HOPPER = GPUTarget("cuda", 90, 32)
WIDTH, ROWS, SLOTS, STEPS = 64, 48, 28, 2
done: set[Any] = set()


def compiled(
    self: Any, *given: Any, grid: Any, warmup: bool, num_warps: int = 4, num_stages: int = 3, **_: Any
) -> None:
    """In the place of a launch."""
    signature: dict[str, str] = {}
    constants: dict[tuple[int], Any] = {}
    aligned: dict[tuple[int], Any] = {}
    for number, (parameter, value) in enumerate(zip(self.params, given, strict=True)):
        if parameter.is_constexpr:
            signature[parameter.name], constants[number,] = "constexpr", value
        elif isinstance(value, torch.Tensor):
            signature[parameter.name], aligned[number,] = POINTERS[value.dtype], [["tt.divisibility", 16]]
        else:
            signature[parameter.name] = "fp32" if isinstance(value, float) else "i32"
    key = self.fn.__name__, *signature.values(), *constants.values()
    if key in done:
        return
    done.add(key)
    source = ASTSource(self, signature, constants, aligned)
    made = triton.compile(source, target=HOPPER, options={"num_warps": num_warps, "num_stages": num_stages})
    print(self.fn.__name__, made.metadata.shared, len(made.asm["cubin"]), flush=True)


def decode(kind: str, cell: Cell, layers: int, drop: float, *, narrow: bool) -> None:
    stack = Stack(cell, WIDTH, WIDTH, layers, fed=WIDTH, drop=drop)
    embedding = Embedding(9, WIDTH)
    made: BahdanauDecoder | LuongDecoder
    if kind == "bahdanau":
        attention = Attention(Additive(WIDTH, WIDTH, WIDTH), drop=drop)
        made = BahdanauDecoder(embedding, attention, stack, WIDTH, WIDTH)
    else:
        made = LuongDecoder(embedding, Attention(General(WIDTH, WIDTH)), stack, WIDTH, WIDTH, WIDTH)
    values = torch.zeros(ROWS, SLOTS, WIDTH)
    memory = Memory(values, values, torch.ones(ROWS, SLOTS, dtype=torch.bool), torch.zeros(ROWS, WIDTH))
    with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
        features = made(torch.zeros(ROWS, STEPS, dtype=torch.long), memory).features
    torch.autograd.backward(features.float().sum())


def scan() -> None:
    gates = torch.zeros(ROWS, STEPS, 4 * WIDTH, requires_grad=True)
    own, bias = torch.zeros(4 * WIDTH, WIDTH), torch.zeros(4 * WIDTH)
    one, _ = scans([gates, gates], [own, own], [bias, bias], torch.bfloat16)
    torch.autograd.backward(one.float().sum())


def main() -> None:
    JITFunction.run = compiled
    fused.ready = lambda device: True
    decode("bahdanau", "lstm", 1, 0.0, narrow=True)
    decode("luong", "gru", 2, 0.3, narrow=True)
    decode("bahdanau", "gru", 2, 0.3, narrow=False)
    scan()
    tile.EARLY = True  # type: ignore[misc]
    decode("luong", "lstm", 1, 0.0, narrow=True)


if __name__ == "__main__":
    main()
