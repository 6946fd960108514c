"""What the recurrent compositions share: embeddings, encoder, attention and output made from a recipe's choices."""

from __future__ import annotations

from regard.attention import Attention, MultiHead
from regard.attention.align import Align, Hard, Monotonic, Soft
from regard.attention.scope import Everywhere, LocalM, LocalP, Scope
from regard.attention.score import Additive, Concat, Dot, General, Location, LocationAware, ScaledDot, Score
from regard.config import RecurrentModel
from regard.encode import RecurrentEncoder
from regard.layer.embedding import Embedding
from regard.layer.output import Output
from regard.layer.recurrent import Stack


def embeddings(config: RecurrentModel, source: int, target: int) -> tuple[Embedding, Embedding]:
    """Of the source and of the target; one and the same where the recipe shares them."""

    def table(size: int) -> Embedding:
        return Embedding(size, config.embedding, drop=config.dropout_embedding, drop_word=config.dropout_word)

    of_source = table(source)
    return of_source, of_source if config.shared else table(target)


def encoder(config: RecurrentModel, embedding: Embedding) -> RecurrentEncoder:
    return RecurrentEncoder(
        embedding,
        config.cell,
        config.width,
        config.encoder_layers,
        bidirectional=config.bidirectional,
        reverse=config.reverse_source,
        drop=config.dropout_state,
    )


def stack(config: RecurrentModel, fed: int = 0) -> Stack:
    """The decoder's; `fed` numbers come back to it from the step before."""
    return Stack(config.cell, config.embedding, config.width, config.decoder_layers, fed=fed, drop=config.dropout_state)


def score(config: RecurrentModel, query: int, key: int) -> Score:  # noqa: PLR0911
    match config.score:
        case "dot":
            return Dot()
        case "scaled_dot":
            return ScaledDot()
        case "general":
            return General(query, key)
        case "additive":
            return Additive(query, key, query)
        case "concat":
            return Concat(query, key, query)
        case "location":
            return Location(query, config.longest)
        case "location_aware":
            return LocationAware(query, key, query)


def scope(config: RecurrentModel, query: int) -> Scope:
    match config.scope:
        case "everywhere":
            return Everywhere()
        case "local_m":
            return LocalM(config.reach)
        case "local_p":
            return LocalP(query, query, config.reach)


def align(config: RecurrentModel) -> Align:
    match config.align:
        case "soft":
            return Soft()
        case "hard":
            return Hard()
        case "monotonic":
            return Monotonic()


def attention(config: RecurrentModel, query: int, memory: int) -> Attention | MultiHead:
    """The recipe's score × scope × align, with heads around it when there are several."""
    if config.heads == 1:
        parts = score(config, query, memory), scope(config, query), align(config)
        return Attention(*parts, drop=config.dropout_weights)
    each = query // config.heads
    parts = score(config, each, each), scope(config, each), align(config)
    return MultiHead(Attention(*parts, drop=config.dropout_weights), config.heads, query, memory, query)


def context(config: RecurrentModel, memory: int) -> int:
    """How wide the context is: as the values are, or as the heads make it."""
    return config.width if config.heads > 1 else memory


def features(config: RecurrentModel) -> int:
    """How wide the last layer before the output is; tied weights make it the embedding's."""
    return config.embedding if config.tied else config.width


def output(config: RecurrentModel, width: int, size: int, embedding: Embedding) -> Output:
    return Output(width, size, tied=embedding if config.tied else None, drop=config.dropout_output)
