"""What is cut is spelled back exactly, and every piece knows the characters it stands for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.fault import Fault
from regard.source.batch import BOS, EOS, PAD, UNK
from regard.source.vocabulary import Kind, Vocabulary, learn

KINDS: tuple[Kind, ...] = ("bpe", "unigram", "word", "char")
TEXTS = [
    "Rahul is a good boy.",
    "Tom's friend doesn't like rain, does he?",
    "the rain in Spain stays mainly in the plain",
    "a (small) thing <s> of 1250 words... e-mail!!",
    "राहुल एक चांगला मुलगा आहे.",
    "त्यासाठी टॉम जबाबदार होता; क्‍ष र्‍य १२५० पाऊस",
    "मी मराठी शिकतो आहे. ही नदी मोठी आहे का?",
    "犬が好きです 犬も好きです",
] * 3
WORDS = sorted({word for text in TEXTS for word in text.split(" ")})
ALPHABET = sorted({character for text in TEXTS for character in text})

known = st.text(st.sampled_from(ALPHABET), max_size=24)
sentences = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
anything = known | sentences | st.text(max_size=12) | st.text(st.sampled_from("▁ a<s>/\0\n\u00a0🦆"), max_size=8)
kinds = st.sampled_from(KINDS)


@cache
def vocabulary(kind: Kind) -> Vocabulary:
    return learn(kind, 400, TEXTS)


@given(kind=kinds, text=known | sentences)
def test_decoding_gives_back_the_text(kind: Kind, text: str) -> None:
    tokens = vocabulary(kind).encode(text)
    if kind == "word" and UNK in tokens.ids:  # known characters may make an unknown word
        return
    assert UNK not in tokens.ids
    assert vocabulary(kind).decode(tokens.ids) == text
    assert vocabulary(kind).spell(tokens.ids) == (text, tokens.spans)


@given(kind=kinds, text=anything)
def test_unknown_text_is_given_back_when_it_is_told(kind: Kind, text: str) -> None:
    tokens = vocabulary(kind).encode(text)
    told = [text[start:end] for start, end in tokens.spans]
    spelled, spans = vocabulary(kind).spell(tokens.ids, unknown=told)
    if kind != "word":
        assert (spelled, spans) == (text, tokens.spans)
    assert [spelled[start:end] for start, end in spans] == told


@given(kind=kinds, text=anything)
def test_spans_go_forward_and_leave_out_only_spaces(kind: Kind, text: str) -> None:
    tokens = vocabulary(kind).encode(text)
    assert len(tokens.ids) == len(tokens.spans)
    reached = 0
    for number, (start, end) in zip(tokens.ids, tokens.spans, strict=True):
        assert reached <= start <= end
        assert text[reached:start] in ("", " ")
        label = vocabulary(kind).labels[number]
        if number != UNK and kind != "char" and label != "▁":
            assert text[start:end] == label.removeprefix("▁")
        reached = end
    assert reached == len(text)


@given(texts=st.lists(anything, max_size=5), kind=kinds)
def test_all_at_once_is_one_by_one(texts: list[str], kind: Kind) -> None:
    assert vocabulary(kind).encode_all(texts) == [list(vocabulary(kind).encode(text).ids) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_specials(kind: Kind) -> None:
    learned = vocabulary(kind)
    assert learned.labels[:4] == ("<pad>", "<s>", "</s>", "<unk>")
    assert len(learned) == len(learned.labels) == len(set(learned.labels)) <= 400
    ids = learned.encode("the rain").ids
    assert learned.decode([BOS, *ids, EOS, PAD]) == "the rain"
    text, spans = learned.spell([BOS, *ids, EOS])
    assert spans[0] == (0, 0)
    assert spans[-1] == (len(text), len(text))
    for special in learned.labels[:4]:  # text that spells a special is text
        assert not {PAD, BOS, EOS} & set(learned.encode(f"{special} a {special}b").ids)
    assert set(learned.encode("▁ \0").ids) & {UNK}


def test_an_unknown_word_is_replaced_with_its_space() -> None:
    learned = vocabulary("word")
    ids = learned.encode("Rahul is Zorba.").ids
    assert learned.decode(ids) == "Rahul is <unk>."
    replaced, spans = learned.spell(ids, unknown=["", "", "Zorba", ""])
    assert replaced == "Rahul is Zorba."
    assert [replaced[start:end] for start, end in spans] == ["Rahul", "is", "Zorba", "."]


def test_words_signs_and_digits_are_kept_apart() -> None:
    bpe, word = vocabulary("bpe"), vocabulary("word")
    assert all(len(label) <= 2 for label in bpe.labels[4:] if any(map(str.isdigit, label)))
    assert not any("." in label.strip(".▁") or label.endswith("n.") for label in (*bpe.labels, *word.labels))
    assert "▁1250" in word.labels
    assert "▁Tom's" in bpe.labels
    assert "▁Tom" in word.labels


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_the_same_vocabulary(kind: Kind) -> None:
    text = vocabulary(kind).to_json()
    again = Vocabulary.from_json(text, "v.json")
    assert (again.to_json(), again.kind, again.labels) == (text, kind, vocabulary(kind).labels)
    assert again.encode(TEXTS[0]) == vocabulary(kind).encode(TEXTS[0])


def test_what_is_no_vocabulary() -> None:
    file = json.loads(vocabulary("word").to_json())
    file["model"]["vocab"] = {"<unk>": 0, "a": 1}
    for text in ("", "{}", "[1]", '{"model": {"type": "WordPiece"}}', json.dumps(file)):
        with pytest.raises(Fault, match=r"^v\.json: is"):
            Vocabulary.from_json(text, "v.json")


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_texts(kind: Kind) -> None:
    assert learn(kind, 8000, iter(["a"])).encode("a").ids
    assert len(learn(kind, 10, TEXTS)) <= 10
    for size, texts, said in ((3, ["a"], "too small"), (100, ["", ""], "no text"), (100, [], "no text")):
        with pytest.raises(Fault, match=said):
            learn(kind, size, texts)


def test_the_same_texts_give_the_same_bytes_in_every_process() -> None:
    """The hash tables of Python and of Rust are walked in another order each time."""
    program = (
        "import sys, hashlib; from regard.source.vocabulary import learn; "
        "texts = sys.stdin.read().splitlines(); "
        "[print(hashlib.sha256(learn(k, n, texts).to_json().encode()).hexdigest()) "
        "for k in ('bpe', 'unigram', 'word', 'char') for n in (60, 150, 300)]"
    )
    texts = "\n".join(TEXTS + [word[::-1] for word in WORDS])
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=texts.encode(),
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1
    assert len(next(iter(found)).split()) == 12
