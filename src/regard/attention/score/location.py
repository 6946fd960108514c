r"""Location: $e_{ti} = (W q_t)_i$ (Luong 2015, eq. 8): the query alone says where to look; the keys are not read.

As in the paper, $W$ has a row for each of the first `longest` slots, and slots past them are never attended.
"""

from __future__ import annotations

from typing import final

from torch import Tensor, nn
from torch.nn.functional import pad
from typing_extensions import override

from regard.attention.score.core import Score
from regard.memory import Past


@final
class Location(Score):
    def __init__(self, query: int, longest: int) -> None:
        super().__init__()
        self.place = nn.Linear(query, longest, bias=False)

    @override
    def forward(self, query: Tensor, keys: Tensor, past: Past) -> Tensor:
        slots = keys.shape[-2]
        return pad(self.place(query), (0, slots), value=float("-inf"))[..., :slots]
