"""Recipe: a TOML file that is one real run, read into frozen dataclasses.

A key nobody knows is an error that names its nearest neighbour. Modules never see these classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True)
class Penalties:
    """Weights of the attention regularisers; 0 turns one off."""

    coverage: float = 0.0  # Xu 2015, eq. 14: every slot is to be read about once
    entropy: float = 0.0  # above 0 sharpens, below 0 blurs
    squared: float = 0.0  # Σ a², above 0 blurs


@final
@dataclass(frozen=True, slots=True)
class RecurrentModel:
    """Everything a recurrent recipe may choose; `kind` names the composition in model/."""

    kind: Literal["seq2seq", "bahdanau", "luong", "tutorial-gru"]
    cell: Literal["gru", "lstm"] = "gru"
    embedding: int = 256
    width: int = 256
    encoder_layers: int = 1
    decoder_layers: int = 1
    bidirectional: bool = True
    score: Literal["dot", "scaled_dot", "general", "additive", "concat", "location", "location_aware"] = "additive"
    scope: Literal["everywhere", "local_m", "local_p"] = "everywhere"
    align: Literal["soft", "hard", "monotonic"] = "soft"
    reach: int = 5  # D of the local scopes
    longest: int = 100  # slots that the location score can tell apart
    heads: int = 1
    input_feeding: bool = True
    reverse_source: bool = False
    tied: bool = False  # target embedding = output weights
    shared: bool = False  # source embedding = target embedding; needs data.shared_vocabulary
    dropout_embedding: float = 0.0
    dropout_state: float = 0.0
    dropout_output: float = 0.0
    dropout_weights: float = 0.0
    dropout_word: float = 0.0  # whole words of either side


@final
@dataclass(frozen=True, slots=True)
class TransformerModel:
    """Vaswani 2017, pre-norm."""

    kind: Literal["transformer"]
    width: int = 256
    heads: int = 4
    inner: int = 1024
    encoder_layers: int = 3
    decoder_layers: int = 3
    positions: Literal["sinusoidal", "rotary"] = "sinusoidal"
    tied: bool = True
    shared: bool = False
    dropout: float = 0.1
    dropout_weights: float = 0.0
    dropout_word: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Vocabulary:
    kind: Literal["bpe", "unigram", "word", "char"] = "bpe"
    size: int = 4000
    dropout: float = 0.0  # BPE-dropout, in training only


@final
@dataclass(frozen=True, slots=True)
class Data:
    source: Vocabulary = field(default_factory=Vocabulary)
    target: Vocabulary = field(default_factory=Vocabulary)
    shared_vocabulary: bool = False
    clean: tuple[str, ...] = ("nfc", "space", "control", "width", "quotes", "joiners")
    longest: int = 200  # tokens a side
    ratio: float = 9.0  # between the lengths of the two sides, in characters, for lines of some length
    distinct: bool = True  # a pair that stands twice is read once


@final
@dataclass(frozen=True, slots=True)
class Train:
    """Times end a run at whichever comes first; 0 means no such limit."""

    minutes: float = 0.0
    epochs: float = 0.0
    updates: int = 0
    batch_tokens: int = 2000
    rate: float = 1e-3
    warmup: float = 0.05  # share of the budget
    schedule: Literal["cosine", "linear", "inverse_sqrt", "constant"] = "cosine"
    weight_decay: float = 0.01
    clip: float = 1.0
    label_smoothing: float = 0.1
    sampling: float = 0.0  # scheduled sampling: the share of own predictions fed at the end of the run
    average: Literal["ema", "last", "none"] = "ema"
    average_decay: float = 0.999
    average_last: int = 5
    patience: int = 0  # dev scores without a better one; 0: never stop early
    checkpoint_updates: int = 500
    keep: int = 2
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    penalties: Penalties = field(default_factory=Penalties)
    reinforce_entropy: float = 0.01  # hard attention: bonus for undecided weights
    seed: int = 1
    dev_pairs: int = 1000


@final
@dataclass(frozen=True, slots=True)
class Search:
    beam: int = 5
    length: float = 1.0  # exponent of the length normalisation
    coverage: float = 0.0  # weight of the coverage penalty (Wu 2016, eq. 14)
    no_repeat: int = 0  # n-grams of this size stand at most once
    replace_unknown: bool = True


@final
@dataclass(frozen=True, slots=True)
class Recipe:
    model: RecurrentModel | TransformerModel
    name: str = ""
    about: str = ""
    task: Literal["translation"] = "translation"
    data: Data = field(default_factory=Data)
    train: Train = field(default_factory=Train)
    search: Search = field(default_factory=Search)
