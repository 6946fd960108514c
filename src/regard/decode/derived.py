"""Derived: which attentions the derivatives by hand know: soft ones to everything, of whose weights nobody asks."""

from __future__ import annotations

from torch import nn

from regard.attention import Attention, MultiHead
from regard.attention.align import Soft
from regard.attention.scope import Everywhere


def derivable(attention: Attention | MultiHead, *scores: type[nn.Module]) -> bool:
    return (
        isinstance(attention, Attention)
        and isinstance(attention.score, scores)
        and isinstance(attention.scope, Everywhere)
        and isinstance(attention.align, Soft)
        and not attention.heard
    )


def dropping(attention: Attention | MultiHead) -> bool:
    """Whether weights are left out at random, which only some of the derivatives know."""
    return isinstance(attention, Attention) and attention.training and attention.drop > 0
