r"""Hard: $s_t \sim \mathrm{Categorical}(\mathrm{softmax}(e_t))$, one-hot; the argmax in evaluation (Xu 2015, 4.1).

The sample has no gradient; its log-probability is handed on for REINFORCE, with the entropy for a bonus.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor
from typing_extensions import override

from regard.attention.align.core import Align, Choice, masked_softmax
from regard.memory import Past


@final
class Hard(Align):
    @override
    def forward(self, energy: Tensor, mask: Tensor, past: Past) -> Choice:
        soft = masked_softmax(energy, mask)
        # an empty row has nothing to choose: it is sampled from anything, then zeroed
        some = soft.sum(-1, keepdim=True) > 0
        odds = soft.detach().masked_fill(~some, 1.0).flatten(0, -2)
        slot = torch.multinomial(odds, 1) if self.training else odds.argmax(-1, keepdim=True)
        slot = slot.view(*soft.shape[:-1], 1)
        weights = torch.zeros_like(soft).scatter(-1, slot, 1.0) * some
        log = soft.clamp(min=torch.finfo(soft.dtype).tiny).log()
        log_prob = (log.gather(-1, slot) * some).squeeze(-1)
        return Choice(weights, log_prob, -(soft * log).sum(-1))
