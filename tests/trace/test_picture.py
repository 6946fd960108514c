"""Picture: every letter is drawn, nothing is cut off, and the same trace gives the same bytes."""

from __future__ import annotations

import re
import struct
import warnings
import zlib
from itertools import pairwise
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure
from students import EVIL, HOSTILE, STUDENTS, axis, made

from regard.fault import Fault
from regard.trace import picture
from regard.trace.choice import chosen, panels
from regard.trace.core import Axis
from regard.trace.terminal import Heatmap
from regard.trace.typeface import families

DEVANAGARI = "चांगले विद्यार्थ्यांनी त्यांची पुस्तके कुठून विकत घेतली? ज्ञ क्ष श्री ऱ्या र्क ॐ १२३।"


def size(path: Path) -> tuple[int, int]:
    found: tuple[int, int] = struct.unpack(">II", path.read_bytes()[16:24])
    return found


def drawn(*maps: Heatmap, title: str = "") -> Figure:
    with matplotlib.style.context(["default", {"font.family": families(DEVANAGARI)}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = picture.draw(maps, title)
        figure.set_dpi(picture.DPI)
        figure.draw_without_rendering()
        return figure


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_trace_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    one, two = tmp_path / f"one.{ending}", tmp_path / f"two.{ending.upper()}"
    assert picture.save(STUDENTS, one, title="students") is None
    picture.save(STUDENTS, two, title="students")
    assert one.read_bytes() == two.read_bytes()
    assert sorted(each.name for each in tmp_path.iterdir()) == [one.name, two.name]


def test_what_it_shows_is_told_to_those_who_do_not_see_it(tmp_path: Path) -> None:
    picture.save(STUDENTS, tmp_path / "a.svg", title="a & b")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    told, *_ = re.findall(r"<dc:title>(.*?)</dc:title>", text)
    assert told == f"a &amp; b. {STUDENTS.source.text} → {STUDENTS.target.text}"
    assert "<text" not in text  # letters are drawn as paths: they look the same where the font is not
    picture.save(STUDENTS, tmp_path / "a.png")
    assert STUDENTS.target.text.encode() in unpacked(tmp_path / "a.png")


def unpacked(path: Path) -> bytes:
    """The first international text of a PNG."""
    found = re.search(rb"iTXtTitle\x00(\x01|\x00)\x00[^\x00]*\x00[^\x00]*\x00", path.read_bytes())
    assert found is not None
    rest = path.read_bytes()[found.end() :]
    return zlib.decompressobj().decompress(rest) if found[1] == b"\x01" else rest


def test_no_letter_of_english_or_marathi_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Warnings are errors here, and matplotlib warns of each letter that it cannot draw.
    trace = made(axis("Where? “naïve” — 'quoted' 50% </s>"), axis(DEVANAGARI))
    monkeypatch.setattr("warnings.filterwarnings", lambda *_, **__: None)
    assert picture.save(trace, tmp_path / "a.png", title=DEVANAGARI, every_head=True) is None
    with pytest.raises(UserWarning, match="missing from"):
        picture.save(trace, tmp_path / "a.png", title="\u0378")


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    told = picture.save(made(axis("a \u0378 b"), axis("x")), tmp_path / "a.png")
    assert told is not None
    assert told.startswith("boxes stand for letters that no font on this machine has: Unnamed (\u0378)")


def test_nothing_is_cut_off_and_no_words_overlap() -> None:
    for maps, title in (
        ([chosen(STUDENTS)], "students"),
        (list(panels(STUDENTS)), "a title that is far longer than the picture would be wide without it"),
        ([chosen(made(axis("Go."), axis("जा."), 1, 1))], ""),
        ([chosen(made(axis("incomprehensibilities " * 12), axis(DEVANAGARI), 1, 1))], "long"),
        ([chosen(EVIL, "layer0", 0)], HOSTILE * 9),
    ):
        figure = drawn(*maps, title=title)
        boxes = [text.get_window_extent() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]
        page = figure.bbox
        assert boxes
        for box in boxes:
            assert page.x0 <= box.x0
            assert box.x1 <= page.x1
            assert page.y0 <= box.y0
            assert box.y1 <= page.y1
        lines = [each.get_window_extent() for each in figure.axes[0].texts if each.get_horizontalalignment() == "right"]
        assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(lines))


def test_long_traces_stay_of_a_size_that_opens(tmp_path: Path) -> None:
    words = axis(" ".join(f"w{at}" for at in range(150)))
    picture.save(made(words, words, 1, 1), tmp_path / "a.png")
    assert max(size(tmp_path / "a.png")) < 5000


def test_every_head_is_a_panel(tmp_path: Path) -> None:
    figure = drawn(*panels(STUDENTS))
    shown = {text.get_text() for text in figure.texts}
    assert shown == {"layer0, head 0", "layer0, head 1", "layer1, head 0", "layer1, head 1"}
    assert len(figure.axes) == 5  # the scale is one of them
    picture.save(STUDENTS, tmp_path / "one.png")
    picture.save(STUDENTS, tmp_path / "all.png", every_head=True)
    assert size(tmp_path / "all.png") > size(tmp_path / "one.png")
    with pytest.raises(Fault, match="no reader"):
        picture.save(STUDENTS, tmp_path / "all.png", reader="layer9", every_head=True)


def test_words_may_mean_their_dollars_and_control_nothing(tmp_path: Path) -> None:
    picture.save(made(axis("$x$ $ \\frac"), axis("a_b^c")), tmp_path / "a.png", title="$\\notatex")
    picture.save(EVIL, tmp_path / "b.svg", title=HOSTILE)
    text = (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "<img" not in text
    assert "\u202e" not in text


def test_empty_traces_are_drawn(tmp_path: Path) -> None:
    for at, (source, target) in enumerate([(Axis(()), Axis(())), (Axis(("a",)), Axis(())), (Axis(()), Axis(("x",)))]):
        picture.save(made(source, target, 1, 1), tmp_path / f"{at}.png")
        assert min(size(tmp_path / f"{at}.png")) > 100
