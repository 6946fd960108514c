"""What is to be kept comes through, whatever the model does with the words."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from voices import exact, saying, shuffled

from regard.serve.keep import masked
from regard.serve.marks import marks, middle, spoken
from regard.serve.said import Joined, Said, Unit
from regard.serve.turn import Turner, kept

LITERALS = (
    *("https://example.org/a?b=1&c=(2)", "http://नमस्ते.com/x", "www.example.org", "a.b+c@example.co.in"),
    *("@tom@mastodon.social", "#caturday", "{name}", "{0}", "{{ user }}", "${x}", "%s", "%1$s", "%(count)d", "%@"),
    *("<0>", "</0>", "<br/>", "[X12X]", "&nbsp;", ":smile:", "`ls -l`", "😀", "👩\u200d👩\u200d👧", "→"),
    *("25", "3.14", "1,000", "12:30", "2024-05-01", "{count, plural, one {# item} other {# items}}"),
)
plain_words = st.text("abcdefgh", min_size=1, max_size=7)
sentences = st.lists(plain_words | st.sampled_from(LITERALS), min_size=1, max_size=9).map(" ".join)


def said(text: str, voice: object = shuffled, best: int = 1) -> Said:
    return asyncio.run(kept(saying(voice), Unit(text, best)))  # type: ignore[arg-type]


def test_every_kind_is_found_whole() -> None:
    for literal in LITERALS:
        for text in (literal, f"see {literal} now", f"see {literal}.", f"({literal})"):
            found = [text[each.span[0] : each.span[1]] for each in marks(text)]
            assert literal in found, (text, found)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "don't",
        "50 % of it"[3:],
        "B2B",
        "2nd",
        "a:b",
        "x{",
        "}",
        "a@b",
        "C#",
        "(and so on)",
        "<not a tag",
        "100%"[3:],
    ],
)
def test_what_is_a_word_is_no_mark(text: str) -> None:
    assert marks(text) == []


@settings(max_examples=500, deadline=None)
@given(sentences)
def test_all_that_is_to_be_kept_comes_through(text: str) -> None:
    wanted = Counter(text[each.span[0] : each.span[1]] for each in marks(text))
    done = said(text).text
    for literal, count in wanted.items():
        assert done.count(literal) >= count, (text, done)


@settings(max_examples=300, deadline=None)
@given(sentences, st.integers(0, 99))
def test_also_when_the_model_links_at_random(text: str, seed: int) -> None:
    """Links to nothing, to everything and to what is not there."""

    def voice(unit: Unit) -> Said:
        chance = random.Random(f"{seed} {unit.text}")
        words = " ".join(chance.choice(["क", "७", "12:30", "lorem", "Tom,"]) for _ in range(chance.randrange(6)))

        def span(length: int) -> tuple[int, int]:
            start = chance.randrange(length + 1)
            return start, chance.randint(start, length)

        links = [Joined(span(len(unit.text)), span(len(words)), chance.random()) for _ in range(chance.randrange(9))]
        return Said(words, tuple(links) if unit.linked else (), 0.5)

    wanted = Counter(text[each.span[0] : each.span[1]] for each in marks(text))
    done = said(text, voice).text
    for literal, count in wanted.items():
        assert done.count(literal) >= count, (text, done)


@settings(max_examples=300, deadline=None)
@given(sentences)
def test_links_lie_in_both_texts(text: str) -> None:
    for voice in (shuffled, exact):
        done = asyncio.run(Turner([saying(voice)]).text(text, Unit("", linked=True)))
        for each in done.links:
            assert 0 <= each.source[0] < each.source[1] <= len(text)
            assert 0 <= each.target[0] < each.target[1] <= len(done.text)
            assert text[slice(*each.source)].strip()


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("go to https://x.org/a, now", "GO TO https://x.org/a, NOW"),
        ("hi {name}, you have %d mails.", "HI {name}, YOU HAVE %d MAILS."),
        ("he is 25 and she 7:30", "HE IS 25 AND SHE 7:30"),
        ("well 😀 done 😀", "WELL 😀 DONE 😀"),
        ("@tom @ann see you #later", "@tom @ann SEE YOU #later"),
        ("mail a@b.org (or c@d.org).", "MAIL a@b.org (OR c@d.org)."),
        ("open /home/{user}/x now", "OPEN /home/{user}/x NOW"),
        ("click <0>here</0> to <b class='x'>see <i/>it</b>", "CLICK <0>HERE</0> TO <b class='x'>SEE <i/>IT</b>"),
        ("</a> is <b> not closed", "</a> IS <b> NOT CLOSED"),
        ("it costs $25 or 30%", "IT COSTS $25 OR 30%"),
        ("12:30", "12:30"),
        ("😀", "😀"),
        ("https://x.org", "https://x.org"),
    ],
)
def test_sentences(text: str, done: str) -> None:
    assert said(text, exact).text == done


def test_a_number_in_other_digits_is_written_as_it_was() -> None:
    def marathi(unit: Unit) -> Said:
        return Said("तिला १,००० मांजरी आहेत", (), 0.5, ("तिच्याकडे १००० मांजरी", "हजार मांजरी")[: unit.best - 1])

    done = said("she has 1,000 cats", marathi, 3)
    assert done.text == "तिला 1,000 मांजरी आहेत"
    assert done.others == ("तिच्याकडे 1,000 मांजरी",)  # the other one lost it


def test_the_other_way_a_number_is_read_in_the_digits_of_the_model() -> None:
    done = said("तिच्याकडे १००० मांजरी आहेत", lambda unit: Said("She has 1000 cats."))
    assert done.text == "She has 1000 cats."
    done = said("तिच्याकडे १००० मांजरी आहेत", lambda unit: Said("She has cats.", (Joined((10, 14), (8, 13), 1.0),)))
    assert done.text == "She has 1000."


def test_a_number_that_became_a_word_takes_its_place() -> None:
    done = said("I am 7 now", lambda unit: Said("मी सात आहे", (Joined((5, 6), (3, 6), 1.0),)))
    assert done.text == "मी 7 आहे"


def test_letters_that_touch_what_is_kept_are_not_lost() -> None:
    assert said("é{name} x", exact).text == "É{name} X"
    assert said("{name}ने x", exact).text == "{name}ने X"
    assert said("see {name}'s x", exact).text == "SEE {name} X"


def test_names_stand_in_the_script_of_the_sentence() -> None:
    text = "नमस्कार {name}, कसे आहात?"
    mask = masked(text, marks(text))
    assert mask is not None
    assert mask.edit.text == "नमस्कार टॉम, कसे आहात?"
    assert masked("{a} {b} {c} {d} {e} {f} {g} {h} {i} x", marks("{a} {b} {c} {d} {e} {f} {g} {h} {i} x")) is None


def test_what_is_at_the_edges_is_set_aside() -> None:
    text = "@tom see https://x.org #now 😀"
    assert text[slice(*middle(text, marks(text)))] == "see"
    assert spoken(text, marks(text))
    assert not spoken("@tom 25 😀", marks("@tom 25 😀"))


@pytest.mark.parametrize(
    "part", ["{", "%", "a@", "1.", "<a", "#", ":a", "{a, plural, ", "www.", "&#", "😀", "a.b-", "`", "@a", "{{", "%(a"]
)
def test_a_hostile_sentence_is_read_quickly(part: str) -> None:
    """In milliseconds; a pattern that goes back over what it read would never end."""
    text = (part * 20_000)[:20_000]
    assert all(each.span[0] < each.span[1] <= len(text) for each in marks(text))


def test_chances_are_those_of_the_parts() -> None:
    done = said("one {a} two", lambda unit: replace(exact(unit), links=(), right=0.25))
    assert done.text == "ONE {a} TWO"
    assert done.right == 0.25
