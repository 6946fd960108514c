"""Copy and reverse: the smallest tasks that cannot be done without looking, and the smallest loop that learns them.

It is no part of Regard: `regard.train` trains, and is tested elsewhere. Here only the models are on trial.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal, final

import torch

from regard.attention import record
from regard.config import RecurrentModel, Train, TransformerModel
from regard.model import Model, Steps, build
from regard.search.beam import greedy
from regard.source.batch import BOS, EOS, UNK, Pairs

Task = Literal["copy", "reverse"]
SYMBOLS = 12  # the four special ones among them


@final
@dataclass(frozen=True, slots=True)
class Echo:
    """Random words of `shortest` to `longest` symbols, to be said again or backwards."""

    task: Task
    shortest: int = 3
    longest: int = 8

    def draw(self, count: int, seed: int) -> tuple[list[list[int]], list[list[int]]]:
        chance = random.Random(seed)
        lengths = [chance.randint(self.shortest, self.longest) for _ in range(count)]
        sources = [[chance.randrange(UNK + 1, SYMBOLS) for _ in range(length)] for length in lengths]
        return sources, [ids if self.task == "copy" else ids[::-1] for ids in sources]

    def pairs(self, count: int, seed: int) -> Pairs:
        sources, targets = self.draw(count, seed)
        return Pairs.of([[*ids, EOS] for ids in sources], [[BOS, *ids, EOS] for ids in targets])


def make(choice: dict[str, Any]) -> Model:
    """Everything small; no dropout and no smoothing, as nothing here can be learned by heart."""
    torch.manual_seed(1)
    settings = Train(label_smoothing=0.0)
    if choice["kind"] == "transformer":
        sizes: dict[str, Any] = {"width": 64, "heads": 4, "inner": 128, "encoder_layers": 2, "decoder_layers": 2}
        return build(TransformerModel(**(sizes | {"dropout": 0.0} | choice)), SYMBOLS, SYMBOLS, settings)
    return build(RecurrentModel(**({"embedding": 32, "width": 64} | choice)), SYMBOLS, SYMBOLS, settings)


def learn(model: Model, echo: Echo, updates: int, *, rate: float = 5e-3, batch: int = 64) -> Model:
    """AdamW down a straight line of rates, after a short warm-up."""
    optimiser = torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.98), weight_decay=0.0)
    torch.manual_seed(1)
    model.train()
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = rate * min((update + 1) / 50, 1 - update / updates)
        loss = model.loss(echo.pairs(batch, update), update / updates)
        optimiser.zero_grad()
        torch.autograd.backward(loss.total)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        model.observe(loss)
    return model.eval()


@torch.no_grad()
def right(model: Model, echo: Echo, count: int = 500) -> float:
    """The share of sentences never seen that come out without one wrong symbol."""
    sources, targets = echo.draw(count, seed=-1)
    pairs, steps = echo.pairs(count, seed=-1), Steps([model])
    found = greedy(steps, steps.start(pairs.source), torch.full((count,), echo.longest + 2))
    return sum(list(one.ids) == want for one, want in zip(found, targets, strict=True)) / len(sources)


@torch.no_grad()
def looked(model: Model, echo: Echo, count: int = 200) -> float:
    """How often the most watched slot is that of the symbol being said, by the head that does so most."""
    pairs = echo.pairs(count, seed=-1)
    with record(model.decoder) as calls:
        model.decoder(pairs.target.ids[:, :-1], model.encode(pairs.source))
    seen = [call for call in calls if call.memory == "source"]
    said = torch.arange(pairs.target.ids.shape[1] - 1)
    length = pairs.source.mask.sum(-1, keepdim=True) - 1  # without EOS
    want = said.expand(count, -1) if echo.task == "copy" else length - 1 - said
    best = 0.0
    for reader in dict.fromkeys(call.reader for call in seen):
        weights = torch.cat([call.weights for call in seen if call.reader == reader], 2)
        hits = (weights.argmax(-1) == want.unsqueeze(1)).transpose(0, 1)[:, said < length]
        best = max(best, float(hits.float().mean(-1).max()))
    return best
