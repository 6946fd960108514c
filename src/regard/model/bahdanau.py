"""bahdanau: a bidirectional encoder, attention before each step (Bahdanau 2015). See regard.decode.bahdanau.

As tutorial-gru it is what the tutorials build: no deep output.
"""

from __future__ import annotations

from regard.config import RecurrentModel
from regard.decode import BahdanauDecoder
from regard.model import recurrent
from regard.model.core import Model, Objective


def bahdanau(config: RecurrentModel, source: int, target: int, objective: Objective) -> Model:
    of_source, of_target = recurrent.embeddings(config, source, target)
    encoder = recurrent.encoder(config, of_source)
    attention = recurrent.attention(config, config.width, encoder.width)
    decoder = BahdanauDecoder(
        of_target,
        attention,
        config.cell,
        config.width,
        config.decoder_layers,
        config.width if config.heads > 1 else encoder.width,
        encoder.summary,
        recurrent.features(config) if config.kind == "bahdanau" else None,
        drop=config.dropout_state,
    )
    return Model(encoder, decoder, recurrent.output(config, decoder.width, target, of_target), objective)
