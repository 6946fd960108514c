"""What `import regard` offers."""

from __future__ import annotations

from pathlib import Path

from regard.task import bundle
from regard.task.translator import Translator


def load(name: str | Path = bundle.DEFAULT) -> Translator:
    """A translator from the path of a bundle, or from the name of one that ships with the package."""
    return Translator(bundle.load(name))
