"""transformer: self-attention on both sides, nothing recurrent (Vaswani 2017). See regard.decode.transformer."""

from __future__ import annotations

from regard.config import TransformerModel
from regard.decode import TransformerDecoder
from regard.encode import TransformerEncoder
from regard.layer.embedding import Embedding
from regard.layer.output import Output
from regard.model.core import Model, Objective


def transformer(config: TransformerModel, source: int, target: int, objective: Objective) -> Model:
    def table(size: int) -> Embedding:
        return Embedding(size, config.width, drop_word=config.dropout_word, scale=config.width**0.5)

    of_source = table(source)
    of_target = of_source if config.shared else table(target)
    encoder = TransformerEncoder(
        of_source,
        config.encoder_layers,
        config.heads,
        config.inner,
        positions=config.positions,
        drop=config.dropout,
        drop_weights=config.dropout_weights,
    )
    decoder = TransformerDecoder(
        of_target,
        config.decoder_layers,
        config.heads,
        config.inner,
        encoder.width,
        rotary=config.positions == "rotary",
        drop=config.dropout,
        drop_weights=config.dropout_weights,
    )
    return Model(encoder, decoder, Output(config.width, target, tied=of_target if config.tied else None), objective)
