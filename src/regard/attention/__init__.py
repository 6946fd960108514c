"""Attention: score × scope × align × heads. It does not know tasks, search or text."""

from regard.attention.core import Attended as Attended
from regard.attention.core import Attention as Attention
from regard.attention.core import Listener as Listener
from regard.attention.heads import MultiHead as MultiHead
from regard.attention.record import Call as Call
from regard.attention.record import record as record
