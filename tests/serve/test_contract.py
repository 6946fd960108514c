"""The LibreTranslate contract: routes, encodings, field names, error texts, the order of checks, CORS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from running import Running, running

GOOD = {"q": "Where do you live?", "source": "en", "target": "mr"}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """The bundle that ships, with every default."""
    with running() as one:
        yield one


def error(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert list(found) == ["error"]
    return str(found["error"])


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": "x"}, "Invalid request: missing source parameter"),
        ({"q": "x", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": "x", "source": "en", "alternatives": "x"}, "Invalid request: missing target parameter"),
        (GOOD | {"alternatives": "x"}, "Invalid request: alternatives parameter is not a number"),
        (GOOD | {"alternatives": [1]}, "Invalid request: alternatives parameter is not a number"),
        (GOOD | {"alternatives": True}, "Invalid request: alternatives parameter is not a number"),
        (GOOD | {"alternatives": 1.5}, "Invalid request: alternatives parameter is not a number"),
        (GOOD | {"alternatives": 5}, "Invalid request: alternatives parameter must be <= 4"),
        (GOOD | {"alternatives": "9" * 400}, "Invalid request: alternatives parameter must be <= 4"),
        (GOOD | {"q": ["x"] * 257, "alternatives": 5}, "Invalid request: alternatives parameter must be <= 4"),
        (GOOD | {"q": ["x" * 100] * 257}, "Invalid request: request (257) exceeds text limit (256)"),
        (GOOD | {"q": ["x" * 100] * 256}, "Invalid request: request (25600) exceeds text limit (20000)"),
        (GOOD | {"q": "x" * 20_001, "source": "zz"}, "Invalid request: request (20001) exceeds text limit (20000)"),
        (GOOD | {"source": "zz", "target": "yy"}, "zz is not supported"),
        (GOOD | {"target": "yy", "format": "xml"}, "yy is not supported"),
        (GOOD | {"source": "mr", "target": "en", "format": "xml"}, "xml format is not supported"),
        (
            GOOD | {"source": "mr", "target": "en"},
            "English (en) is not available as a target language from Marathi (mr)",
        ),
        (
            GOOD | {"q": "तू कुठे राहतोस?", "source": "auto", "target": "en"},
            "English (en) is not available as a target language from Marathi (mr)",
        ),
        (GOOD | {"q": 7}, "Invalid request: q parameter is not a string, nor a list of strings"),
        (GOOD | {"q": ["x", None]}, "Invalid request: q parameter is not a string, nor a list of strings"),
        (GOOD | {"source": ["en"]}, "Invalid request: source parameter is not a string"),
        (GOOD | {"target": {"a": 1}}, "Invalid request: target parameter is not a string"),
        (GOOD | {"format": 7}, "7 format is not supported"),
        (GOOD | {"alignment": "perhaps"}, "Invalid request: alignment parameter is not true or false"),
        (
            GOOD | {"glossary": {"a": "b"}},
            "Invalid request: this server has no glossary; leave the glossary parameter out",
        ),
        (
            GOOD | {"format": "html", "alignment": True},
            "Invalid request: alignment parameter counts characters of a text; it needs the text format",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_words_that_clients_know(
    server: Running, fields: dict[str, Any], text: str
) -> None:
    answer = server.post("/translate", **fields)
    assert answer.status_code == 400
    assert error(answer) == text


NO_JSON = (
    *(b"", b"{", b"[]", b"7", b"nonsense", b"\x00", b"null", b'{"q": "x" "source"}', b'{"q": "\xff"}'),
    *(b"[" * 100_000, b'{"q":' * 50_000, b'{"alternatives": 1' + b"0" * 9_999 + b"}"),
)


@pytest.mark.parametrize("body", NO_JSON)
def test_what_is_no_json(server: Running, body: bytes) -> None:
    for path in ("/translate", "/detect", "/suggest"):
        answer = httpx.post(server.url + path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400 or (path == "/suggest" and answer.status_code == 403)
        assert error(answer) == "Invalid JSON format"


def test_all_encodings_say_the_same(server: Running) -> None:
    url = f"{server.url}/translate"
    answers = [
        httpx.post(url, json=GOOD, timeout=60),
        httpx.post(url, data=GOOD, timeout=60),
        httpx.post(url, params=GOOD, timeout=60),
        httpx.post(url, files={key: (None, value) for key, value in GOOD.items()}, timeout=60),
        httpx.post(url, params={"source": "en"}, data={"q": GOOD["q"], "target": "mr"}, timeout=60),
        httpx.post(
            url, content=json.dumps(GOOD), headers={"content-type": "application/json; charset=utf-8"}, timeout=60
        ),
        httpx.post(
            url, content=b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), headers={"content-type": "application/json"}
        ),
    ]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert list(answers[0].json()) == ["translatedText"]


def test_a_form_that_repeats_q_is_a_batch(server: Running) -> None:
    body = "q=Who+are+you%3F&q=&q=%F0%9F%98%80&source=en&target=mr"
    form = {"content-type": "application/x-www-form-urlencoded"}
    answer = httpx.post(f"{server.url}/translate", content=body, headers=form).json()["translatedText"]
    assert len(answer) == 3
    assert answer[1:] == ["", "😀"]
    for broken in (b"q=%ff&source=en", b"q=\xff&source=en"):
        answered = httpx.post(f"{server.url}/translate", content=broken, headers=form)
        assert error(answered) == "Invalid request: the body is not UTF-8"
    many = httpx.post(f"{server.url}/translate", content="&".join(f"a{n}=1" for n in range(1_001)), headers=form)
    assert error(many) == "Invalid request: the body has more than 1000 fields"


def test_a_batch_has_one_of_everything_for_each(server: Running) -> None:
    texts = ["Who are you?", "तू कोण आहेस?", "", "12", "I have a dog. Do you?"]
    asked = {"q": texts, "source": "auto", "target": "mr", "alternatives": 2, "alignment": True, "confidence": True}
    answer = server.post("/translate", **asked, attention=True).json()
    for key in ("translatedText", "detectedLanguage", "alternatives", "alignment", "confidence", "attention"):
        assert len(answer[key]) == len(texts), key
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en", "mr", "en", "en", "en"]
    assert [each["confidence"] for each in answer["detectedLanguage"]][2:4] == [0, 0]
    assert answer["translatedText"][1:4] == texts[1:4]
    assert len(answer["attention"][4]) == 2  # of each sentence
    for text, translation, links in zip(texts, answer["translatedText"], answer["alignment"], strict=True):
        for link in links:
            for side, whole in ((link["source"], text), (link["target"], translation)):
                assert whole[side["start"] : side["end"]] == side["text"] != ""
            assert 0 <= link["probability"] <= 1


def test_alternatives_are_others(server: Running) -> None:
    plain = server.post("/translate", **GOOD).json()
    answer = server.post("/translate", **GOOD, alternatives=3).json()
    assert answer["translatedText"] == plain["translatedText"]
    assert 1 <= len(answer["alternatives"]) <= 3
    assert len({answer["translatedText"], *answer["alternatives"]}) == len(answer["alternatives"]) + 1
    assert "alternatives" not in plain
    assert server.post("/translate", **GOOD, alternatives=-3).json() == plain
    assert server.post("/translate", **GOOD, alternatives="0", format=None, api_key=None).json() == plain


def test_attention_is_what_the_links_are_read_off(server: Running) -> None:
    answer = server.post("/translate", **GOOD, attention=True, alignment=True).json()
    (seen,) = answer["attention"]
    assert seen["source"] == ["Where", "do", "you", "live?", "</s>"]
    assert [len(row) for row in seen["weights"]] == [5] * len(seen["target"])
    for link in answer["alignment"]:
        row = seen["weights"][seen["target"].index(link["target"]["text"])]
        assert seen["source"][row.index(max(row[:-1]))] == link["source"]["text"]


@pytest.mark.parametrize(
    "text", ["😀", "😀👍🏽 ❤️", "12:30", "...", " \n\t ", "https://example.org", "\u200f\u202e", "\x00"]
)
def test_what_has_no_word_comes_back_unchanged(server: Running, text: str) -> None:
    assert server.post("/translate", q=text, source="en", target="mr").json()["translatedText"] == text


@pytest.mark.parametrize(
    "text",
    ["\ud800", "a\udfffb", "x" * 15_000, "a" * 9_999 + " b", "\x00 Hello \x00", "مرحبا \u202e hello", "\U000f0000"],
)
def test_hostile_text_is_answered(server: Running, text: str) -> None:
    body = json.dumps({"q": text, "source": "en", "target": "mr"})
    answer = httpx.post(
        f"{server.url}/translate", content=body, headers={"content-type": "application/json"}, timeout=60
    )
    assert answer.status_code == 200
    assert isinstance(answer.json()["translatedText"], str)


def test_lines_and_the_space_around_stay(server: Running) -> None:
    text = "  Who are you?\n\n\tWhere do you live?  \r\n"
    lines = server.post("/translate", q=text, source="en", target="mr").json()["translatedText"].split("\n")
    assert [line.strip() == "" for line in lines] == [False, True, False, True]
    assert lines[0].startswith("  ")
    assert lines[2].startswith("\t")
    assert lines[2].endswith("  \r")


def test_codes_of_regions_are_understood(server: Running) -> None:
    plain = server.post("/translate", **GOOD).json()
    for source, target in (("EN", "mr-IN"), ("en_US", "MR")):
        assert server.post("/translate", q=GOOD["q"], source=source, target=target).json() == plain


def test_detect(server: Running) -> None:
    assert server.post("/detect", q="Where do you live?").json() == [{"confidence": 100.0, "language": "en"}]
    assert server.post("/detect", q=["तू कोण", "आहेस?"]).json() == [{"confidence": 100.0, "language": "mr"}]
    assert server.post("/detect", q="123").json() == [{"confidence": 0.0, "language": "en"}]
    assert error(server.post("/detect")) == "Invalid request: missing q parameter"
    assert error(server.post("/detect", q=[7])) == "Invalid request: q parameter is not a string, nor a list of strings"


def test_what_a_page_has_to_know(server: Running) -> None:
    assert server.get("/frontend/settings").json() == {
        "charLimit": 20_000,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": [".txt", ".html", ".htm", ".srt", ".vtt"],
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": "mr", "name": "Marathi"},
        },
    }


def test_pages_are_there_and_load_nothing(server: Running) -> None:
    assert server.get("/health").json() == {"status": "ok"}
    for path in ("/", "/docs"):
        page = server.get(path)
        assert page.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "<script" not in page.text
        assert "https://" not in page.text
    assert "/translate" in server.get("/docs").text
    assert "Marathi" in server.get("/").text


@pytest.mark.parametrize("path", ["/translate", "/detect", "/suggest", "/translate_file"])
def test_a_wrong_method(server: Running, path: str) -> None:
    answer = server.get(path)
    assert answer.status_code == 405
    assert error(answer) == "Method Not Allowed"
    assert answer.headers["allow"] == "POST"
    assert httpx.put(server.url + "/languages").status_code == 405


def test_pages_of_other_sites_may_ask(server: Running) -> None:
    for answer in (
        server.post("/translate", **GOOD),
        server.post("/translate"),
        server.get("/languages"),
        server.get("/nowhere"),
        httpx.options(
            f"{server.url}/translate", headers={"origin": "https://x.org", "access-control-request-method": "POST"}
        ),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
        assert "content-type" in answer.headers["access-control-allow-headers"].lower()
    assert answer.status_code == 204


def test_nothing_else_is_there(server: Running) -> None:
    for path in (
        "/nowhere",
        "/translate/",
        "/download_file/x",
        "/download_file/..%2f..%2fetc%2fpasswd",
        "/download_file/",
        "//",
    ):
        answer = server.get(path)
        assert answer.status_code == 404, path
        assert "/" not in error(answer)


def test_figures_hold_nothing_personal(server: Running) -> None:
    key = "a-key-that-nobody-has"
    text = "Zanzibar is far away."
    server.post("/translate", q=text, source="en", target="mr", api_key=key)
    server.get("/a/path/that/somebody/made/up?x=y")
    figures = server.get("/metrics").text
    assert 'regard_requests_total{route="/translate",status="200"}' in figures
    assert 'regard_requests_total{route="other",status="404"}' in figures
    assert 'regard_characters_total{source="en",target="mr"}' in figures
    assert "regard_batch_sentences_bucket" in figures
    assert "process_resident_memory_bytes" in figures
    for personal in (key, "Zanzibar", "127.0.0.1", "somebody"):
        assert personal not in figures


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [("a b.txt", "Who are you?\nAnd I?\n", "txt"), ("x.HTML", "<p>Who <b>are</b> you?</p>", "html")],
)
def test_files(server: Running, name: str, content: str, kind: str) -> None:
    asked = {"data": {"source": "auto", "target": "mr"}, "files": {"file": (name, content.encode())}}
    answer = httpx.post(f"{server.url}/translate_file", **asked, timeout=60)  # type: ignore[arg-type]
    url = answer.json()["translatedFileUrl"]
    assert url.startswith(f"{server.url}/download_file/")
    assert url.endswith(f".{kind}")
    file = httpx.get(url)
    assert file.headers["content-disposition"].endswith(f'_mr.{kind}"')
    assert file.headers["content-type"] == "application/octet-stream"
    assert any("\u0900" <= letter <= "\u097f" for letter in file.text)
    assert file.text.count("\n") == content.count("\n")
    assert file.text.count("<") == content.count("<")


def test_files_that_are_refused(server: Running) -> None:
    url = f"{server.url}/translate_file"
    ways = {"source": "en", "target": "mr"}
    for data, files, text in (
        (
            ways,
            {"file": ("x.docx", b"PK")},
            "Invalid request: file format not supported; it may be .txt, .html, .htm, .srt, .vtt",
        ),
        (ways, {"file": ("x.txt", b"\xff\xfe")}, "Invalid request: the file is not UTF-8 text"),
        (ways, {"other": ("x.txt", b"a")}, "Invalid request: missing file parameter"),
        ({"source": "en"}, {"file": ("x.txt", b"a")}, "Invalid request: missing target parameter"),
        ({"source": "zz", "target": "mr"}, {"file": ("x.txt", b"a")}, "zz is not supported"),
        (
            ways,
            {"file": ("x.txt", b"a" * ((1 << 20) + 1))},
            "Invalid request: the file (1048577) exceeds the limit of 1048576 bytes",
        ),
    ):
        answer = httpx.post(url, data=data, files=files, timeout=60)
        assert answer.status_code == 400
        assert error(answer) == text
    assert error(httpx.post(url, data={**ways, "file": ""})) == "Invalid request: missing file parameter"
    assert httpx.post(url, data={**ways, "file": "12"}).json()["translatedFileUrl"].endswith(".txt")
    broken = httpx.post(url, content=b"--x\r\nnonsense", headers={"content-type": "multipart/form-data"})
    assert broken.status_code == 400
    assert "the form cannot be read" in error(broken)


def test_suggestions_are_refused_where_nobody_wants_them(server: Running) -> None:
    answer = server.post("/suggest", q="x", s="y", source="en", target="mr")
    assert answer.status_code == 403
    assert error(answer) == "Suggestions are disabled on this server."


def test_keys_limits_and_suggestions(tmp_path: Any) -> None:
    keys, table = tmp_path / "keys", tmp_path / "suggestions.tsv"
    keys.write_text("# ours\none-key\nother-key ✓\n", encoding="utf-8")
    words = [
        "--keys",
        keys,
        "--suggestions",
        table,
        "--characters",
        30,
        "--batch",
        2,
        "--alternatives",
        0,
        "--no-files",
    ]
    with running(*map(str, words), "--each-minute", "40") as server:
        told = server.get("/frontend/settings").json()
        assert (told["charLimit"], told["keyRequired"], told["suggestions"], told["filesTranslation"]) == (
            30,
            True,
            True,
            False,
        )
        for key in (None, "", "wrong", "one-key ", 7, ["one-key"]):
            answer = server.post("/translate", q="Hello", source="en", target="mr", api_key=key)
            assert (answer.status_code, error(answer)) == (403, "Invalid API key")
        for key in ("one-key", "other-key ✓"):
            assert server.post("/translate", q="Hello", source="en", target="mr", api_key=key).status_code == 200
        known = {"api_key": "one-key"}
        assert error(server.post("/translate", q="x" * 31, source="en", target="mr", **known)).endswith(
            "exceeds text limit (30)"
        )
        assert error(server.post("/translate", q=["x"] * 3, source="en", target="mr", **known)).endswith(
            "(3) exceeds text limit (2)"
        )
        assert error(server.post("/translate", q="x", source="en", target="mr", alternatives=1, **known)).endswith(
            "must be <= 0"
        )
        assert server.post("/detect", q="Hello").status_code == 403
        done = server.post("/suggest", q="Hello\tyou", s="नमस्कार\nतू", source="en", target="mr", **known)
        assert done.json() == {"success": True}
        assert table.read_text(encoding="utf-8") == "Hello you\tनमस्कार तू\ten-mr\n"
        file = httpx.post(
            f"{server.url}/translate_file",
            data={"source": "en", "target": "mr", **known},
            files={"file": ("a.txt", b"a")},
        )
        assert (file.status_code, error(file)) == (403, "Files translation are disabled on this server.")
        answers = [server.get("/health") for _ in range(45)]
        slow = next(each for each in answers if each.status_code == 429)
        assert error(slow) == "Slowdown: 40 per 1 minute"
        assert int(slow.headers["retry-after"]) > 0
