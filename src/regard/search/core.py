r"""The contract of a search: it grows ids symbol by symbol by $\log p(y) = \sum_t \log p(y_t \mid y_{<t})$.

A search sees a step function and a state it can reorder, nothing else. It does not know what a model is, what the state
holds (a memory, past attention, a language model) nor what the ids spell.

What is as large as the vocabulary stays where the model is: `Scores` are torch's on a device or numpy's. Everything
else is a few numbers a hypothesis, and numpy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, final, runtime_checkable

from regard.shape import Float, Int

Same = TypeVar("Same")

Scores: TypeAlias = Float[Any, "row symbol"]
"""Log-probabilities, of either kind."""
Rows: TypeAlias = Int[Any, " row"]
"""Tokens, or numbers of rows, of the kind that the search was given its limits in."""


@runtime_checkable
class State(Protocol):
    """Everything a decoder carries between two steps, a row for every hypothesis."""

    def rows(self: Same, index: Rows) -> Same:
        """The same state for the chosen rows; a row may be chosen twice, or not at all."""
        ...


S = TypeVar("S", bound=State)


@runtime_checkable
class Stepper(Protocol[S]):
    """What a search needs of a model."""

    def step(self, tokens: Rows, state: S) -> tuple[Scores, S]:
        """Reads one symbol (BOS at first) and gives the log-probabilities of the next one. Changes nothing in place."""
        ...

    def bonus(self, state: S) -> Float[Any, " row"] | None:
        """Added to the score of a hypothesis that is complete, e.g. a coverage penalty.

        Never above 0: the search stops as soon as nothing alive can win, and a bonus that lifts would prove it wrong.
        """
        ...


@final
@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output. `ids` has neither BOS nor EOS; `log_probs` has one number a symbol, the EOS of a finished one too."""

    ids: tuple[int, ...]
    score: float
    log_prob: float
    log_probs: tuple[float, ...]
    finished: bool
