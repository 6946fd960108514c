"""Typeface: a letter that cannot be drawn is said, with what to install; it never becomes a silent box."""

from __future__ import annotations

import pytest

from regard.trace import typeface
from regard.trace.typeface import embedded, families, missing


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any font but ours."""
    from matplotlib import font_manager

    fonts = font_manager.fontManager
    families("")
    ours = [entry for entry in fonts.ttflist if entry.name in typeface.FAMILY]
    monkeypatch.setattr(fonts, "ttflist", ours)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)


def test_english_and_marathi_need_no_other_font() -> None:
    text = "Where? “naïve” — 50% चांगले विद्यार्थ्यांनी ऱ्या ॐ १२३। \u200d\u200c\n"
    assert families(text) == ["Regard Sans", "DejaVu Sans"]
    assert missing([text]) is None
    assert missing([]) is None


@pytest.mark.usefixtures("bare")
def test_scripts_and_packages_are_named_once() -> None:
    assert missing(["বাংলা বই", "ไทย", "日本", "ひらがな 한국", "a"]) == (
        "boxes stand for letters that no font on this machine has: "
        "Bengali (ং ই ব), Thai (ท ย ไ): install fonts-noto-core; "
        "Hiragana (が な ひ), CJK (日 本), Hangul (국 한): install fonts-noto-cjk"
    )
    assert missing(["🙂"]) == (
        "boxes stand for letters that no font on this machine has: symbols (🙂): install fonts-symbola"
    )


@pytest.mark.usefixtures("bare")
def test_a_font_that_was_installed_since_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import font_manager

    fonts, added = font_manager.fontManager, []
    held = typeface._held
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: ["/fonts/New.ttf", "/fonts/broken.ttf"])
    monkeypatch.setattr(
        typeface, "_held", lambda path: frozenset({0x1E903}) if path == "/fonts/New.ttf" else held(path)
    )

    def add(path: str) -> None:
        if "broken" in path:
            raise RuntimeError("no font")
        added.append(path)
        fonts.ttflist.append(font_manager.FontEntry(path, 0, "New", "normal", "normal", 400, "normal", "scalable"))

    monkeypatch.setattr(fonts, "addfont", add)
    assert families("a\U0001e903") == ["Regard Sans", "DejaVu Sans", "New"]
    assert missing(["\U0001e903"]) is None
    assert added == ["/fonts/New.ttf"]


def test_only_what_is_needed_is_embedded() -> None:
    assert embedded("plain English, naïve") == ""
    assert embedded("日本語") == ""
    few, more = embedded("मी"), embedded("विद्यार्थ्यांनी पुस्तके कुठून ज्ञानेश्वर")
    assert 0 < len(few) < len(more) < 120_000
    assert embedded("मी") == few
