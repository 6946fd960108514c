"""Heat map: every cell stays in its column, whatever stands in the words and however narrow the terminal is."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.style import Style

from regard.trace.core import Axis
from regard.trace.label import clean, clipped, clusters, columns
from regard.trace.terminal import Heatmap

ENGLISH = ("Rahul", "is", "a", "good", "boy.", "</s>")
MARATHI = ("राहुल", "एक", "चांगला", "मुलगा", "आहे।", "</s>")


def made(source: tuple[str, ...], target: tuple[str, ...], title: str = "") -> Heatmap:
    weights = torch.eye(len(target), len(source)) * 0.75
    return Heatmap(weights, Axis(source), Axis(target), title)


def printed(heat: Heatmap, width: int = 80, **about: object) -> str:
    for cache in (Style.parse, Style._add):
        cache.cache_clear()  # rich keeps the codes that a style had in the first colour system it was printed in
    out = io.StringIO()
    settings = {"color_system": None, "force_terminal": False, "legacy_windows": False, **about}
    Console(file=out, width=width, **settings).print(heat)  # type: ignore[arg-type]
    return out.getvalue()


def test_without_colour_it_is_drawn_in_shades() -> None:
    lines = printed(made(ENGLISH[:3], MARATHI[:3], "decoder")).splitlines()
    assert lines == [
        "decoder",
        "┌ Rahul",
        "│    ┌ is",
        "│    │    ┌ a",
        "█████·    ·     राहुल",
        "·    █████·     एक",
        "·    ·    █████ चांगला",
        "",
        "0%    ░░░▒▒▒▓▓▓███ 75%",
    ]


def test_shades_grow_with_the_weight() -> None:
    heat = Heatmap(torch.tensor([[0.0, 0.1, 0.2, 0.3, 0.4]]), Axis(tuple("abcde")), Axis(("x",)))
    assert "·    ░░░░░▒▒▒▒▒▓▓▓▓▓█████ x" in heat.text(40).plain


@pytest.mark.parametrize(("system", "escape"), [("truecolor", "48;2;"), ("256", "48;5;")])
def test_with_colour_the_ground_tells_and_the_number_stands_on_it(system: str, escape: str) -> None:
    shown = printed(made(ENGLISH, MARATHI), color_system=system, force_terminal=True)
    assert escape in shown
    assert shown.count(" 75 ") == len(MARATHI)
    assert "█" not in shown


def test_sixteen_colours_no_colour_and_a_pipe_get_shades() -> None:
    for about in ({"color_system": "standard"}, {"color_system": "truecolor", "no_color": True}):
        shown = printed(made(ENGLISH, MARATHI), force_terminal=True, **about)
        assert "█" in shown
        assert "48;" not in shown
    assert "\x1b" not in printed(made(ENGLISH, MARATHI))


def test_many_words_fold_into_panels_with_every_cell_once() -> None:
    source, target = tuple(f"s{at}" for at in range(60)), tuple(f"t{at}" for at in range(60))
    shown = made(source, target).text(40).plain
    assert all(len(line) <= 40 for line in shown.splitlines())
    assert all(len(re.findall(rf"┌ {label}$", shown, re.M)) == 1 for label in source)
    assert len(re.findall(r"^.* t59$", shown, re.M)) > 1
    body = [line.rpartition(" ")[0] for line in shown.splitlines() if re.search(r" t\d+$", line)]
    assert sum(line.count("██") for line in body) == 60
    assert sum(line.count("·") for line in body) == 60 * 59


@pytest.mark.parametrize("width", [4, 9, 20, 80])
def test_a_narrow_terminal_is_never_overrun(width: int) -> None:
    shown = made((*ENGLISH, "w" * 200), (*MARATHI, "चांगला" * 30), "a long title " * 9).text(width)
    assert all(columns(line) <= max(width, 4) for line in shown.plain.split("\n")[:-1])


def test_empty_traces_are_drawn_without_a_word() -> None:
    assert printed(made((), ())).strip().startswith("0%")
    assert "┌ a" in printed(made(("a",), ()))
    assert "·" not in printed(made((), ("x",)))
    nothing = Heatmap(torch.zeros(1, 2), Axis(("a", "b")), Axis(("x",)))
    assert "·    ·     x" in printed(nothing)


def test_no_label_moves_the_cursor() -> None:
    shown = printed(made(("\x1b[31mred", "tab\there", "new\nline"), ("\u202eback", "\r", "\ud800"), "\x1b]0;title\x07"))
    body = shown.replace("\n", "")
    assert not [each for each in body if unicodedata.category(each) in {"Cc", "Cs"} or each == "\u202e"]
    assert "┌ tab␣here" in shown


def test_markup_in_a_word_is_no_markup() -> None:
    assert "┌ [bold]x[/bold]" in printed(made(("[bold]x[/bold]",), (":smile:",)))
    assert ":smile:" in printed(made(("a",), (":smile:",)))


def test_a_row_in_arabic_or_hebrew_keeps_its_cells_at_the_left() -> None:
    lines = made(("peace", "שלום"), ("سلام", "ok")).text(40).plain.splitlines()
    assert lines[0] == "┌ peace"
    assert lines[1] == "\u200e│    ┌ שלום"
    assert lines[2] == "\u200e█████·     سلام"
    assert lines[3] == "·    █████ ok"


def test_labels_and_weights_agree() -> None:
    with pytest.raises(ValueError, match="labels"):
        Heatmap(torch.zeros(2, 2), Axis(("a",)), Axis(("x", "y")))


def test_a_letter_is_not_cut_from_its_signs() -> None:
    assert clusters("मुलगा") == ["मु", "ल", "गा"]
    assert clipped("मुलगा", 3) == "मुल…"
    assert clipped("मुलगा", 4) == "मुलगा"
    assert clipped("word", 0) == ""
    assert clipped("日本語", 5) == "日本…"


@given(st.text(max_size=12), st.integers(0, 12))
def test_clipped_fits(text: str, room: int) -> None:
    label = clean(text)
    kept = clipped(label, room)
    assert columns(kept) <= room or kept == label
    assert label.startswith(kept.removesuffix("…"))
