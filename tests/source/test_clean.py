"""Cleaning loses no letter and no mark, and done twice it is done once."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.fault import Fault
from regard.source.clean import STEPS, Cleaner

AWKWARD = (
    "aZ 9\t\n\u00a0\u3000\u200b\u200c\u200d\ufeff\u00ad\u0301\u0327\u093c\u0951\u094d\u0930\u092f\u093f\u0915\u0958"
)
AWKWARD += "‘’“”′″…—ＡﾊﾞﾟＦ가\u1100\u1161\u11a8👩💻🏽\ufe0f\u0645\u06cc\u064e\u09c7\u09be\u2000\u212b\x85\x1c\x07\ud800"
texts = st.text(st.sampled_from(AWKWARD), max_size=24) | st.text(max_size=24)
steps = st.lists(st.sampled_from(STEPS), unique=True)


@given(text=texts, chosen=steps)
def test_twice_is_once(text: str, chosen: list[str]) -> None:
    cleaner = Cleaner(chosen)
    once = cleaner.text(text)
    assert cleaner.text(once) == once
    assert cleaner.clean(once).origin is None


@given(text=texts)
def test_no_mark_is_lost(text: str) -> None:
    def marks(of: str) -> list[str]:
        return sorted(c for c in unicodedata.normalize("NFD", of) if unicodedata.category(c) in ("Mn", "Mc"))

    width = Cleaner(["width"]).text(text)  # half-width sound marks become marks there
    assert marks(Cleaner().text(text)) == marks(width)


@given(text=texts, chosen=steps)
def test_origin_says_where_each_character_stood(text: str, chosen: list[str]) -> None:
    cleaned = Cleaner(chosen).clean(text)
    assert cleaned.text == Cleaner(chosen).text(text)
    if cleaned.origin is None:
        assert cleaned.text == text
        return
    assert len(cleaned.origin) == len(cleaned.text)
    assert list(cleaned.origin) == sorted(cleaned.origin)
    for at, character in enumerate(cleaned.text):
        start, end = cleaned.span(at, at + 1)
        assert 0 <= start < end <= len(text)
        if character.isascii() and character.isalpha():
            assert unicodedata.normalize("NFKC", text[start:end])[0] == character


@given(text=st.text(st.characters(categories=["Lu", "Ll", "Nd", "Pd", "Po"], max_codepoint=0x2FF)))
def test_letters_keep_their_case(text: str) -> None:
    assert Cleaner().text(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("  तो\u00a0 आला ।\t", "तो आला ।"),
        ("क\u093c", "क\u093c"),  # composition leaves this pair apart, and so do we
        ("\u0958", "क\u093c"),
        ("र\u094d\u200dया", "र\u094d\u200dया"),  # the eyelash form of ra
        ("श्री\u200d", "श्री"),
        ("क\u094d\u200d", "क\u094d\u200d"),  # a half form that stands alone
        ("a\u200db", "ab"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("👩\u200d", "👩"),
        ("soft\u00adly\ufeff", "softly"),
        ("one\ntwo", "one two"),
        ("ＡＢ（１）", "AB(1)"),
        ("“Don’t” — «so»…", '"Don\'t" — «so»…'),
        ("e\u0301", "é"),
    ],
)
def test_examples(dirty: str, clean: str) -> None:
    assert Cleaner().text(dirty) == clean


def test_each_step_may_be_left_out() -> None:
    dirty = "e\u0301  “Ａ\u200d”\u00ad"
    for step in STEPS:
        assert Cleaner(other for other in STEPS if other != step).text(dirty) != Cleaner().text(dirty)
    assert Cleaner([]).text(dirty) == dirty


def test_an_unknown_step_names_its_neighbour() -> None:
    with pytest.raises(Fault, match="did you mean 'joiners'"):
        Cleaner(["joiner"])


def test_a_span_is_found_again_in_what_was_typed() -> None:
    cleaned = Cleaner().clean("  the\u00a0\u00a0cafe\u0301!")
    assert cleaned.text == "the café!"
    assert cleaned.span(4, 8) == (7, 12)
    assert cleaned.span(9, 9) == (13, 13)
