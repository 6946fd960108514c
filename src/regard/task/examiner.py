"""Examiner: how good a model is on its dev part, while it is trained and at its end.

It measures the weights as they stand; whether these are averages is for the run to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import torch

from regard.config import Search
from regard.source.batch import BOS, EOS, Pairs
from regard.source.table import References
from regard.task.bundle import Bundle
from regard.task.measure import Measured, counted, evaluate
from regard.task.translation import Translation, Wish
from regard.task.translator import Translator, batches
from regard.trace.alignment import clarity, sharpness

DECODED: Final = 500  # sentences that are translated while a run goes on
TRACED: Final = 100  # sentences whose attention is looked at
CELLS: Final = 4000  # symbols that are measured at once
QUICK: Final = Wish(Search(beam=1), room=1.5)  # an untrained model does not know when to end


@final
class Examiner:
    def __init__(self, made: Bundle, dev: Sequence[References]) -> None:
        self._translator = Translator(made)
        self._dev = list(dev)

    def measure(self) -> Mapping[str, float]:
        """Greedy BLEU and chrF, the loss of the references, how undecided the attention is; `score` chooses.

        The mean of BLEU and chrF is steadier than either: on small data, BLEU alone is nothing for a long time.
        """
        if not self._dev:
            return {}
        some = self._dev[:: -(-len(self._dev) // DECODED)]  # spread over a table that may be sorted
        outputs = self._translate(some, QUICK)
        bleu, chrf = counted([Measured(each, one.text) for each, one in zip(some, outputs, strict=True)])
        scores = {"bleu": bleu.score, "chrf": chrf.score, "loss": self._loss(some)}
        heads = self._heads(outputs[:TRACED])
        if heads:
            scores["entropy"] = min(entropy for entropy, _ in heads.values())
        return scores | {"score": (bleu.score + chrf.score) / 2}

    def figures(self) -> dict[str, Any]:
        """For the card: searched for as the recipe says, on the whole dev part."""
        if not self._dev:
            return {}
        search = self._translator.wish.search
        outputs = self._translate(self._dev, self._translator.wish)
        found = evaluate([Measured(each, one.text) for each, one in zip(self._dev, outputs, strict=True)])
        return {"beam": search.beam, **found.as_dict()}

    def choice(self) -> dict[str, Any] | None:
        """The reader and head whose rows tell most apart, over many sentences: what word links are read from."""
        outputs = self._translate(self._dev[:: -(-len(self._dev) // TRACED) or 1], QUICK)
        heads = self._heads(outputs)
        if not heads:
            return None
        (reader, head), (_, clear) = max(heads.items(), key=lambda item: item[1][1])
        return {"reader": reader, "head": head, "clarity": round(clear, 4)}

    def _translate(self, some: Sequence[References], wish: Wish) -> list[Translation]:
        return self._translator.translate([each.source for each in some], wish)

    @torch.no_grad()
    def _loss(self, some: Sequence[References]) -> float:
        """The mean surprise of a reference's symbol, in nats."""
        model, made = self._translator.model, self._translator.bundle
        cleaned = [tuple(map(self._translator.cleaner.text, (each.source, each.targets[0]))) for each in some]
        sources = made.source.encode_all([source for source, _ in cleaned])
        targets = made.target.encode_all([target for _, target in cleaned])
        # as in training, where longer ones are no pairs either
        short = [row for row in zip(sources, targets, strict=True) if max(map(len, row)) <= made.recipe.data.longest]
        total, count = 0.0, 0
        for together in batches([max(map(len, row)) + 1 for row in short], CELLS):
            part = [short[at] for at in together]
            pairs = Pairs.of([[*row, EOS] for row, _ in part], [[BOS, *row, EOS] for _, row in part])
            loss = model.loss(pairs.to(self._translator.device)).parts["loss"]
            total, count = total + float(loss) * pairs.tokens, count + pairs.tokens
        return total / max(count, 1)

    def _heads(self, outputs: Sequence[Translation]) -> dict[tuple[str, int], tuple[float, float]]:
        """Of every head that reads the source: its entropy and how much its rows tell apart, means over sentences."""
        found: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
        plain = [(each.source, each.ids) for each in outputs if each.translator is not None]
        for trace in self._translator.traces(plain):
            for reading in trace.of():
                for head, weights in enumerate(reading.weights):
                    found[reading.reader, head].append((sharpness(weights), clarity(weights)))
        return {
            key: (sum(one for one, _ in each) / len(each), sum(other for _, other in each) / len(each))
            for key, each in found.items()
        }
