"""HTML: a page that is whole in itself, whatever stands in the words."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from students import EVIL, HOSTILE, NAMES, STUDENTS, axis, made

from regard.fault import Fault
from regard.trace.choice import chosen
from regard.trace.core import Axis, Trace
from regard.trace.html import MEAN, fragment, page, save
from regard.trace.label import clean
from regard.trace.page import SCALE, SCRIPT, style
from regard.trace.terminal import Heatmap

VOID = {"meta", "img"}


class Parsed(HTMLParser):
    """Elements with their attributes and texts, as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, int]] = []
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append((tag, len(self.found) - 1))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.found[self.open[-1][1]][2].append(data)

    def texts(self, tag: str, **wanted: str) -> list[str]:
        return ["".join(text) for name, about, text in self.found if name == tag and wanted.items() <= about.items()]


def weights_of(text: str) -> list[list[list[int]]]:
    found: list[list[list[int]]] = json.loads(Parsed(text).texts("script", type="application/json")[0])
    return found


def test_the_table_holds_every_weight_under_its_words() -> None:
    parsed, heat = Parsed(page(STUDENTS)), chosen(STUDENTS)
    assert parsed.texts("th", scope="row") == list(STUDENTS.target.labels)
    assert parsed.texts("span", dir="auto") == list(STUDENTS.source.labels)
    shown = [text for text in parsed.texts("td") if text]
    assert shown == [f"{100 * weight:.0f}" for weight in heat.weights.flatten().tolist()]
    assert len(parsed.texts("caption")) == 1


def test_there_is_a_choice_between_the_mean_and_every_head() -> None:
    text = page(STUDENTS)
    options = ["layer0", "layer0, head 0", "layer0, head 1", "layer1", "layer1, head 0", "layer1, head 1"]
    assert Parsed(text).texts("option") == [MEAN, *options]
    assert Parsed(text).texts("option", value="0") == [MEAN]
    chosen_ = [(None, None), ("layer0", None), ("layer0", 0), ("layer0", 1), ("layer1", None)]
    for at, (reader, head) in enumerate(chosen_):
        wanted = STUDENTS.heat(reader, head) * SCALE
        assert (torch.tensor(weights_of(text)[at]) - wanted).abs().max() <= 0.5


def test_it_opens_with_what_was_chosen() -> None:
    text = page(STUDENTS, "layer1", 0)
    assert re.search(r"<option value=5 selected>layer1, head 0<", text)
    assert [each for each in Parsed(text).texts("td") if each][:2] == [
        f"{100 * weight:.0f}" for weight in STUDENTS.heat("layer1", 0)[0, :2].tolist()
    ]
    assert re.search(r"<option value=7 selected>head 1<", page(STUDENTS, None, 1))
    with pytest.raises(Fault, match="did you mean 'layer1'"):
        page(STUDENTS, "layer11")


def test_one_head_needs_no_choice() -> None:
    text = page(made(axis("a b"), axis("x"), 1, 1))
    assert Parsed(text).texts("select") == []
    assert len(weights_of(text)) == 1
    two = Parsed(page(made(axis("a b"), axis("x"), 1, 2)))
    assert two.texts("option") == [MEAN, "layer0, head 0", "layer0, head 1"]


@pytest.mark.parametrize("make", [lambda: page(EVIL, title=HOSTILE), lambda: fragment(chosen(EVIL, "layer0", 1))])
def test_no_label_is_more_than_text(make: object) -> None:
    text = make()  # type: ignore[operator]
    parsed = Parsed(text)
    names = {name for name, _, _ in parsed.found}
    assert not names & {"img", "iframe", "link", "object"}
    assert parsed.texts("span", dir="auto") == [clean(name) for name in NAMES]
    assert len(parsed.texts("script")) in {0, 2}
    assert not any(key.startswith("on") for _, about, _ in parsed.found for key in about)
    assert not any(letter in text for letter in "\x1b\x07\u202e\ud800")
    text.encode()


def test_nothing_is_asked_of_the_network() -> None:
    text = page(STUDENTS)
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|fetch\(|XMLHttp|WebSocket|\beval\b|innerHTML", text)
    assert re.findall(r"url\(([^)]{0,22})", text) == ["data:font/woff;base64,"]
    [script] = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert script == SCRIPT
    wanted = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; font-src data:; script-src 'sha256-{wanted}'" in text


def test_the_letters_come_along_where_a_machine_may_lack_them() -> None:
    [packed] = re.findall(r"base64,([\w+/=]+)\)", page(STUDENTS))
    with TTFont(io.BytesIO(base64.b64decode(packed))) as font:
        held = font.getBestCmap()
        shapes = len(font.getGlyphOrder())
    assert all(ord(letter) in held for letter in STUDENTS.target.text if letter.strip())
    assert shapes > len(held)  # the conjuncts too
    assert "@font-face" not in page(made(axis("a b"), axis("x")))
    assert len(packed) < 60_000


def test_the_sentence_reads_as_it_was_written() -> None:
    source, _ = re.findall(r"<dd lang dir=ltr>(.*?)</dd>", page(made(axis("a  b,c"), axis("x"))))
    assert re.sub(r"<[^>]+>", "", source) == "a  b,c &lt;/s&gt;"
    pieces = Axis(("私", "は", "</s>"), ((0, 1), (1, 2), (2, 2)), "私は")
    source, _ = re.findall(r"<dd lang dir=ltr>(.*?)</dd>", page(made(pieces, axis("x"))))
    assert re.sub(r"<[^>]+>", "", source) == "私は &lt;/s&gt;"
    [first] = re.findall(r"<dd lang dir=(\w+)>", page(made(axis("123 שלום"), axis("x"))))[:1]
    assert first == "rtl"
    scene = Axis(("car ahead", "car left"), kind="scene")
    assert Parsed(page(made(scene, axis("brake")))).texts("button", **{"data-slot": "1"}) == ["car left"]


def test_light_and_dark_have_every_level() -> None:
    light, dark = style().split("@media (prefers-color-scheme: dark)")
    for half in (light, dark):
        assert [f".regard .w{level} " in half for level in range(21)] == [True] * 21
    # What a notebook gives must not change the notebook.
    rules = [line for line in style().splitlines() if "{" in line and not line.startswith("@")]
    assert all(each.strip().startswith(".regard") for line in rules for each in line.split("{")[0].split(","))


def test_a_fragment_is_one_element_with_no_script() -> None:
    text = fragment(chosen(STUDENTS, "layer1", 1))
    assert text.startswith('<div class="regard">')
    assert text.endswith("</div>")
    assert "<script" not in text
    assert "layer1, head 1" in text
    assert Parsed(text).found[0][0] == "div"
    assert f"{STUDENTS.target.labels[0]} ← {STUDENTS.source.labels[0]}" in text


def test_empty_traces_make_pages() -> None:
    for source, target in ((Axis(()), Axis(())), (Axis(("a",)), Axis(())), (Axis(()), Axis(("x",)))):
        assert weights_of(page(made(source, target, 1, 1)))[0] == [[] for _ in target.labels]
    nothing = Heatmap(torch.zeros(1, 2), Axis(("a", "b")), Axis(("x",)))
    assert fragment(nothing).count('class="w0 faint"') == 2
    with pytest.raises(Fault, match="nothing read"):
        page(Trace(Axis(("a",)), Axis(("x",)), ()))


def test_saved_is_the_page_and_the_same_each_time(tmp_path: Path) -> None:
    save(STUDENTS, tmp_path / "a.html", reader="layer0", title="Where?")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page(STUDENTS, "layer0", None, "Where?")
    assert "<h1 dir=auto>Where?</h1>" in page(STUDENTS, title="Where?")
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]
