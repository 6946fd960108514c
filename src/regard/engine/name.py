"""Names: of the files that graphs are in and of the weights they share, for those who write and those who read."""

from __future__ import annotations

from typing import Final

SCALE: Final = ".scale"  # in the file of weights: the name of a matrix's scales, after its own
VERSION: Final = 1
ENCODE, STEP, NOTE = "encode.onnx", "step.onnx", "graphs.json"
