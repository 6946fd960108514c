"""Shape: jaxtyping's names of arrays, where somebody checks them; else names that mean nothing and cost nothing.

For modules that run without torch: importing jaxtyping takes a tenth of the time in which they translate a sentence.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["Bool", "Float", "Int"]

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int
else:

    class Float:
        def __class_getitem__(cls, what: Any) -> Any:
            return Any

    Bool = Int = Float
