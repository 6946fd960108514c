r"""Model: encoder → memory → decoder → symbols, and a batch's loss: $-\log p(y \mid x)$ and what a recipe adds to it.

It does not know tasks, text or how long it will be trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Call, penalty, record
from regard.decode import Decoded, Decoder, Stepped
from regard.encode import Encoder
from regard.layer.output import Output
from regard.memory import Memory
from regard.model.likelihood import surprise
from regard.source.batch import Padded, Pairs


@final
@dataclass(frozen=True, slots=True)
class Objective:
    """What is added to, or changed in, the log-likelihood."""

    label_smoothing: float = 0.0
    sampling: float = 0.0  # share of the model's own words fed at the end of training; it grows linearly
    penalties: Mapping[str, float] = field(default_factory=dict)  # coverage, entropy, squared → weight
    reinforce_entropy: float = 0.01
    baseline_decay: float = 0.99


@final
@dataclass(frozen=True, slots=True)
class Loss:
    """`total` is what to descend, a mean per symbol; `parts` are for people to watch."""

    total: Float[Tensor, ""]
    parts: Mapping[str, Tensor]
    reward: Float[Tensor, ""] | None = None  # mean log-probability of a symbol, for the moving baseline


@final
class Model(nn.Module):
    def __init__(
        self, encoder: Encoder, decoder: Decoder[Any], output: Output, objective: Objective | None = None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.objective = objective or Objective()
        self.register_buffer("baseline", torch.zeros(()))
        self.baseline: Tensor

    @property
    def steady(self) -> bool:
        """The loss of a batch is the same at any progress."""
        return self.objective.sampling == 0

    def encode(self, source: Padded) -> Memory:
        return self.encoder(source)

    def scores(self, pairs: Pairs) -> Float[Tensor, "row step symbol"]:
        """The log-probabilities of every symbol at every step, given the target so far."""
        decoded = self.decoder(pairs.target.ids[:, :-1], self.encode(pairs.source))
        return torch.log_softmax(self.output(decoded.features).float(), -1)

    def loss(self, pairs: Pairs, progress: float = 1.0) -> Loss:
        """`progress` through the training, from 0 to 1, sets the share of scheduled sampling."""
        watched = {name: weight for name, weight in self.objective.penalties.items() if weight}
        with ExitStack() as stack:
            calls = stack.enter_context(record(self)) if watched else []
            memory = self.encode(pairs.source)
            decoded = self._decode(pairs.target, memory, self.objective.sampling * progress)
        logits = self.output(decoded.features)
        gold = pairs.target.ids[:, 1:]
        steps = pairs.target.mask[:, 1:]
        smoothing = self.objective.label_smoothing if self.training else 0.0
        # counted on the device, not taken from `pairs.tokens`: a graph replays it for batches of other counts
        total = (surprise(logits, gold, smoothing) * steps).sum() / steps.sum()
        parts = {"loss": total.detach()}
        for name, weight in watched.items():
            term = _penalty(name, calls, steps, memory.mask)
            parts[name] = term.detach()
            total = total + weight * term
        if decoded.log_prob is None or not self.training:
            return Loss(total, parts)
        own, reward = self._reinforce(decoded, logits, gold, steps)
        return Loss(total + own, parts | {"reward": reward}, reward)

    def observe(self, loss: Loss) -> None:
        """After an update: the moving-average baseline of REINFORCE follows the reward (Xu 2015, 4.1)."""
        if loss.reward is not None:
            self.baseline.lerp_(loss.reward.detach().to(self.baseline), 1 - self.objective.baseline_decay)

    def _decode(self, target: Padded, memory: Memory, sampling: float) -> Decoded:
        tokens = target.ids[:, :-1]
        if not (self.training and sampling):
            return self.decoder(tokens, memory)
        state = self.decoder.start(memory)
        steps: list[Stepped[Any]] = []
        word = tokens[:, 0]
        for position in range(tokens.shape[1]):
            stepped = self.decoder.step(word, state)
            state = stepped.state
            steps.append(stepped)
            if position + 1 < tokens.shape[1]:
                own = self.output(stepped.features.unsqueeze(1)).squeeze(1).argmax(-1)
                coin = torch.rand(own.shape, device=own.device) < sampling
                word = torch.where(coin, own, tokens[:, position + 1])
        return Decoded.of(steps)

    def _reinforce(
        self, decoded: Decoded, logits: Tensor, gold: Tensor, steps: Bool[Tensor, "row step"]
    ) -> tuple[Tensor, Tensor]:
        r"""$-(r_t - b)\,\log p(s_t) - \lambda H_t$, with $r_t$ the mean log-probability of the words from t on."""
        assert decoded.log_prob is not None
        assert decoded.entropy is not None
        count = steps.sum()
        with torch.no_grad():
            each = -surprise(logits, gold) * steps
            left = steps.flip(1).cumsum(1).flip(1).clamp(min=1)
            to_come = each.flip(1).cumsum(1).flip(1) / left
        gain = (to_come - self.baseline) * steps
        own = -(gain * decoded.log_prob).sum() - self.objective.reinforce_entropy * (decoded.entropy * steps).sum()
        return own / count, each.sum() / count


def _penalty(name: str, calls: list[Call], steps: Bool[Tensor, "row step"], slots: Bool[Tensor, "row slot"]) -> Tensor:
    """One term over every attention that read the source, each joined over its steps."""
    by_reader: dict[str, list[Tensor]] = {}
    for call in calls:
        if call.memory == "source":
            by_reader.setdefault(call.reader, []).append(call.weights)
    if not by_reader:
        return torch.zeros((), device=steps.device)
    weights = torch.cat([torch.cat(parts, 2) for parts in by_reader.values()], 1)
    return PENALTIES[name](weights.float(), steps, slots)


PENALTIES = {"coverage": penalty.coverage, "entropy": penalty.entropy, "squared": penalty.squared}
