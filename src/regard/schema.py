"""Schema: what a recipe may hold: type hints say what a key is, defaults what it holds when nobody says.

It does not know files. `config` reads a TOML table into these classes, and names what does not fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias, final


@final
@dataclass(frozen=True, slots=True)
class Within:
    """The range of a number. `below`: the upper end itself is outside."""

    low: int | float
    high: int | float = math.inf
    below: bool = False

    def holds(self, value: int | float) -> bool:
        return self.low <= value < math.inf and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{self.low:g} or more"
        return f"from {self.low:g} up to {'but not ' if self.below else ''}{self.high:g}"


WIDEST = 200  # beam: what is wider than that takes minutes a sentence and finds nothing more
Size: TypeAlias = Annotated[int, Within(1)]
Count: TypeAlias = Annotated[int, Within(0)]
Amount: TypeAlias = Annotated[float, Within(0)]
Share: TypeAlias = Annotated[float, Within(0, 1)]
Dropout: TypeAlias = Annotated[float, Within(0, 1, below=True)]


@final
@dataclass(frozen=True, slots=True)
class Penalties:
    """Weights of the attention regularisers; 0 turns one off."""

    coverage: Amount = 0.0  # Xu 2015, eq. 14: every slot is to be read about once
    entropy: float = 0.0  # above 0 sharpens, below 0 blurs
    squared: Amount = 0.0  # Σ a², above 0 blurs


@final
@dataclass(frozen=True, slots=True)
class RecurrentModel:
    """Everything a recurrent recipe may choose; `kind` names the composition in model/."""

    kind: Literal["seq2seq", "bahdanau", "luong", "tutorial-gru"]
    cell: Literal["gru", "lstm"] = "gru"
    embedding: Size = 256
    width: Size = 256
    encoder_layers: Size = 1
    decoder_layers: Size = 1
    bidirectional: bool = True
    score: Literal["dot", "scaled_dot", "general", "additive", "concat", "location", "location_aware"] = "additive"
    scope: Literal["everywhere", "local_m", "local_p"] = "everywhere"
    align: Literal["soft", "hard", "monotonic"] = "soft"
    reach: Size = 5  # D of the local scopes
    longest: Size = 100  # slots that the location score can tell apart
    heads: Size = 1
    input_feeding: bool = True
    reverse_source: bool = False
    tied: bool = False  # target embedding = output weights
    shared: bool = False  # source embedding = target embedding; needs data.shared_vocabulary
    dropout_embedding: Dropout = 0.0
    dropout_state: Dropout = 0.0
    dropout_output: Dropout = 0.0
    dropout_weights: Dropout = 0.0
    dropout_word: Dropout = 0.0  # whole words of either side


@final
@dataclass(frozen=True, slots=True)
class TransformerModel:
    """Vaswani 2017, pre-norm."""

    kind: Literal["transformer"]
    width: Size = 256
    heads: Size = 4
    inner: Size = 1024
    encoder_layers: Size = 3
    decoder_layers: Size = 3
    positions: Literal["sinusoidal", "rotary"] = "sinusoidal"
    tied: bool = True
    shared: bool = False
    dropout: Dropout = 0.1
    dropout_weights: Dropout = 0.0
    dropout_word: Dropout = 0.0


FAMILIES = (RecurrentModel, TransformerModel)


@final
@dataclass(frozen=True, slots=True)
class Vocabulary:
    kind: Literal["bpe", "unigram", "word", "char"] = "bpe"
    size: Size = 4000
    dropout: Dropout = 0.0  # BPE-dropout, in training only


@final
@dataclass(frozen=True, slots=True)
class Data:
    source: Vocabulary = field(default_factory=Vocabulary)
    target: Vocabulary = field(default_factory=Vocabulary)
    shared_vocabulary: bool = False
    clean: tuple[str, ...] = ("nfc", "space", "control", "width", "quotes", "joiners")
    longest: Size = 200  # tokens a side
    ratio: Annotated[float, Within(1)] = 9.0  # between the two sides, in characters, for lines of some length
    distinct: bool = True  # a pair that stands twice is read once
    languages: tuple[str, ...] = ()  # the codes of both sides, such as "en" and "mr", for those who show or serve it


@final
@dataclass(frozen=True, slots=True)
class Train:
    """Times end a run at whichever comes first; 0 means no such limit."""

    minutes: Amount = 0.0
    epochs: Amount = 0.0
    updates: Count = 0
    batch_tokens: Size = 2000
    rate: Amount = 1e-3
    warmup: Dropout = 0.05  # share of the budget
    schedule: Literal["cosine", "linear", "inverse_sqrt", "constant"] = "cosine"
    weight_decay: Amount = 0.01
    clip: Amount = 1.0
    label_smoothing: Dropout = 0.1
    sampling: Share = 0.0  # scheduled sampling: the share of own predictions fed at the end of the run
    average: Literal["ema", "last", "none"] = "ema"
    average_decay: Dropout = 0.999
    average_last: Size = 5
    patience: Count = 0  # dev scores without a better one; 0: never stop early
    checkpoint_updates: Size = 500
    keep: Size = 2
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    replay: Literal["auto", "never"] = "auto"  # whole updates as CUDA graphs
    penalties: Penalties = field(default_factory=Penalties)
    reinforce_entropy: Amount = 0.01  # hard attention: bonus for undecided weights
    seed: Annotated[int, Within(0, 2**63 - 1)] = 1
    dev_pairs: Size = 1000


@final
@dataclass(frozen=True, slots=True)
class Search:
    beam: Annotated[int, Within(1, WIDEST)] = 5
    length: Amount = 1.0  # exponent of the length normalisation
    coverage: Amount = 0.0  # weight of the coverage penalty (Wu 2016, eq. 14)
    no_repeat: Count = 0  # n-grams of this size stand at most once
    no_loops: bool = True  # a phrase that goes round and round is stopped
    replace_unknown: bool = True


@final
@dataclass(frozen=True, slots=True)
class Recipe:
    model: RecurrentModel | TransformerModel
    name: str = ""
    about: str = ""
    licence: str = ""  # of a bundle made by it, with the attribution that the data ask for
    attribution: str = ""
    task: Literal["translation"] = "translation"
    data: Data = field(default_factory=Data)
    train: Train = field(default_factory=Train)
    search: Search = field(default_factory=Search)
