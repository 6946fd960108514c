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
        odds = soft.detach()
        if self.training:  # the first of races at these rates to end; unlike torch.multinomial it never asks the device
            odds = odds / torch.empty_like(odds).exponential_()
        slot = odds.argmax(-1, keepdim=True)
        some = soft.detach().sum(-1, keepdim=True) > 0  # an empty row has nothing to choose
        weights = torch.zeros_like(soft).scatter(-1, slot, 1.0) * some
        log = soft.clamp(min=torch.finfo(soft.dtype).tiny).log()
        log_prob = (log.gather(-1, slot) * some).squeeze(-1)
        return Choice(weights, log_prob, -(soft * log).sum(-1))
