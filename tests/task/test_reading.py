"""A trace is what a step-by-step decode looked at, under the labels of what was written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from untrained import KINDS, MARATHI, made

from regard.attention import record
from regard.config import Search
from regard.fault import Fault
from regard.source.batch import BOS, EOS, UNK, Padded
from regard.task import reading
from regard.task.reading import head, large, read, replacements
from regard.task.translation import Wish
from regard.task.translator import Translator
from regard.trace import fold
from regard.trace.core import Axis, Reading, Trace

Known = Callable[[str], Translator]
GREEDY = Wish(Search(beam=1))


@pytest.mark.parametrize("name", KINDS)
def test_a_replay_looks_where_the_steps_looked(name: str) -> None:
    """One sentence, one step after another, against the replay of a batch of several."""
    model = Translator(made(name), "cpu")
    texts = ["We live here.", "I have a dog. Who are you?", "Go."]
    rows = [(model.pieces(text), model.forced(target)) for text, target in zip(texts, MARATHI, strict=False)]
    for (source, ids), readings in zip(rows, read(model.model, rows), strict=True):
        stepped: dict[str, list[torch.Tensor]] = {}
        with torch.no_grad():
            memory = model.model.encode(Padded.of([[*source, EOS]]))
            state = model.model.decoder.start(memory)
            for token in (BOS, *ids):
                with record(model.model) as calls:
                    state = model.model.decoder.step(torch.tensor([token]), state).state
                for call in calls:
                    if call.memory == "source":
                        stepped.setdefault(reading._named(call.reader), []).append(call.weights[0])
        wanted = {name: torch.cat(parts, 1) for name, parts in stepped.items()}
        found = {each.reader: each.weights for each in readings if (each.memory, each.asks) == ("source", "target")}
        assert found.keys() == wanted.keys()
        for reader, weights in wanted.items():
            assert found[reader].shape == (weights.shape[0], len(ids) + 1, len(source) + 1)
            assert (found[reader] - weights).abs().max() < 1e-5
        assert bool(wanted) == (name != "seq2seq")


def test_every_layer_and_head_of_a_transformer_is_read(known: Known) -> None:
    found = known("transformer").translate("We live here.", GREEDY)
    sides = [(each.reader, each.memory, each.asks, len(each.weights)) for each in found.trace.readings]
    assert sides == [
        ("encoder.layers.0.itself", "source", "source", 4),
        ("decoder.layers.0.itself", "target", "target", 4),
        ("decoder.layers.0.source", "source", "target", 4),
        ("decoder.layers.1.itself", "target", "target", 4),
        ("decoder.layers.1.source", "source", "target", 4),
    ]
    own = found.trace.readings[1].weights
    assert (own.triu(1) == 0).all()
    for each in found.trace.readings:
        assert torch.allclose(each.weights.sum(-1), torch.ones(()), atol=1e-5)


@pytest.mark.parametrize("name", ["bahdanau", "words"])
def test_labels_are_what_stands_there(name: str, known: Known) -> None:
    model = known(name)
    for text in ("Who are you?", "  Who\u00a0\u00a0are “you”?\u200b ", "Who\tare\x01 y\u00adou?", "e\u0301tude"):
        found = model.given(text, "माझ्याकडे  कुत्रा आहे. ‘क्ष’")
        source, target = found.trace.source, found.trace.target
        assert (source.text, target.text) == (text, found.text)
        assert found.text == model.bundle.target.decode(found.ids)
        for axis in (source, target):
            assert axis.spans is not None
            assert axis.labels[-1] == "</s>"
            assert axis.spans[-1] == (len(axis.text), len(axis.text))
            for label, (start, end) in zip(axis.labels, axis.spans, strict=True):
                assert start == end or label == axis.text[start:end]
            starts = [start for start, _ in axis.spans]
            assert starts == sorted(starts)
            covered = {at for start, end in axis.spans for at in range(start, end)}
            left = "".join(letter for at, letter in enumerate(axis.text) if at not in covered)
            assert not left.strip(" \t\u00a0\u200b\x01\u00ad")
        assert len(target) == len(found.ids) + 1


def test_words_and_links_count_the_same_words(known: Known) -> None:
    for name in ("bahdanau", "transformer", "words"):
        found = known(name).given("  I have  a dog. ", "माझ्याकडे कुत्रा आहे.")
        assert found.words == (("I", "have", "a", "dog."), tuple(found.text.split()))
        assert [link.target for link in found.alignment] == list(range(len(found.text.split())))
        assert all(link.source is None or 0 <= link.source < 4 for link in found.alignment)
        assert found._repr_html_().count("<") > 10


def test_links_are_read_from_the_chosen_head(known: Known) -> None:
    model = known("transformer")
    found = model.given("We live here.", "आम्ही इथे राहतो.")
    folded = fold.words(found.trace)
    chosen = model.bundle.about["choice"]
    assert model.choice(folded) == (chosen["reader"], chosen["head"])
    heat = folded.heat(chosen["reader"], chosen["head"])
    for link in found.alignment:
        if link.source is not None:
            row = heat[link.target, : len(folded.source) - 1]
            assert int(row.argmax()) == link.source
            assert link.weight == pytest.approx(float(row.max()))


def test_a_model_without_attention_has_no_links(known: Known) -> None:
    assert not known("blind").looks
    assert known("bahdanau").looks
    assert known("blind").given("Go.", "जा.").alignment == ()


def test_a_choice_that_is_not_there_is_made_anew() -> None:
    sharp, flat = torch.eye(3)[None], torch.full((1, 3, 3), 1 / 3)
    axis = Axis(("a", "b", "c"))
    trace = Trace(axis, axis, (Reading("one", "source", flat), Reading("two", "source", torch.cat([flat, sharp]))))
    assert head(trace, {"reader": "one", "head": 0}) == ("one", 0)
    for stored in (
        None,
        {},
        {"reader": "gone", "head": 0},
        {"reader": "one", "head": 1},
        {"reader": "one", "head": "x"},
    ):
        assert head(trace, stored) == ("two", 1)
    assert head(Trace(axis, axis, ()), {"reader": "one", "head": 0}) == (None, None)


def test_an_unknown_word_is_replaced_without_the_signs_around_it() -> None:
    text = "So, “Mary-Ann”!"
    source = Axis(
        ("So", ",", "“", "Mary-Ann", "”", "!", "</s>"),
        ((0, 2), (2, 3), (4, 5), (5, 13), (13, 14), (14, 15), (15, 15)),
        text,
    )
    target = Axis(("x", "y", "z", "</s>"), ((0, 1), (1, 2), (2, 3), (3, 3)), "xyz")
    weights = torch.zeros(1, 4, 7)
    weights[0, 0, 1], weights[0, 1, 6], weights[0, 2, 5], weights[0, 3, 6] = 1, 1, 1, 1
    trace = Trace(source, target, (Reading("decoder.attention", "source", weights),))
    assert replacements(trace, (UNK, 9, UNK), ("decoder.attention", 0)) == ["So", "", "Mary-Ann"]


def test_what_is_too_large_is_not_replayed(known: Known) -> None:
    assert large(range(2000), [])
    assert not large(range(1000), range(1000))
    with pytest.raises(Fault, match="too long"):
        known("bahdanau").given("Go.", "क ख " * 5000)


def test_batches_of_a_replay_hold_few_cells() -> None:
    longest = [5] * 40 + [300] * 3 + [1400]
    batches = list(reading._batches(range(len(longest)), longest))
    assert [at for each in batches for at in each] == list(range(len(longest)))
    assert [len(each) for each in batches] == [32, 8, 2, 1, 1]
