"""Sentences, places in changed texts, names of files: what the rest stands on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.fields import text as clean
from regard.serve.language import NAMES, name
from regard.serve.place import Change, Edit, Gaps
from regard.serve.said import Joined, along, overlap, same, through
from regard.serve.sentences import LONGEST, parts
from regard.serve.settings import Store
from regard.serve.shelf import Shelf, titled

written = st.text("ab .!?\n\t।Mr。éक", max_size=60) | st.text(max_size=40)


@given(written)
def test_sentences_are_the_text_but_for_white_space(text: str) -> None:
    reached = 0
    for start, end in parts(text):
        assert text[reached:start].strip() == ""
        assert reached <= start < end
        assert text[start:end] == text[start:end].strip()
        reached = end
    assert text[reached:].strip() == ""


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Smith met Dr. No at 3.30 p.m. yesterday.", ["Mr. Smith met Dr. No at 3.30 p.m. yesterday."]),
        ("J. R. R. Tolkien wrote it. I read it.", ["J. R. R. Tolkien wrote it.", "I read it."]),
        ('He said "Go!" Then he went.', ['He said "Go!"', "Then he went."]),
        ("पहिले. दुसरे। तिसरे", ["पहिले.", "दुसरे।", "तिसरे"]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("a\r\nb\n\nc", ["a", "b", "c"]),
        ("Wait... what?", ["Wait... what?"]),
        ("", []),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in parts(text)] == sentences


def test_what_runs_on_is_cut_at_a_clause_else_at_a_space_else_anywhere() -> None:
    for text in ("word " * 500, "word, " * 500, "x" * 5_000):
        lengths = [end - start for start, end in parts(text)]
        assert max(lengths) <= LONGEST
        assert len(lengths) <= 2 * len(text) / LONGEST + 1
    assert all("word, " * 100 + "" and ("word, " * 500)[end - 1] == "," for _, end in parts("word, " * 500))


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[Change]]:
    text = draw(st.text("abc", max_size=20))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return text, [(a, b, draw(st.text("XY", max_size=4))) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]


@given(edits())
def test_an_edit_knows_where_everything_went(made: tuple[str, list[Change]]) -> None:
    text, changes = made
    edit = Edit(text, changes)
    plain = text
    for start, end, new in reversed(changes):
        plain = plain[:start] + new + plain[end:]
    assert edit.text == plain
    changed = {at for start, end, _ in changes for at in range(start, end)}
    for at in set(range(len(text))) - changed:
        there = edit.forward((at, at + 1))
        assert edit.text[slice(*there)] == text[at]
        assert edit.back(there) == (at, at + 1)
    for start, end, new in changes:
        if new and end > start:
            assert edit.text[slice(*edit.forward((start, end)))] == new
            assert edit.back(edit.forward((start, end))) == (start, end)


def test_gaps() -> None:
    links = [Joined((0, 2), (5, 9), 1.0), Joined((3, 5), (0, 4), 1.0), Joined((6, 9), (10, 12), 1.0)]
    gaps = Gaps(links, 12)
    assert [gaps.at(place) for place in (0, 2, 3, 5, 6, 9)] == [0, 9, 9, 4, 4, 12]
    assert Gaps([], 7).at(0) == 0
    assert Gaps([], 7).at(3) == 7


def test_links() -> None:
    assert [each.target for each in same("a bc").links] == [(0, 1), (2, 4)]
    assert [each.source for each in along("a b", "w x y z")] == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert along("", "w") == ()
    first = (Joined((0, 1), (4, 8), 0.5), Joined((2, 3), (0, 3), 0.8))
    second = (Joined((0, 3), (9, 12), 0.5), Joined((20, 22), (0, 3), 1.0))
    assert through(first, second) == (Joined((2, 3), (9, 12), 0.4),)
    assert overlap((0, 3), (2, 9)) == 1
    assert overlap((0, 3), (3, 9)) == 0


def test_names_of_languages() -> None:
    assert name("mr") == "Marathi"
    assert name("mr-IN") == "Marathi"
    assert name("xx") == "xx"
    assert len(NAMES) > 180


def test_lone_surrogates_become_the_sign_for_what_cannot_be_read() -> None:
    assert clean("a\ud800b\udfff") == "a\ufffdb\ufffd"
    assert clean("😀é") == "😀é"


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("letters.txt", "letters_mr.txt"),
        ("../../etc/passwd.TXT", "passwd_mr.txt"),
        ('C:\\x\\a"b\r\n.html', "a_b_mr.html"),
        ("नमस्ते.txt", "translation_mr.txt"),
        (".txt", "translation_mr.txt"),
        ("README", "README_mr.txt"),
    ],
)
def test_names_of_files_are_harmless(given: str, title: str) -> None:
    assert titled(given, "mr") == title


def test_files_go_when_their_time_is_over_or_the_room_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("regard.serve.shelf.monotonic", lambda: now)
    shelf = Shelf(Store(seconds=10.0, bytes=100))
    names = [shelf.put(b"x" * 40, f"{n}.txt") for n in range(3)]
    assert [shelf.get(each) is not None for each in names] == [False, True, True]
    now = 9.0
    late = shelf.put(b"y", "late.txt")
    now = 10.0
    assert [shelf.get(each) is not None for each in [*names, late]] == [False, False, False, True]
    assert shelf.get("no such") is None
    assert len(set(names)) == 3
    huge = shelf.put(b"z" * 500, "huge.txt")
    assert shelf.get(huge) is not None  # the last one stays, whatever its size
