"""Law 5: alone == batched == reordered. A sentence's translation does not depend on its neighbours."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.config import Search
from regard.task import translator
from regard.task.translation import Wish
from regard.task.translator import Translator

EXAMPLES = Path(__file__).parents[2] / "examples"


def sentences() -> list[str]:
    text = "".join((EXAMPLES / name).read_text(encoding="utf-8") for name in ("dev.tsv", "pairs.tsv"))
    every = list(dict.fromkeys(line.split("\t")[0] for line in text.splitlines()))
    chosen = random.Random(1).sample(every, 180)
    return [*chosen, *(" ".join(chosen[at : at + 3]) for at in range(0, 60, 3))]  # and some longer ones


def outputs(model: Translator, texts: list[str], wish: Wish) -> dict[str, Any]:
    found = model.translate(texts, wish)
    assert [each.source for each in found] == texts
    return {each.source: [one.ids for one in (each, *each.alternatives)] for each in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wish"),
    [
        ("bahdanau", Wish(Search(beam=1))),
        ("bahdanau", Wish(Search(beam=5))),
        ("bahdanau", Wish(Search(beam=5, coverage=0.2), best=2)),
        ("transformer", Wish(Search(beam=1))),
        ("transformer", Wish(Search(beam=5))),
        ("words", Wish(Search(beam=5), room=0.5)),
    ],
)
def test_alone_batched_and_reordered_are_the_same(
    name: str, wish: Wish, known: Callable[[str], Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, texts = known(name), sentences()
    together = outputs(model, texts, wish)
    shuffled = random.Random(2).sample(texts, len(texts))
    assert outputs(model, shuffled, wish) == together
    some = {"bahdanau": texts, "transformer": texts[::4], "words": texts[::8]}[name]
    alone = {text: outputs(model, [text], wish)[text] for text in some}
    assert alone == {text: together[text] for text in some}
    for cells in (150, 700):  # batches of a few, and of some dozens
        monkeypatch.setattr(translator, "CELLS", cells)
        assert outputs(model, some, wish) == alone
    many = [texts[at : at + 7] for at in range(0, len(texts), 7)]
    monkeypatch.undo()
    assert {text: found for part in many for text, found in outputs(model, part, wish).items()} == together


def test_traces_do_not_depend_on_neighbours(known: Callable[[str], Translator]) -> None:
    for name in ("bahdanau", "transformer"):
        model = known(name)
        found = model.translate(sentences()[:40], Wish(Search(beam=1)))
        together = model.traces([(each.source, each.ids) for each in found])
        for each, among in zip(found, together, strict=True):
            assert each.trace.source == among.source
            assert each.trace.target == among.target
            for one, other in zip(each.trace.readings, among.readings, strict=True):
                assert (one.reader, one.memory, one.asks) == (other.reader, other.memory, other.asks)
                assert (one.weights - other.weights).abs().max() < 1e-5
