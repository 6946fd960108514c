"""What is held out was not learned: no sentence and no translation stands on both sides."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.source.hold import SEVERAL, hold_out, plain
from regard.source.report import Report
from regard.source.table import Pair, read

EXAMPLES = Path(__file__).parents[2] / "examples" / "pairs.tsv"
Text = tuple[str, str]

sources = st.sampled_from([f"{word}{sign}" for word in "abcdefghijklmnopqrst" for sign in (".", "!")])
sides = st.lists(st.tuples(sources, st.integers(0, 40).map(str)), max_size=60)


def chosen(texts: Sequence[Text], count: int, seed: int) -> list[bool]:
    held = hold_out((Pair(*text, f"t:{at}") for at, text in enumerate(texts)), count, seed)
    assert len(held) == len(texts)
    return [bool(each) for each in held]


def parts(texts: Sequence[Text], held: Sequence[bool]) -> tuple[list[Text], list[Text]]:
    out = [text for text, taken in zip(texts, held, strict=True) if taken]
    return out, [text for text, taken in zip(texts, held, strict=True) if not taken]


def shared(out: Sequence[Text], kept: Sequence[Text], side: int) -> set[str]:
    return {plain(text[side]) for text in out} & {plain(text[side]) for text in kept}


def joined(texts: Sequence[Text]) -> list[int]:
    """The sizes of the groups that sources and targets hold together, one a pair: grown until nothing joins."""
    groups = [{("s", plain(source)), ("t", plain(target))} for source, target in texts]
    for at in range(len(groups)):
        for other in range(len(groups)):
            if groups[other] is not groups[at] and groups[other] & groups[at]:
                groups[at] |= groups[other]
                merged = groups[other]
                groups = [groups[at] if group is merged else group for group in groups]
    sizes = Counter(map(id, groups))
    return [sizes[id(group)] for group in groups]


@settings(deadline=None)
@given(texts=sides, count=st.integers(0, 9), seed=st.integers(-3, 2**70))
def test_all_translations_of_a_sentence_are_on_one_side(texts: list[Text], count: int, seed: int) -> None:
    held = chosen(texts, count, seed)
    out, kept = parts(texts, held)
    assert not shared(out, kept, 0)
    assert len(kept) >= len(out)
    assert bool(kept) is bool(texts)
    wanted = min(count, max(1, len(texts) // 10))
    by_source = Counter(plain(source) for source, _ in texts)
    if wanted and any(size <= wanted for size in by_source.values()) and len(by_source) > 1:
        assert 0 < len(out) <= wanted


@settings(deadline=None)
@given(texts=sides, count=st.integers(1, 9), seed=st.integers(0, 99))
def test_and_no_translation_is_on_both_where_the_groups_are_small(texts: list[Text], count: int, seed: int) -> None:
    wanted = min(count, max(1, len(texts) // 10))
    small = [size for size in joined(texts) if size <= max(1, wanted // SEVERAL)]
    out, kept = parts(texts, chosen(texts, count, seed))
    if len(small) >= wanted and len(texts) > 1:
        assert not shared(out, kept, 1)
        assert len(out) == wanted


@settings(deadline=None)
@given(texts=sides, count=st.integers(0, 9), seed=st.integers(0, 99), chance=st.randoms(use_true_random=False))
def test_the_choice_is_of_seed_and_text(texts: list[Text], count: int, seed: int, chance: random.Random) -> None:
    held = chosen(texts, count, seed)
    assert chosen(texts, count, seed) == held
    order = list(range(len(texts)))
    chance.shuffle(order)
    assert chosen([texts[at] for at in order], count, seed) == [held[at] for at in order]


def test_long_chains_of_translations_stay_together() -> None:
    texts = [(f"s{chain} {link // 2}", f"t{chain} {(link + 1) // 2}") for chain in range(90) for link in range(12)]
    held = chosen(texts, 100, 1)
    out, kept = parts(texts, held)
    assert not shared(out, kept, 0)
    assert not shared(out, kept, 1)
    assert len(out) == 96  # eight chains


def test_a_table_that_is_one_chain_is_parted_by_sentences() -> None:
    texts = [(f"s{link // 2}", f"t{(link + 1) // 2}") for link in range(400)]
    out, kept = parts(texts, chosen(texts, 20, 1))
    assert len(out) == 20
    assert not shared(out, kept, 0)


def test_many_small_groups_rather_than_few_large_ones() -> None:
    texts = [(f"s{number}", f"t{number} {way}") for number in range(60) for way in range(15 if number % 2 else 1)]
    out, _ = parts(texts, chosen(texts, 30, 1))
    assert len({source for source, _ in out}) == len(out) == 30


def test_large_groups_where_there_are_no_small_ones() -> None:
    texts = [(f"s{number}", f"t{number} {way}") for number in range(60) for way in range(3)]
    out, kept = parts(texts, chosen(texts, 10, 1))
    assert len(out) == 9
    assert not shared(out, kept, 0)


def test_every_pair_has_about_the_same_chance() -> None:
    """Those of large groups as well as those that stand alone, whichever the seed."""
    texts = [(f"s{number} {way}", f"t{number}") for number in range(400) for way in range(1 + number % 3)]
    counts: Counter[int] = Counter()
    for seed in range(60):
        counts.update(1 + int(target[1:]) % 3 for _, target in parts(texts, chosen(texts, 70, seed))[0])
    pairs = Counter(1 + int(target[1:]) % 3 for _, target in texts)
    shares = [counts[size] / pairs[size] / 60 for size in (1, 2, 3)]
    expected = 70 / len(texts)
    assert all(0.8 * expected < share < 1.2 * expected for share in shares), (shares, expected)


def test_seeds_choose_differently() -> None:
    texts = [(f"s{number}", f"t{number}") for number in range(300)]
    assert len({tuple(chosen(texts, 30, seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize(("pairs", "held"), [(0, 0), (1, 0), (2, 1), (9, 1), (10, 1), (39, 3), (4000, 250)])
def test_at_most_a_tenth(pairs: int, held: int) -> None:
    assert sum(chosen([(f"s{number}", f"t{number}") for number in range(pairs)], 250, 7)) == held


def test_ten_real_pairs() -> None:
    texts = [("Call me.", way) for way in "abcd"] + [("Go!", way) for way in "ef"] + [("go", "g")]
    texts += [("Run.", way) for way in "hij"]
    assert [text[0] for text in parts(texts, chosen(texts, 100, 1))[0]] in (["Go!", "Go!", "go"], ["Run."] * 3)
    assert sum(chosen([("Go.", str(way)) for way in range(10)], 100, 1)) == 0


def test_the_sample_of_examples() -> None:
    pairs = list(read(EXAMPLES, None, Report()))
    held = hold_out(pairs, 150, 3)
    out, kept = parts([(pair.source, pair.target) for pair in pairs], held.tolist())
    assert held.dtype == np.bool_
    assert len(out) == 150
    assert not shared(out, kept, 0)
    assert not shared(out, kept, 1)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Don't  GO, Tom!", "don t go tom"),
        ("«Straße»…", "strasse"),
        ("तू कुठे आहेस?", "तू कुठे आहेस"),
        ("मी गेलो।", "मी गेलो"),
        ("?!", "?!"),
        ("5 + 5", "5 + 5"),
    ],
)
def test_case_and_signs_make_no_other_sentence(text: str, bare: str) -> None:
    assert plain(text) == bare
