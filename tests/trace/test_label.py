"""Label: on one line, within its room, no letter cut from its signs."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as some

from regard.trace.label import clean, clipped, clusters, columns, turned


def test_letters_keep_their_signs() -> None:
    assert clusters("क्षि") == ["क्", "षि"]
    assert clusters("e\u0301a") == ["e\u0301", "a"]
    assert clusters("\u0301a") == ["\u0301", "a"]
    assert clipped("विद्यार्थी", 4).endswith("…")
    assert clipped("abc", 1) == "…"
    assert clipped("abc", 0) == ""


def test_columns_are_the_most_that_a_terminal_gives() -> None:
    assert columns("abc") == 3
    assert columns("日本") == 4
    assert columns("का") == 2
    assert columns("e\u0301") == 1


def test_what_would_move_the_cursor_or_turn_the_line_is_shown_as_a_space() -> None:
    assert clean("a\tb\nc\x1bd\u202ee\u2028f\ud800") == "a␣b␣c␣d␣e␣f␣"
    assert clean("क्\u200dष \u200c नमस्ते") == "क्\u200dष \u200c नमस्ते"  # joiners change what is written


def test_turned_is_any_right_to_left() -> None:
    assert turned("abc שלום")
    assert turned("سلام")
    assert not turned("नमस्ते 12")


@given(some.text(max_size=20))
def test_clusters_lose_nothing(text: str) -> None:
    assert "".join(clusters(text)) == text


@given(some.text(max_size=20))
def test_a_clean_label_is_one_line(text: str) -> None:
    assert len(clean(text)) == len(text)
    assert not any(unicodedata.category(each) in {"Cc", "Cs", "Zl", "Zp"} for each in clean(text))
    assert len(clean(text).splitlines()) <= 1
