"""HTML comes out with every tag exactly once, well nested, whatever the model does with the words."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from html import escape, unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from voices import exact, saying, shuffled

from regard.fault import Fault
from regard.serve.document import ending, html, plain, subtitles
from regard.serve.markup import INLINE, VOID, Run, parsed
from regard.serve.refusal import Refusal
from regard.serve.turn import Turner

BLOCKS = ("p", "div", "li", "h1", "td", "section")
LINE = ("b", "i", "a", "em", "span", "u", "my-word")
TAG = re.compile(r"""<!--.*?-->|</?\w(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.DOTALL)

words = st.text("abcdeé&<>'\"नमस्ते.,! \n", min_size=1, max_size=12)
points = st.sampled_from(["<br>", "<img src='x.png' alt='a &gt; b'>", "<br/>", "<!-- a > b -->", "<wbr>", "<input>"])
verbatim = st.sampled_from(
    ["<code>ls  -l &amp;</code>", "<span translate='no'>Tom &lt;3</span>", "<script>a<b</script>"]
)


def elements(names: tuple[str, ...], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    attributes = st.sampled_from(["", " href='?a=1&amp;b=2'", ' class="x y"', " title='<b>'"])
    tags = st.tuples(st.sampled_from(names), attributes, st.lists(inner, max_size=4))
    return tags.map(lambda made: f"<{made[0]}{made[1]}>{''.join(made[2])}</{made[0]}>")


line = st.recursive(words.map(escape) | points | verbatim, lambda inner: elements(LINE, inner), max_leaves=12)
# without < and >: what looks like a tag once it is read is kept whole, and no point can stay within it
plain_words = st.text("abcdeé&'\"नमस्ते.,! \n", min_size=1, max_size=12)
apart = st.recursive(
    plain_words.map(lambda word: f" {escape(word)} ") | points, lambda inner: elements((*BLOCKS, *LINE), inner)
)
documents = st.recursive(line, lambda inner: elements((*BLOCKS, *LINE), inner), max_leaves=20)
anything = st.text("abc <>/&;!-=\"'\n☃0123", max_size=60) | st.lists(
    st.sampled_from(
        ["<b>", "</b>", "<i>", "</i>", "<p>", "</p>", "<br>", "a", " ", "<pre>", "</pre>", "<0>", "</0>", "&amp;"]
    )
).map("".join)


def translated(document: str, voice: object = shuffled) -> str:
    return asyncio.run(html(Turner([saying(voice)]), document)).text  # type: ignore[arg-type]


class Nested(HTMLParser):
    """Fails where a tag closes what is not open."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass


def tags(document: str) -> Counter[str]:
    return Counter(TAG.findall(re.sub(r"(?s)<(code|script)>.*?</\1>|<span translate.*?</span>", kept, document)))


def kept(found: re.Match[str]) -> str:
    return f"<{found.group().encode().hex()}>"


@settings(max_examples=400, deadline=None)
@given(documents)
def test_every_tag_comes_out_once_and_well_nested(document: str) -> None:
    done = translated(document)
    assert tags(done) == tags(document)
    Nested(done)


@settings(max_examples=300, deadline=None)
@given(apart)
def test_words_that_stay_in_place_keep_their_tags(document: str) -> None:
    """A voice that writes each word in capitals changes nothing but letters; white space may move around points."""

    def bare(written: str) -> list[str]:
        parts = [each.strip() for each in re.split(f"({TAG.pattern})", written, flags=re.DOTALL)]
        return [each if TAG.fullmatch(each) else unescape(each).upper() for each in parts if each]

    assert bare(translated(document, exact)) == bare(document)


@settings(max_examples=400, deadline=None)
@given(anything)
def test_whatever_comes_is_read_to_the_character(document: str) -> None:
    pieces = parsed(document)
    raw = "".join(each for each in pieces if isinstance(each, str))
    assert all(letter in document for letter in raw)
    done = translated(document)
    assert Counter(re.findall(r"</?[bip]>|<br>", done)) >= Counter(re.findall(r"</?[bip]>|<br>", raw))


@pytest.mark.parametrize(
    ("document", "done"),
    [
        ("<p>Hello <b>small world</b>, and you.</p>", "<p>HELLO <b>SMALL WORLD</b>, AND YOU.</p>"),
        ("a <b>b</b>. <i>C d.</i> E", "A <b>B</b>. <i>C D.</i> E"),
        ("fish &amp; chips &lt;3 &copy;", "FISH &amp; CHIPS &lt;3 ©"),
        ("see <code>ls -l</code> or <a href='x'>this</a>!", "SEE <code>ls -l</code> OR <a href='x'>THIS</a>!"),
        ("<b>one <p>two</p></b>", "<b>ONE <p>TWO</p></b>"),
        ("<b><i>x</b></i> y", "<b><i>X</b></i> Y"),
        ("<ul><li>one<li>two</ul>", "<ul><li>ONE<li>TWO</ul>"),
        ("<0>here</0> and <1/>", "<0>HERE</0> AND <1/>"),
        ("a<br>b", "A<br>B"),
        ("<style>p { color: red }</style><p>x</p>", "<style>p { color: red }</style><p>X</p>"),
        ("<p>un<b>happy</b></p>", "<p><b>UNHAPPY</b></p>"),
        ("", ""),
        ("<img src=x>", "<img src=x>"),
        ("<p>one <script>unclosed", "<p>ONE <script>unclosed"),
    ],
)
def test_pages(document: str, done: str) -> None:
    assert translated(document, exact) == done


def test_a_tag_goes_where_its_word_goes() -> None:
    from regard.serve.markup import Node
    from regard.serve.said import Joined
    from regard.serve.weave import woven

    run = Run("I like red houses.", (Node("<b>", "</b>", 7, 10),), {})
    links = [Joined((7, 10), (0, 3), 1.0), Joined((11, 18), (4, 9), 1.0), Joined((0, 1), (10, 14), 1.0)]
    assert woven(run, "RED HOME MINE", links) == "<b>RED</b> HOME MINE"


def test_tags_of_any_depth_and_number_are_quick() -> None:
    """Twenty thousand characters of tags, as an attacker would send them."""
    for document in (
        "<b>" * 3_000 + "x" + "</b>" * 2_500,
        "<b>a</b> " * 2_200,
        "<b>" * 6_000,
        "</b>" * 5_000,
        "<" * 9_000,
    ):
        done = translated(document, exact)
        assert done.count("<b>") == document.count("<b>")


def test_text_that_is_no_html_keeps_its_lines() -> None:
    done = asyncio.run(plain(Turner([saying(exact)]), "One. Two!\n\n  three\t\r\nfour  "))
    assert done.text == "ONE. TWO!\n\n  THREE\t\r\nFOUR  "


def test_subtitles_keep_their_times() -> None:
    file = "1\n00:00:01,000 --> 00:00:02,500\nHello you.\nAnd me.\n\n2\n00:00:03,000 --> 00:00:04,000\nBye.\n"
    done = asyncio.run(subtitles(Turner([saying(exact)]), file)).text
    assert done == file.replace("Hello you.", "HELLO YOU.").replace("And me.", "AND ME.").replace("Bye.", "BYE.")


def test_files_of_other_kinds_are_refused() -> None:
    assert ending("A.HTML") == ".html"
    assert ending("README") == ".txt"
    for name in ("a.docx", "a.", "a.txt.exe"):
        with pytest.raises(Refusal, match="not supported"):
            ending(name)


def test_what_stands_in_a_line_is_no_block() -> None:
    assert not INLINE & set(BLOCKS)
    assert issubclass(Fault, Exception)
