"""Lower: torch's operations → ONNX nodes, a rule an operation. One file a kind of operation."""

from regard.engine.lower.core import Lowering as Lowering
from regard.engine.lower.core import Operand as Operand
from regard.engine.lower.table import RULES as RULES
