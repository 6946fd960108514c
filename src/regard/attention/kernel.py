"""Fused kernels: the same context without ever writing the weights down.

Which kernel runs is torch's choice (flash, memory-efficient, cuDNN, or a plain loop). Of an empty row most make 0, but
cuDNN the mean of what is masked, so it is zeroed here.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from regard.attention.scope import Window
from regard.memory import Bound


def product(
    query: Float[Tensor, "*batch query dim"], memory: Bound, window: Window, scale: float, drop: float
) -> Float[Tensor, "*batch query value"]:
    r"""$\mathrm{softmax}(s\, q k^\top) v$ over the window."""
    # a head axis is what the kernels expect; without it torch falls back to its slowest path
    bare = query.dim() == 3
    keys, values, mask = memory.keys, memory.values, window.mask
    if bare:
        query, keys, values, mask = (x.unsqueeze(1) for x in (query, keys, values, mask))
    context = scaled_dot_product_attention(query, keys, values, attn_mask=mask, dropout_p=drop, scale=scale)
    context = context.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return context.squeeze(1) if bare else context
