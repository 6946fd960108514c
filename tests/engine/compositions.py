"""The compositions of tests/model are those of the engine too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))

from small import CHOICES, make, name

__all__ = ["CHOICES", "make", "name"]
