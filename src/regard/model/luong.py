"""luong: attention after each step, h̃, input feeding if asked for (Luong 2015). See regard.decode.luong."""

from __future__ import annotations

from regard.config import RecurrentModel
from regard.decode import LuongDecoder
from regard.model import recurrent
from regard.model.core import Model, Objective


def luong(config: RecurrentModel, source: int, target: int, objective: Objective) -> Model:
    of_source, of_target = recurrent.embeddings(config, source, target)
    encoder = recurrent.encoder(config, of_source)
    attention = recurrent.attention(config, config.width, encoder.width)
    features = recurrent.features(config)
    stack = recurrent.stack(config, fed=features if config.input_feeding else 0)
    context = recurrent.context(config, encoder.width)
    decoder = LuongDecoder(of_target, attention, stack, encoder.summary, context, features)
    return Model(encoder, decoder, recurrent.output(config, decoder.width, target, of_target), objective)
