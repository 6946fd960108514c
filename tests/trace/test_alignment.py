"""Alignment: links and their error rate, against values worked out by hand."""

from __future__ import annotations

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.trace import pharaoh
from regard.trace.alignment import (
    Agreement,
    Link,
    aer,
    clarity,
    grow_diag_final_and,
    intersection,
    links,
    pairs,
    record,
    sharpness,
    turned,
)
from regard.trace.core import Axis

SOURCE = Axis(("I", "see", "you", "</s>"), ((0, 1), (2, 5), (6, 9), (9, 9)), "I see you")
TARGET = Axis(("je", "te", "vois", "</s>"), ((0, 2), (3, 5), (6, 10), (10, 10)), "je te vois")
WEIGHTS = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.0, 0.3, 0.6, 0.1], [0.1, 0.5, 0.3, 0.1], [0.0, 0.0, 0.0, 1.0]])


def only(row: list[float], source: Axis = SOURCE, **rules: float) -> list[tuple[int | None, float]]:
    found = links(torch.tensor([row]), source, Axis(("x",)), **rules)
    return [(each.source, round(each.weight, 4)) for each in found]


def test_each_target_word_is_linked_to_what_it_read_most() -> None:
    found = links(WEIGHTS, SOURCE, TARGET)
    assert [(each.source, each.target) for each in found] == [(0, 0), (2, 1), (1, 2)]
    assert pairs(found) == {(0, 0), (2, 1), (1, 2)}
    assert pharaoh.written(pairs(found)) == "0-0 1-2 2-1"


def test_a_word_read_from_the_end_is_linked_to_none() -> None:
    assert only([0.3, 0.1, 0.1, 0.5]) == [(None, 0.5)]
    assert only([0.3, 0.2, 0.05, 0.45]) == [(0, 0.3)]
    assert only([0.3, 0.2, 0.05, 0.45], null=0.4) == [(None, 0.45)]
    assert only([0.1, 0.1, 0.1, 0.7], null=1.1) == [(0, 0.1)]


def test_a_flat_row_or_an_empty_one_says_nothing() -> None:
    assert only([0.26, 0.25, 0.25, 0.24]) == [(None, 0.24)]
    assert only([0.26, 0.25, 0.25, 0.24], flat=0.0) == [(0, 0.26)]
    assert only([0.0, 0.0, 0.0, 0.0]) == [(None, 0.0)]
    assert only([1.0], Axis(("a",), ((0, 1),), "a")) == [(0, 1.0)]
    assert only([1.0], Axis(("</s>",), ((0, 0),), "")) == [(None, 1.0)]
    assert only([], Axis(())) == [(None, 0.0)]


def test_thresholds() -> None:
    row = [0.5, 0.3, 0.15, 0.05]
    assert only(row, least=0.6) == [(None, 0.05)]
    assert only(row, least=0.5) == [(0, 0.5)]
    assert only(row, also=0.6) == [(0, 0.5), (1, 0.3)]
    assert only(row, also=0.25) == [(0, 0.5), (1, 0.3), (2, 0.15)]


def test_slots_without_characters_need_spans_to_be_known() -> None:
    cars = Axis(("car 12 m ahead", "car 30 m left"), kind="scene")
    assert only([0.1, 0.9], cars) == [(1, 0.9)]


def test_the_record_holds_words_spans_and_weights() -> None:
    found = links(WEIGHTS, SOURCE, TARGET)
    about = json.loads(json.dumps(record((*found, Link(None, 3, 1.0)), SOURCE, TARGET)))
    assert about["source"] == {
        "text": "I see you",
        "words": [
            {"text": "I", "start": 0, "end": 1},
            {"text": "see", "start": 2, "end": 5},
            {"text": "you", "start": 6, "end": 9},
            {"text": "</s>", "start": 9, "end": 9},
        ],
    }
    assert about["links"][0] == {"source": 0, "target": 0, "weight": 0.7}
    assert about["links"][3] == {"source": None, "target": 3, "weight": 1.0}
    assert record((), Axis(("a",)), Axis(()))["source"]["words"] == [{"text": "a", "start": None, "end": None}]


def test_error_rate_by_hand() -> None:
    """|A|=4, |S|=3, |A∩S|=2, |A∩P|=3: precision 3/4, recall 2/3, AER 1-5/7."""
    found, sure = frozenset({(0, 0), (1, 1), (2, 3), (3, 3)}), frozenset({(0, 0), (1, 1), (2, 2)})
    agreed = aer(found, sure, frozenset({(2, 3)}))
    assert agreed == Agreement(4, 3, 2, 3)
    assert agreed.precision == pytest.approx(3 / 4)
    assert agreed.recall == pytest.approx(2 / 3)
    assert agreed.aer == pytest.approx(2 / 7)


def test_a_corpus_is_counted_not_averaged() -> None:
    one = aer(frozenset({(0, 0)}), frozenset({(0, 0)}))
    other = aer(frozenset({(0, 1), (1, 0), (2, 2)}), frozenset({(0, 0), (1, 1), (2, 2)}))
    whole = one + other
    assert one.aer == 0.0
    assert other.aer == pytest.approx(2 / 3)
    assert whole.aer == pytest.approx(1 - 4 / 8)
    assert sum((one, other), Agreement()) == whole


def test_nothing_found_and_nothing_to_find() -> None:
    assert (Agreement().precision, Agreement().recall, Agreement().aer) == (1.0, 1.0, 0.0)
    assert aer(frozenset(), frozenset({(0, 0)})).aer == 1.0
    assert aer(frozenset({(0, 0)}), frozenset(), frozenset({(0, 0)})).aer == 0.0


def test_two_directions_by_hand() -> None:
    """On paper: (1,1) and (4,4) agree. Beside (1,1), (2,1) has a free source word and joins, then (2,2) by its free
    target word; (3,3) stands beside (2,2). (6,0) is far from all, but both its words are free; (6,1) comes too late.
    """
    forward = frozenset({(1, 1), (4, 4), (2, 2), (3, 3)})
    backward = frozenset({(1, 1), (4, 4), (2, 1), (6, 0), (6, 1)})
    assert intersection(forward, backward) == {(1, 1), (4, 4)}
    assert grow_diag_final_and(forward, backward) == {(1, 1), (4, 4), (2, 1), (2, 2), (3, 3), (6, 0)}
    assert grow_diag_final_and(frozenset({(0, 0), (5, 0)}), frozenset({(0, 0)})) == {(0, 0)}
    assert grow_diag_final_and(frozenset({(0, 0), (1, 0)}), frozenset({(0, 0)})) == {(0, 0), (1, 0)}
    assert grow_diag_final_and(frozenset({(2, 5)}), frozenset({(2, 6)})) == {(2, 5)}
    assert turned(frozenset({(0, 1)})) == {(1, 0)}


PAIRS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


@given(PAIRS, PAIRS)
def test_growing_stays_between_intersection_and_union(
    forward: frozenset[tuple[int, int]], backward: frozenset[tuple[int, int]]
) -> None:
    grown = grow_diag_final_and(forward, backward)
    assert forward & backward <= grown <= forward | backward
    assert grow_diag_final_and(forward, forward) == forward
    linked = {source for source, _ in grown}, {target for _, target in grown}
    assert all(source in linked[0] or target in linked[1] for source, target in forward | backward)


def test_sharpness_by_hand() -> None:
    flat, sharp, empty = [0.25] * 4, [0.0, 1.0, 0.0, 0.0], [0.0] * 4
    assert sharpness(torch.tensor([flat])) == pytest.approx(math.log(4))
    assert sharpness(torch.tensor([flat, sharp])) == pytest.approx(math.log(4) / 2)
    assert sharpness(torch.tensor([flat, empty])) == pytest.approx(math.log(4))
    assert sharpness(torch.tensor([[flat], [sharp]])) == pytest.approx(math.log(4) / 2)
    assert sharpness(torch.tensor([[0.2, 0.2, 0.0, 0.0]])) == pytest.approx(math.log(2))
    assert sharpness(torch.zeros(2, 4)) == 0.0


def test_clarity_by_hand() -> None:
    assert clarity(torch.eye(4)) == pytest.approx(math.log(4))
    assert clarity(torch.full((4, 4), 0.25)) == pytest.approx(0.0)
    resting = torch.tensor([[0.0, 0.0, 1.0]]).expand(4, 3)
    assert clarity(resting) == pytest.approx(0.0)
    assert clarity(torch.zeros(1, 2)) == 0.0
