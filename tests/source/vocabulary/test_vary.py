"""A varied text is the same text, chosen by seed, epoch, sentence and place alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.source.vocabulary import Kind, Vary, Vocabulary, learn

PAIRS = (Path(__file__).parents[3] / "examples" / "pairs.tsv").read_text(encoding="utf-8").splitlines()
TEXTS = ["the rain in Spain stays mainly in the plain", "नमस्कार मित्रांनो, नमस्कार पावसा", "he sings, she sang"] * 4


@cache
def vocabulary(kind: Kind) -> Vocabulary:
    return learn(
        kind,
        300 if kind in {"bpe", "unigram"} else 9000,
        [*TEXTS, *(side for pair in PAIRS for side in pair.split("\t")[:2])],
    )


@cache
def vary(kind: Kind, dropout: float = 0.3, seed: int = 1) -> Vary:
    return Vary(vocabulary(kind), dropout, seed)


def varied(by: Vary, rows: list[list[int]], epoch: int, numbers: list[int]) -> list[list[int]]:
    flat = np.array([number for row in rows for number in row], dtype=np.int64)
    ids, lengths = by.rows(flat, np.array([len(row) for row in rows], dtype=np.int64), epoch, np.array(numbers))
    ends = np.cumsum(lengths)
    return [ids[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("dropout", [0.1, 0.9])
def test_every_variant_spells_its_piece(kind: Kind, dropout: float) -> None:
    labels = vocabulary(kind).labels
    several = 0
    for number, label in enumerate(labels):
        variants = vary(kind, dropout).variants(number)
        assert len(variants) == 32
        assert {"".join(labels[part] for part in variant) for variant in variants} == {label}
        several += len({tuple(variant) for variant in variants}) > 1
    assert several > 20


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
@given(
    texts=st.lists(st.sampled_from([*TEXTS, ""]), min_size=1, max_size=4),
    epoch=st.integers(0, 9),
    at=st.integers(0, 3),
)
def test_rows_spell_the_same_alone_and_together(kind: Kind, texts: list[str], epoch: int, at: int) -> None:
    rows = vocabulary(kind).encode_all(texts)
    numbers = [7 * number for number in range(len(rows))]
    together = varied(vary(kind), rows, epoch, numbers)
    assert [vocabulary(kind).decode(row) for row in together] == texts
    at %= len(rows)
    assert varied(Vary(vocabulary(kind), 0.3, 1), [rows[at]], epoch, [numbers[at]]) == [together[at]]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_seeds_epochs_sentences_and_places_differ(kind: Kind) -> None:
    rows = vocabulary(kind).encode_all([" ".join(pair.split("\t")[0] for pair in PAIRS[:60])] * 2)
    seen = {
        tuple(row) for seed in (1, 2) for epoch in (0, 1) for row in varied(vary(kind, 0.5, seed), rows, epoch, [0, 1])
    }
    assert len(seen) == 8
    several = (each for each in range(300) if len(set(map(tuple, vary(kind, 0.5).variants(each)))) > 1)
    word = next(each for each in several if [each] in vary(kind, 0.5).variants(each))
    places = varied(vary(kind, 0.5), [[word] * 200], 0, [0])[0]
    whole = places.count(word)
    assert 0 < whole < 200


@pytest.mark.parametrize("kind", ["word", "char"])
def test_nothing_to_vary(kind: Kind) -> None:
    rows = vocabulary(kind).encode_all(TEXTS)
    assert varied(vary(kind, 0.9), rows, 0, list(range(len(rows)))) == rows


def test_the_share_of_changed_pieces_follows_the_dropout() -> None:
    learned = vocabulary("bpe")
    pairs = [number for number, label in enumerate(learned.labels) if number > 3 and len(label) == 2]
    for dropout in (0.1, 0.5):
        each = [len(way) == 2 for number in pairs for way in vary("bpe", dropout).variants(number)]
        assert abs(float(np.mean(each)) - dropout) < 0.05
    assert varied(Vary(learned, 0.0, 1), [[5, 6]], 0, [0]) == [[5, 6]]
