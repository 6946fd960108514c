"""How do energies become weights? One file an alignment."""

from regard.attention.align.core import Align as Align
from regard.attention.align.core import Choice as Choice
from regard.attention.align.hard import Hard as Hard
from regard.attention.align.monotonic import Monotonic as Monotonic
from regard.attention.align.soft import Soft as Soft
