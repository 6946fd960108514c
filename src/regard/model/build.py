"""Build: a recipe's [model] → a Model. A new composition is one file here and one line below."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from regard.config import RecurrentModel, Train, TransformerModel
from regard.model.bahdanau import bahdanau
from regard.model.core import Model, Objective
from regard.model.luong import luong
from regard.model.seq2seq import seq2seq
from regard.model.transformer import transformer

RECURRENT: Mapping[str, Callable[[RecurrentModel, int, int, Objective], Model]] = {
    "seq2seq": seq2seq,
    "bahdanau": bahdanau,
    "luong": luong,
    "tutorial-gru": bahdanau,
}


def build(config: RecurrentModel | TransformerModel, source: int, target: int, train: Train | None = None) -> Model:
    """`source` and `target` are the sizes of the two vocabularies."""
    if isinstance(config, TransformerModel):
        return transformer(config, source, target, objective(train))
    return RECURRENT[config.kind](config, source, target, objective(train))


def objective(train: Train | None) -> Objective:
    if train is None:
        return Objective()
    penalties = train.penalties
    return Objective(
        label_smoothing=train.label_smoothing,
        sampling=train.sampling,
        penalties={"coverage": penalties.coverage, "entropy": penalties.entropy, "squared": penalties.squared},
        reinforce_entropy=train.reinforce_entropy,
    )
