"""Which language a text is in, told by vocabularies alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.serve.detect import Detector, Profile
from regard.source.vocabulary import learn

ENGLISH = ["We live here.", "Who are you?", "I have a dog.", "He lives in Pune.", "The house is red."] * 5
FRENCH = ["Nous habitons ici.", "Qui êtes-vous ?", "J'ai un chien.", "Il vit à Paris.", "La maison est rouge."] * 5
MARATHI = ["आम्ही इथे राहतो.", "तू कोण आहेस?", "माझ्याकडे कुत्रा आहे.", "तो पुण्यात राहतो."] * 5
TEXTS = {"en": ENGLISH, "fr": FRENCH, "mr": MARATHI}


@pytest.fixture(scope="module", params=["bpe", "unigram", "word", "char"])
def detector(request: pytest.FixtureRequest) -> Detector:
    return Detector([Profile(code, learn(request.param, 120, texts)) for code, texts in TEXTS.items()])


def test_its_own_sentences_are_known(detector: Detector) -> None:
    for code, texts in TEXTS.items():
        for text in texts[:5]:
            found = detector.detect([text])
            assert found[0].language == code, (text, found)


def test_scripts_are_told_for_certain(detector: Detector) -> None:
    assert detector.detect(["तो इथे राहतो."])[0].language == "mr"
    assert detector.detect(["We live here."])[0].language == "en"


def test_what_no_vocabulary_can_spell_is_not_trusted(detector: Detector) -> None:
    assert detector.detect(["你好，世界"])[0].confidence < 1
    for text in ("", "123", "😀", "..."):
        assert detector.detect([text])[0].confidence == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=3))
def test_whatever_is_asked_the_answer_is_ranked_and_in_bounds(texts: list[str]) -> None:
    detector = Detector([Profile(code, learn("char", 60, known)) for code, known in TEXTS.items()])
    found = detector.detect(texts)
    assert found
    assert sum(each.confidence for each in found) <= 100.001
    assert [each.confidence for each in found] == sorted((each.confidence for each in found), reverse=True)
    assert all(0 <= each.confidence <= 100 for each in found)


def test_where_nothing_tells_two_languages_apart_the_confidence_says_so() -> None:
    shared = learn("bpe", 200, ENGLISH + FRENCH)
    found = Detector([Profile("en", shared), Profile("fr", shared)]).detect(["We live here."])
    assert [round(each.confidence) for each in found] == [50, 50]
