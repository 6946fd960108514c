"""seq2seq: the source is one vector, no attention (Sutskever 2014). See regard.decode.plain for the equation."""

from __future__ import annotations

from regard.config import RecurrentModel
from regard.decode import PlainDecoder
from regard.model import recurrent
from regard.model.core import Model, Objective


def seq2seq(config: RecurrentModel, source: int, target: int, objective: Objective) -> Model:
    of_source, of_target = recurrent.embeddings(config, source, target)
    encoder = recurrent.encoder(config, of_source)
    decoder = PlainDecoder(of_target, recurrent.stack(config), encoder.summary)
    return Model(encoder, decoder, recurrent.output(config, decoder.width, target, of_target), objective)
