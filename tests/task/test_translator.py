"""A translator gives one translation a text, loses nothing of it, and searches as it is asked to."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import regard
from regard.config import Search
from regard.fault import Fault
from regard.search.sample import Draw
from regard.source.batch import UNK
from regard.task.translation import Translation, Wish
from regard.task.translator import CHARACTERS, WORD, Translator

Known = Callable[[str], Translator]
SENTENCES = ["We live here.", "Who are you?", "I have a dog.", "Tom is my friend.", "Where is he?"]
GREEDY = Wish(Search(beam=1))


def test_load_and_translate_as_the_readme_has_it(learned: Callable[[str], Path]) -> None:
    model = regard.load(learned("bahdanau"))
    one = model.translate("We live here.")
    assert isinstance(one, Translation)
    assert one.text
    assert model.translate(["We live here."]) == [one]
    assert model.translate([]) == []


@pytest.mark.parametrize("blank", ["", " ", "\t \u3000", "\u200b\u200b", "\ufeff", "\x01"])
def test_what_holds_nothing_to_read_is_empty(blank: str, known: Known) -> None:
    first, empty, last = known("bahdanau").translate(["Who are you?", blank, "Go."])
    assert (empty.source, empty.text, empty.score, empty.finished) == (blank, "", 0.0, True)
    assert first.text
    assert last.text
    with pytest.raises(Fault, match="is empty"):
        _ = empty.trace


def test_the_best_come_best_first(known: Known) -> None:
    model = known("bahdanau")
    for width, best in ((5, 5), (1, 4), (8, 3)):
        for found in model.translate(SENTENCES, Wish(Search(beam=width), best=best)):
            every = [found, *found.alternatives]
            assert len(every) == best
            assert len({each.ids for each in every}) == best
            rank = [(not each.finished, -each.score) for each in every]
            assert rank == sorted(rank)
            assert all(each.source == found.source for each in every)
    only = model.translate(SENTENCES, Wish(Search(beam=5)))
    several = model.translate(SENTENCES, Wish(Search(beam=5), best=3))
    assert [each.text for each in only] == [each.text for each in several]


def test_scores_are_the_models_own(known: Known) -> None:
    """What the search says a text is worth, the model says again when it is given that text's ids."""
    for name in ("bahdanau", "transformer"):
        model = known(name)
        for found in model.translate(SENTENCES, replace(GREEDY, best=1)):
            again = replace(model.given(found.source, found.text), ids=found.ids)
            if model.forced(found.text) == found.ids:
                assert again.log_prob == pytest.approx(found.log_prob, abs=1e-3)
                assert again.score == pytest.approx(found.score, abs=1e-3)


def test_samples_do_not_depend_on_neighbours_or_order(known: Known) -> None:
    model = known("bahdanau")
    wish = Wish(best=3, draw=Draw(temperature=1.3, seed=7))

    def drawn(texts: list[str], wish: Wish = wish) -> dict[str, list[str]]:
        return {each.source: [one.text for one in (each, *each.alternatives)] for each in model.translate(texts, wish)}

    together = drawn(SENTENCES)
    assert drawn(SENTENCES[::-1]) == together
    assert {text: drawn([text])[text] for text in SENTENCES} == together
    assert drawn(SENTENCES * 2) == together
    assert drawn(SENTENCES, replace(wish, draw=Draw(temperature=1.3, seed=8))) != together


@pytest.mark.parametrize("draw", [None, Draw(seed=3)])
@pytest.mark.parametrize("name", ["bahdanau", "transformer", "words"])
def test_a_prefix_is_kept(name: str, draw: Draw | None, known: Known) -> None:
    for prefix in ("मी", "तो आहे", "टॉम "):
        for found in known(name).translate(SENTENCES, Wish(best=2, draw=draw, prefix=prefix)):
            assert all(each.text.startswith(prefix.strip()) for each in (found, *found.alternatives))


def test_of_a_text_in_parts_the_first_one_has_the_prefix(known: Known) -> None:
    model = known("bahdanau")
    text = " ".join(SENTENCES * 20)
    assert len(model._parts(text)) > 20
    found = model.translate(text, replace(GREEDY, prefix="मी कोण"))
    assert found.text.startswith("मी कोण")
    assert found.text.count("मी कोण") == 1


def test_loops_are_stopped_when_asked(known: Known) -> None:
    """An untrained model says the same for ever."""
    model = known("blind")
    wild = model.translate(SENTENCES, Wish(Search(beam=1, no_loops=False)))
    tame = model.translate(SENTENCES, Wish(Search(beam=1, no_loops=True)))
    assert any(turning(each.ids) for each in wild)
    assert not any(turning(each.ids) for each in tame)
    for found in model.translate(SENTENCES, Wish(Search(beam=3, no_loops=False, no_repeat=2))):
        pairs = list(zip(found.ids, found.ids[1:], strict=False))
        assert len(set(pairs)) == len(pairs)


def turning(ids: tuple[int, ...]) -> bool:
    return any(len(set(ids[at : at + 7])) == 1 for at in range(len(ids) - 6))


def test_an_output_that_does_not_end_is_cut_and_says_so(known: Known) -> None:
    model = known("blind")
    (found,) = model.translate(["Go."], Wish(Search(beam=1, no_loops=False), room=1.0))
    assert not found.finished
    assert len(found.ids) == len(model.pieces("Go.")) + 1 + 20


def test_an_unknown_word_becomes_the_word_it_was_read_from(known: Known) -> None:
    """Only a vocabulary of words may write <unk>; forced to, it says the source word that was looked at."""
    model = known("words")
    source = "Where is Schwarzenegger?"
    trace = model.traces([(source, (UNK, 5))])[0]
    at = int(trace.heat(*model.choice(trace))[0, : len(trace.source) - 1].argmax())
    word = next(word for word in ("Where", "is", "Schwarzenegger") if trace.source.labels[at] in (word, "?"))
    wish = Wish(Search(beam=1, replace_unknown=True), prefix="xyzzyx")  # no such word: the prefix is <unk>
    found = model.translate(source, wish)
    assert found.ids[0] == UNK
    assert found.text.split()[0] in ("Where", "is", "Schwarzenegger")
    if trace.source.labels[at] != "?":
        assert found.text.split()[0] == word
    kept = model.translate(source, replace(wish, search=replace(wish.search, replace_unknown=False)))
    assert kept.text.startswith("<unk>")


def test_a_model_of_pieces_never_says_unknown(known: Known) -> None:
    for name in ("bahdanau", "transformer"):
        found = known(name).translate(["漢字 ☃ Ω", *SENTENCES], Wish(Search(beam=4), best=4))
        assert not any(UNK in one.ids for each in found for one in (each, *each.alternatives))


# --- long texts


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"{sentence[:-1]} {at}." for at in range(40) for sentence in SENTENCES),
        "a comma, and " * 300,
        "  two   spaces \t and\x01 signs “quoted”  " * 100,
        "आम्ही इथे राहतो। " * 150,
        "किती" * 100,  # no space, and signs that belong to letters
        "q" * 999 + " " + "z" * 999,
        "क़" * 300,  # grows when it is cleaned
    ],
)
@pytest.mark.parametrize("name", ["bahdanau", "words"])
def test_a_long_text_is_parted_and_nothing_is_lost(text: str, name: str, known: Known) -> None:
    model = known(name)
    parts = model._parts(text)
    assert squeezed("".join(parts)) == squeezed(text)
    assert all(0 < len(model.pieces(part)) <= model.bundle.recipe.data.longest for part in parts)
    marks = "\u093c\u093e\u093f\u0940\u0947\u094b\u094d"
    assert not any(part[0] in marks for part in parts)


def test_a_long_text_is_its_parts_in_order(known: Known) -> None:
    model = known("bahdanau")
    text = " ".join(SENTENCES * 20)
    (found,) = model.translate([text], GREEDY)
    each = {one.source: one for one in model.translate(SENTENCES, GREEDY)}
    assert found.text == " ".join(each[sentence].text for sentence in SENTENCES * 20)
    assert found.source == text
    assert found.finished
    with pytest.raises(Fault, match="several parts"):
        _ = found.alignment
    assert model.translate(text[:CHARACTERS], GREEDY).text == found.text


def test_chinese_without_spaces_is_parted_at_its_stops(known: Known) -> None:
    parts = known("bahdanau")._parts("我们住在这里。你是谁？" * 150)
    assert set(parts) <= {"我们住在这里。", "你是谁？"}
    assert len(parts) == 300


def test_what_is_no_language_is_carried_over(known: Known) -> None:
    chance = random.Random(1)
    junk = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789+/", k=WORD + 500))
    (found,) = known("bahdanau").translate([f"Who are you? {junk} Go."], GREEDY)
    assert f" {junk} " in found.text
    assert not known("bahdanau").translate(f"Go. {junk}", GREEDY).text.startswith("Go.")


def test_ten_megabytes_take_seconds_and_are_cut(known: Known) -> None:
    chance, model = random.Random(1), known("bahdanau")
    began = time.process_time()
    for text in ("a" * 10_000_000, "".join(chance.choices("abcdefghij", k=100_000)) * 100):
        found = model.translate(text)
        assert not found.finished  # the rest was not read
        assert found.text == text[:CHARACTERS]
    assert time.process_time() - began < 60  # minutes before


def test_half_characters_are_no_end(known: Known) -> None:
    found = known("bahdanau").translate(["Who\udcff are you?", "\ud800"], GREEDY)
    assert found[0].text


def test_a_part_of_a_sentence_is_decoded_once(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    model, decoded = known("bahdanau"), list[str]()
    search = Translator._decoded

    def counting(self: Translator, texts: list[str], wish: Wish) -> list[Translation]:
        decoded.extend(texts)
        return search(self, texts, wish)

    monkeypatch.setattr(Translator, "_decoded", counting)
    model.translate(SENTENCES * 3, GREEDY)
    assert decoded == SENTENCES


def test_it_leaves_nothing_behind(known: Known) -> None:
    """No gradient, no training mode, no draw from torch's generator."""
    model = known("transformer")
    state = torch.get_rng_state()
    model.translate(SENTENCES)
    model.given("Go.", "जा.")
    assert torch.equal(torch.get_rng_state(), state)
    assert not model.model.training
    assert all(weight.grad is None for weight in model.model.parameters())
