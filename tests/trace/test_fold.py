"""Fold: pieces become words, and no weight is lost."""

from __future__ import annotations

from itertools import pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.trace.core import Axis, Reading, Trace
from regard.trace.fold import fold, plan, words

SOURCE = Axis(
    ("▁Ra", "hul", "▁is", "▁good", ".", "</s>"), ((0, 2), (2, 5), (6, 8), (9, 13), (13, 14), (14, 14)), "Rahul is good."
)


Cut = tuple[str, list[tuple[int, int]]]


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    """A text cut into pieces at random, as tokenizers do: with or without the space before, and `</s>` at the end.

    No Axis is made in here: the checks of its shapes draw random numbers, which hypothesis forbids in a strategy.
    """
    text = draw(st.text(alphabet="ab. \tराि東", max_size=12))
    at = sorted(draw(st.sets(st.integers(0, len(text)))) | {0, len(text)})
    spans = list(pairwise(at))
    spans.append(draw(st.sampled_from([(len(text), len(text)), (0, 0)])))
    if draw(st.booleans()):
        spans.insert(0, (0, 0))
    return text, spans


def axis_of(cut: Cut) -> Axis:
    text, spans = cut
    return Axis(tuple(text[start:end] or "</s>" for start, end in spans), tuple(spans), text)


@given(cuts(), cuts(), st.integers(0, 2**16))
def test_every_row_keeps_its_sum(source_cut: Cut, target_cut: Cut, seed: int) -> None:
    source, target = axis_of(source_cut), axis_of(target_cut)
    sums = torch.rand(2, len(target), 1, generator=torch.Generator().manual_seed(seed))
    pieces = torch.rand(2, len(target), len(source), generator=torch.Generator().manual_seed(seed + 1))
    pieces = pieces / pieces.sum(-1, keepdim=True) * sums  # a gaussian window lets rows sum to less than one
    by_rows, by_slots = plan(target), plan(source)
    folded = fold(pieces, by_rows, by_slots)
    expected = [sums[:, list(each)].mean(1)[:, 0] if each else torch.zeros(2) for each in by_rows.members]
    torch.testing.assert_close(folded.sum(-1), torch.stack(expected, -1))


@given(cuts())
def test_every_piece_finds_one_home(cut: Cut) -> None:
    axis = axis_of(cut)
    held = [piece for members in plan(axis).members for piece in members]
    assert sorted(held) == list(range(len(axis)))
    assert plan(axis).axis.spans == tuple(sorted(plan(axis).axis.spans or ()))


def test_sums_over_the_source_and_means_over_the_target() -> None:
    target = Axis(("a", "b", "</s>"), ((0, 1), (1, 2), (2, 2)), "ab")
    rows = torch.tensor([[[0.5, 0.25, 0.25, 0, 0, 0], [0, 0, 0.5, 0.25, 0.25, 0], [0, 0, 0, 0, 0, 1.0]]])
    folded = words(Trace(SOURCE, target, (Reading("r", "source", rows),)))
    assert folded.source.labels == ("Rahul", "is", "good.", "</s>")
    assert folded.source.spans == ((0, 5), (6, 8), (9, 14), (14, 14))
    assert folded.target.labels == ("ab", "</s>")
    torch.testing.assert_close(folded.heat(), torch.tensor([[0.375, 0.375, 0.25, 0], [0, 0, 0, 1]]))


def test_the_end_can_be_dropped() -> None:
    folded = words(Trace(SOURCE, SOURCE, (Reading("r", "source", torch.full((1, 6, 6), 1 / 6)),)), specials=False)
    assert folded.source.labels == folded.target.labels == ("Rahul", "is", "good.")
    assert folded.heat().shape == (3, 3)


def test_the_decoders_own_past_is_left_out_and_the_encoders_stays() -> None:
    target = Axis(("x", "</s>"), ((0, 1), (1, 1)), "x")
    own = Reading("own", "target", torch.eye(2)[None])
    encoder = Reading("encoder", "source", torch.eye(6)[None], asks="source")
    folded = words(Trace(SOURCE, target, (own, encoder)))
    assert [each.reader for each in folded.readings] == ["encoder"]
    torch.testing.assert_close(folded.readings[0].weights.sum(-1), torch.ones(1, 4))


def test_an_axis_without_spans_is_left_as_it_is() -> None:
    regions = Axis(("top left", "top right"), kind="picture")
    assert plan(regions).axis == regions


def test_a_script_without_spaces_keeps_its_pieces() -> None:
    axis = Axis(("東京", "は", "good", "</s>"), ((0, 2), (2, 3), (4, 8), (0, 0)), "東京は good")
    assert plan(axis).axis.labels == ("東京", "は", "good", "</s>")


def test_a_word_that_no_piece_stands_for_has_an_empty_row() -> None:
    axis = Axis(("a",), ((0, 1),), "a b")
    assert plan(axis).axis.labels == ("a", "b")
    torch.testing.assert_close(fold(torch.ones(1, 1), plan(axis), plan(axis)), torch.tensor([[1.0, 0], [0, 0]]))
