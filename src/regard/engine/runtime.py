"""Runtime: two graphs in ONNX Runtime, with the weights of a bundle, each weight in memory once.

One thread runs one batch; who has several batches runs them in several threads. It does not know texts or searches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from regard.engine.name import NOTE, VERSION
from regard.engine.weights import Arrays, asked
from regard.fault import Fault

QUIET: Final = 3  # errors alone


@final
@dataclass(frozen=True, slots=True)
class Reader:
    """An attention: its name, what it reads, and the output that holds its weights."""

    name: str
    memory: str
    output: str


@final
class Graph:
    """One graph, ready to run."""

    def __init__(self, content: bytes, about: Mapping[str, Any], kept: Arrays, where: str) -> None:
        self.outputs: Final = tuple(map(str, about["outputs"]))
        self.readers: Final = tuple(Reader(each["reader"], each["memory"], each["output"]) for each in about["readers"])
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # hardly two batches have the same sizes
        options.log_severity_level = QUIET
        held = asked(about["weights"], kept, where)
        self._held = [ort.OrtValue.ortvalue_from_numpy(each) for each in held.values()]  # read where they lie
        options.add_external_initializers([*held], self._held)
        try:
            self.session: Final = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # of many types, none of them its own
            reason = str(error).strip().partition("\n")[0]
            raise Fault(f"{where}: ONNX Runtime cannot run this graph ({reason})") from None


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A part of a decoder's state. One that encoding does not begin is an empty array of that shape before the first
    step, -1 for the rows.
    """

    name: str
    begun: bool
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def empty(self, rows: int) -> NDArray[Any]:
        return np.zeros([rows if size < 0 else size for size in self.shape], dtype=self.dtype)


@final
@dataclass(frozen=True, slots=True)
class Runtime:
    encode: Graph
    step: Graph
    memory: tuple[str, ...]
    state: tuple[Part, ...]


def loaded(note: bytes, graphs: Sequence[bytes], kept: Arrays, where: str) -> Runtime:
    """From the bytes of the note, of the two graphs, and the arrays of the file of weights."""
    try:
        about = json.loads(note)
        version = about["version"]
    except (ValueError, KeyError, TypeError):
        raise Fault(f"{where}/{NOTE}: is no note on graphs") from None
    if version != VERSION:
        raise Fault(f"{where}/{NOTE}: is of version {version!r}, and this version of regard reads {VERSION}")
    with ThreadPoolExecutor(2) as pool:  # most of the time to the first sentence
        encode, step = pool.map(
            lambda name, content: Graph(content, about[name], kept, where), ("encode", "step"), graphs
        )
    return Runtime(
        encode,
        step,
        tuple(about["memory"]),
        tuple(
            Part(each["name"], each["begun"], np.dtype(each["type"]), tuple(each["shape"] or ()))
            for each in about["state"]
        ),
    )
