"""What `import regard` offers."""

from __future__ import annotations

from pathlib import Path

from regard.task import bundle
from regard.task.engine import Name
from regard.task.translator import Translator


def load(name: str | Path = bundle.DEFAULT, engine: Name = "auto") -> Translator:
    """A translator from the path of a bundle, or from the name of one that ships with the package.

    `engine` is torch or onnx; auto is onnx where ONNX Runtime is there and the bundle has graphs.
    """
    return Translator(bundle.opened(name), engine=engine)
