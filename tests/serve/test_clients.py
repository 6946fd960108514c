"""Clients that exist, unchanged, against a running server: two installed ones, and requests as two more send them."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import httpx
import pytest
from running import Running, running

ENGLISH = "Where do you live?"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """The bundle that ships, with every default."""
    with running() as one:
        yield one


@pytest.fixture(scope="module")
def answer(server: Running) -> str:
    text = server.post("/translate", q=ENGLISH, source="en", target="mr").json()["translatedText"]
    assert isinstance(text, str)
    assert any("\u0900" <= letter <= "\u097f" for letter in text)
    return text


@pytest.mark.parametrize("slash", ["", "/"])
def test_libretranslatepy(server: Running, answer: str, slash: str) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(server.url + slash)
    assert client.translate(ENGLISH, "en", "mr") == answer
    assert client.translate(ENGLISH, "auto", "mr") == answer
    assert client.detect(ENGLISH) == [{"confidence": 100.0, "language": "en"}]
    languages = client.languages()
    assert {each["code"]: each["targets"] for each in languages} == {"en": ["en", "mr"], "mr": ["mr"]}
    assert {each["name"] for each in languages} == {"English", "Marathi"}


def test_libretranslatepy_sends_a_key(server: Running, answer: str) -> None:
    from libretranslatepy import LibreTranslateAPI

    assert LibreTranslateAPI(server.url, api_key="x").translate(ENGLISH, "en", "mr") == answer


def test_deep_translator(answer: str) -> None:
    """It has a list of languages of its own, without Marathi: the bundle goes by a code that it knows."""
    from deep_translator import LibreTranslator

    with running("--model", "en-hi=en-mr") as server:
        client = LibreTranslator(source="en", target="hi", custom_url=f"{server.url}/", api_key="x")
        assert client.translate(ENGLISH) == answer
        assert client.translate_batch([ENGLISH, ENGLISH]) == [answer, answer]
        by_itself = LibreTranslator(source="auto", target="hi", custom_url=f"{server.url}/", api_key="x")
        assert by_itself.translate(ENGLISH) == answer


def test_mastodon(server: Running, answer: str) -> None:
    """app/lib/translation_service/libre_translate.rb: JSON, a list, html, and no key."""
    asked = {"q": [f"<p>{ENGLISH}</p>", "<p>I &amp; you</p>"], "source": "en", "target": "mr", "format": "html"}
    found = httpx.post(f"{server.url}/translate", json=asked | {"api_key": None}, timeout=60).json()
    assert found["translatedText"][0] == f"<p>{answer}</p>"
    assert found["translatedText"][1].startswith("<p>")
    assert "detectedLanguage" not in found
    asked["source"] = "auto"
    found = httpx.post(f"{server.url}/translate", json=asked, timeout=60).json()
    assert [each["language"] for each in found["detectedLanguage"]] == ["en", "en"]
    known = {each["code"]: each["targets"] for each in httpx.get(f"{server.url}/languages").json()}
    assert "mr" in known["en"]


def test_weblate(server: Running, answer: str) -> None:
    """weblate/machinery/libretranslate.py: JSON, a key that may be empty, a list of texts, placeholders as [X7X]."""
    assert httpx.get(f"{server.url}/languages").json()[0]["code"] == "en"
    asked = {"q": [ENGLISH, "Hello [X7X], you have %(count)s books"], "source": "en", "target": "mr", "api_key": ""}
    found = httpx.post(f"{server.url}/translate", json=asked, timeout=60).json()["translatedText"]
    assert found[0] == answer
    assert found[1].count("[X7X]") == 1
    assert found[1].count("%(count)s") == 1
    form = {"q": ENGLISH, "source": "en", "target": "mr", "format": "text", "api_key": ""}
    assert httpx.post(f"{server.url}/translate", data=form, timeout=60).json() == {"translatedText": answer}


@pytest.mark.parametrize("body", [b"", b"api_key=x"])
def test_a_get_may_have_a_body(server: Running, body: bytes) -> None:
    asked = urllib.request.Request(f"{server.url}/languages", data=body, method="GET")
    with urllib.request.urlopen(asked, timeout=20) as answer:
        assert answer.status == 200
