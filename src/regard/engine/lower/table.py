"""The table: which rule belongs to which of torch's operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from regard.engine.lower.core import Rule
from regard.engine.lower.layer import LAYER
from regard.engine.lower.number import NUMBER
from regard.engine.lower.shape import SHAPE

RULES: Final[Mapping[str, Rule]] = {**NUMBER, **SHAPE, **LAYER}
