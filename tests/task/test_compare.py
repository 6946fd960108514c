"""Comparing: sacreBLEU's own test of two systems, and an answer to where they differ."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from sacrebleu import BLEU, CHRF
from sacrebleu.significance import PairedTest

from regard.fault import Fault
from regard.source.table import References
from regard.task.compare import compare
from regard.task.measure import Measured, evaluate

WORDS = "तो ती मी आम्ही घरी शाळेत जातो गेलो नाही आहे. का? आज उद्या पुस्तक वाचतो पाणी पितो".split()  # noqa: SIM905


def outputs(spoilt: float, size: int = 120, seed: int = 0) -> list[Measured]:
    """The same sentences for every `spoilt`: that share of an output's words is wrong."""
    random, noise, found = Random(7), Random(seed), []
    for at in range(size):
        targets = [" ".join(random.choices(WORDS, k=random.randint(3, 12))) for _ in range(1 + at % 3)]
        references = References("w " * random.randint(1, 25), tuple(targets), f"dev.tsv:{at + 1}")
        words = [noise.choice(WORDS) if noise.random() < spoilt else word for word in targets[0].split()]
        found.append(Measured(references, " ".join(words)))
    return found


@pytest.mark.parametrize("other", [0.2, 0.38, 0.4, 0.6])
def test_it_is_sacrebleus_paired_bootstrap(other: float) -> None:
    a, b = outputs(0.4, seed=1), outputs(other, seed=2)
    found = compare(a, b)
    most = max(len(each.references.targets) for each in a)
    padded = [[*each.references.targets, None, None][:most] for each in a]
    systems = [("a", [each.output for each in a]), ("b", [each.output for each in b])]
    references = list(zip(*padded, strict=True))
    _, scores = PairedTest(systems, {"BLEU": BLEU(), "chrF": CHRF()}, references, "bs")()  # type: ignore[arg-type]
    sacrebleus: dict[str, Any] = scores
    for versus, (one, two) in ((found.bleu, sacrebleus["BLEU"]), (found.chrf, sacrebleus["chrF2"])):
        assert (versus.a, versus.b) == (one.score, two.score)
        assert versus.p == two.p_value


def test_the_same_twice_does_not_differ() -> None:
    found = compare(outputs(0.3), outputs(0.3))
    for versus in (found.bleu, found.chrf):
        assert (versus.difference, versus.p, versus.b_ahead) == (0, 1, 0.5)
        assert (versus.interval.low, versus.interval.high) == (0, 0)
    assert (found.a_better, found.b_better, found.a_best, found.b_best) == (0, 0, (), ())


def test_clearly_better_is_told_either_way_round() -> None:
    good, bad = outputs(0.1), outputs(0.5)
    found, turned = compare(bad, good), compare(good, bad)
    assert found.bleu.difference > 0
    assert found.bleu.p < 0.05
    assert found.bleu.interval.low > 0
    assert found.bleu.b_ahead == 1
    assert (turned.bleu.difference, turned.bleu.p) == (-found.bleu.difference, found.bleu.p)
    assert (turned.a_better, turned.b_better) == (found.b_better, found.a_better)
    assert turned.bleu.b_ahead == 0


def test_alike_is_not_told_apart() -> None:
    a, other = outputs(0.4, seed=1), outputs(0.4, seed=5)
    b = [two if at % 2 else one for at, (one, two) in enumerate(zip(a, other, strict=True))]
    found = compare(a, b)
    assert found.chrf.p > 0.05
    assert found.chrf.interval.low < 0 < found.chrf.interval.high


def test_by_length_is_each_models_own() -> None:
    a, b = outputs(0.2), outputs(0.5)
    found = compare(a, b)
    one, two = evaluate(a), evaluate(b)
    assert found.signature == one.signature
    assert [(each.words, each.sentences, each.a_bleu, each.a_chrf) for each in found.by_length] == [
        (each.words, each.sentences, each.bleu, each.chrf) for each in one.by_length
    ]
    assert [(each.b_bleu, each.b_chrf) for each in found.by_length] == [
        (each.bleu, each.chrf) for each in two.by_length
    ]


def test_the_sentences_that_differ_most_with_the_translation_they_are_near() -> None:
    references = References("Where do you live?", ("तू कुठे राहतोस?", "तुम्ही कुठे राहता?"), "dev.tsv:1")
    same = References("Go.", ("जा.",), "dev.tsv:2")
    a = [Measured(references, "तुम्ही कुठे राहता?"), Measured(same, "जा.")]
    b = [Measured(references, "पाणी"), Measured(same, "जा.")]
    found = compare(a, b, ("mine", "runs/\x1bother"))
    [best] = found.a_best
    assert (best.source, best.a, best.b) == ("Where do you live?", "तुम्ही कुठे राहता?", "पाणी")
    assert best.reference == "तुम्ही कुठे राहता?"
    assert best.a_chrf == 100
    assert found.b_best == ()
    assert (found.a_better, found.b_better) == (1, 0)
    shown = "\n".join(found.lines())
    assert "where A is better by most" in shown
    assert "where B" not in shown
    assert "\x1b" not in shown
    assert "A 100.00   तुम्ही कुठे राहता?" in shown


def test_for_programs_and_the_same_each_time() -> None:
    found = compare(outputs(0.2), outputs(0.4))
    record = json.loads(json.dumps(found.as_dict(), ensure_ascii=False))
    assert record["bleu"]["interval"].keys() == {"low", "high"}
    assert len(record["a_best"]) == 3
    assert record == json.loads(json.dumps(compare(outputs(0.2), outputs(0.4)).as_dict(), ensure_ascii=False))


def test_other_sentences_cannot_be_compared() -> None:
    with pytest.raises(Fault, match="same sentences"):
        compare(outputs(0.2, 5), outputs(0.2, 6))
    with pytest.raises(Fault, match="no sentences"):
        compare([], [])
