"""Measuring: the numbers are sacreBLEU's, with every translation counted, and the same each time."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.fault import Fault
from regard.search.live import Live
from regard.search.rule import NoLoop
from regard.source.table import Pair, References, group
from regard.task.measure import RESAMPLES, SEED, Evaluation, Interval, Measured, by_length, counted, evaluate, looped

MARATHI = "तो ती मी आम्ही घरी शाळेत जातो गेलो नाही आहे. का? आज उद्या पुस्तक वाचतो पाणी पितो".split()  # noqa: SIM905
ENGLISH = "the a we they go see home school water book".split()  # noqa: SIM905


def made(output: str, *targets: str, source: str = "a b c", place: str = "t:1") -> Measured:
    return Measured(References(source, targets or (output,), place), output)


def corpus(size: int, seed: int = 0, spoilt: float = 0.3) -> list[Measured]:
    """Sentences with one to four translations, and outputs that are one of them with some words changed."""
    random, found = Random(seed), []
    for at in range(size):
        source = " ".join(random.choices(ENGLISH, k=random.randint(1, 25)))
        targets = [" ".join(random.choices(MARATHI, k=random.randint(2, 14))) for _ in range(random.randint(1, 4))]
        right = random.choice(targets).split()
        words = [random.choice(MARATHI) if random.random() < spoilt else word for word in right]
        found.append(Measured(References(source, tuple(dict.fromkeys(targets)), f"dev.tsv:{at + 1}"), " ".join(words)))
    return found


def streams(items: list[Measured]) -> tuple[list[str], list[list[str | None]]]:
    most = max(len(item.references.targets) for item in items)
    targets = [[*item.references.targets, *[None] * most][:most] for item in items]
    return [item.output for item in items], [list(stream) for stream in zip(*targets, strict=True)]


def test_scores_and_signatures_are_sacrebleus() -> None:
    items = corpus(60)
    found, (outputs, references) = evaluate(items), streams(items)
    assert found.bleu == sacrebleu.corpus_bleu(outputs, references).score  # type: ignore[arg-type]
    assert found.chrf == sacrebleu.corpus_chrf(outputs, references).score  # type: ignore[arg-type]
    assert found.length_ratio == sacrebleu.corpus_bleu(outputs, references).ratio  # type: ignore[arg-type]
    assert found.signature == f"nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    assert found.chrf_signature == f"nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{sacrebleu.__version__}"
    assert "nrefs:1|" in evaluate([made("a", "b")]).signature
    assert "tok:char" in evaluate(items, "char").signature


def test_a_missing_reference_is_not_an_empty_one() -> None:
    # An empty reference would be the nearest in length to a short output, and lift its brevity penalty.
    short = made("तो घरी", "तो घरी जातो आहे.")
    full = made("मी पाणी पितो आज", "मी पाणी पितो आज", "मी आज पाणी पितो")
    alone = sacrebleu.corpus_bleu(["तो घरी", "मी पाणी पितो आज"], [["तो घरी जातो आहे.", "मी पाणी पितो आज"]])
    assert evaluate([short, full]).bleu == pytest.approx(alone.score, abs=1e-9)
    assert evaluate([short, full]).bleu < 75


def test_any_of_the_translations_is_right() -> None:
    pairs = [("Go.", "जा."), ("Come.", "ये."), ("Go.", "जा आता."), ("Come.", "या.")]
    items = group(Pair(source, target, f"t:{at}") for at, (source, target) in enumerate(pairs, 1))
    found = evaluate([Measured(each, output) for each, output in zip(items, ("जा आता.", "यो."), strict=True)])
    assert (found.sentences, found.exact) == (2, 0.5)
    assert evaluate([Measured(items[0], "जा.")]).chrf == 100


def test_intervals_are_sacrebleus_hold_the_score_and_shrink() -> None:
    items, wide = corpus(400), []
    for size in (25, 100, 400):
        found = evaluate(items[:size])
        for score, interval in ((found.bleu, found.bleu_interval), (found.chrf, found.chrf_interval)):
            assert interval.low < score < interval.high
        wide.append(found.bleu_interval.high - found.bleu_interval.low)
        outputs, references = streams(items[:size])
        theirs: Any = sacrebleu.BLEU().corpus_score(outputs, references, n_bootstrap=RESAMPLES)  # type: ignore[arg-type]
        assert wide[-1] / 2 == pytest.approx(theirs._ci, abs=1e-6)
    assert all(after < before for before, after in pairwise(wide))


def test_the_same_each_time() -> None:
    assert evaluate(corpus(30)) == evaluate(corpus(30))
    assert evaluate(corpus(30)) != evaluate(corpus(30, seed=1))


def test_a_resample_is_the_score_of_the_sentences_drawn() -> None:
    items = corpus(20)
    drawn = np.random.default_rng(SEED).choice(len(items), len(items))
    for metric, again in zip(counted(items), counted([items[at] for at in drawn]), strict=True):
        assert metric.resampled[0] == again.score
        assert len(metric.resampled) == RESAMPLES


def test_by_length_is_the_score_of_those_sentences() -> None:
    items = corpus(80)
    found = evaluate(items)
    assert [each.words for each in found.by_length] == ["1-5", "6-10", "11-15", "16-20", "21+"]
    assert sum(each.sentences for each in found.by_length) == len(items)
    for each, (_, at) in zip(found.by_length, by_length(items), strict=True):
        alone = evaluate([items[number] for number in at])
        assert (each.sentences, each.bleu, each.chrf) == (alone.sentences, alone.bleu, alone.chrf)


def test_each_length_has_one_range() -> None:
    for words, name in ((0, "1-5"), (1, "1-5"), (5, "1-5"), (6, "6-10"), (20, "16-20"), (21, "21+"), (900, "21+")):
        assert by_length([made("x", source="w " * words)]) == [(name, [0])]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", False),
        ("very very very good", False),
        ("no no no no no", False),
        ("no no no no no no", True),
        ("I see it and I see it", False),
        ("he said I see I see I see it", True),
        ("तो घरी तो घरी तो घरी", True),
        ("a b c d a b c d a b c d", True),
        ("a b c d a b c d a b c", False),
        (" ".join("abcdefghijkl" * 3), True),
        (" ".join("abcdefghijklm" * 3), False),
    ],
)
def test_loops(text: str, wanted: bool) -> None:
    assert looped(text.split()) is wanted


@given(some.lists(some.integers(4, 6), max_size=14))
@settings(deadline=None, max_examples=50)
def test_loops_are_what_the_search_forbids(ids: list[int]) -> None:
    stopped = False
    for at, symbol in enumerate(ids):
        start = Live.start(1)
        live = replace(start, ids=torch.tensor(ids[:at], dtype=torch.long)[None], log_probs=torch.zeros(1, at))
        stopped |= bool(NoLoop().apply(torch.zeros(1, 7), live)[0, symbol] == -torch.inf)
    assert looped([str(each) for each in ids]) is stopped


def test_loops_are_counted_and_the_first_are_named() -> None:
    items = [made("x y " * (at % 2 * 3 + 1), "x", place=f"dev.tsv:{at}") for at in range(20)]
    found = evaluate(items)
    assert found.loops == 10
    assert found.loops_first == ("dev.tsv:1", "dev.tsv:3", "dev.tsv:5", "dev.tsv:7", "dev.tsv:9")


def test_poor_outputs_are_measured_too() -> None:
    nothing = evaluate([made("", "तो घरी जातो."), made("", "a b", "c")])
    assert (nothing.bleu, nothing.chrf, nothing.exact, nothing.length_ratio) == (0, 0, 0, 0)
    assert nothing.bleu_interval == Interval(0.0, 0.0)
    one = evaluate([made("मी आज घरी जातो.")])
    assert one.bleu == pytest.approx(100)
    assert (one.chrf, one.exact) == (100, 1)
    assert one.bleu_interval == Interval(one.bleu, one.bleu)
    assert evaluate([made("a", "")]).bleu == 0
    with pytest.raises(Fault, match="no sentences"):
        evaluate([])
    with pytest.raises(Fault, match="13a, intl"):
        evaluate([made("a")], "14a")


def test_for_programs_and_for_people() -> None:
    items = [*corpus(30), made("न " * 9, "नाही", place="dev.tsv:31")]
    found = evaluate(items)
    record = json.loads(json.dumps(found.as_dict()))
    assert record["bleu"] == found.bleu
    assert record["intervals"]["chrf"] == {"low": found.chrf_interval.low, "high": found.chrf_interval.high}
    assert {"bleu", "chrf", "signature", "chrf_signature", "exact", "loops", "by_length"} <= record.keys()
    assert record["by_length"][0].keys() == {"words", "sentences", "bleu", "chrf"}
    shown = found.lines()
    assert shown[0].startswith(f"BLEU     {found.bleu:6.2f}    95%: ")
    assert "loops         1    first: dev.tsv:31" in shown
    assert shown[-2] == f"BLEU   {found.signature}"
    table = [line for line in shown if line.startswith(("words", "1-5", "6-10", "11-15", "16-20", "21+"))]
    assert len(table) == 6
    assert len({len(line) for line in table}) == 1
    assert isinstance(found, Evaluation)
