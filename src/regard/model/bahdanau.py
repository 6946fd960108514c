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
    stack = recurrent.stack(config, fed=recurrent.context(config, encoder.width))
    deep = recurrent.features(config) if config.kind == "bahdanau" else None
    decoder = BahdanauDecoder(of_target, attention, stack, encoder.summary, deep)
    return Model(encoder, decoder, recurrent.output(config, decoder.width, target, of_target), objective)
