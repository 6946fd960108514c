"""Every pair comes once an epoch, in batches of one length, in an order that seed and epoch decide."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.fault import Fault
from regard.source.ahead import ahead
from regard.source.batch import BOS, EOS, PAD, Padded, Pairs
from regard.source.store import Store
from regard.source.stream import Batches
from regard.source.vocabulary import Vary, Vocabulary, learn
from regard.train.learner import Batch, Stream

EXAMPLES = Path(__file__).parents[2] / "examples" / "pairs.tsv"
TEXTS = [line.split("\t")[:2] for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
Row = tuple[tuple[int, ...], tuple[int, ...]]

lengths = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stream")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return learn("bpe", 600, [text for pair in TEXTS for text in pair])


@pytest.fixture(scope="module")
def sample(folder: Path, vocabulary: Vocabulary) -> Store:
    sides = (vocabulary.encode_all([pair[side] for pair in TEXTS]) for side in (0, 1))
    return Store.write(folder / "sample", zip(*sides, strict=True))


def made(sizes: list[tuple[int, int]]) -> list[Row]:
    """No two rows have the same source."""
    return [((9 + at, *[5] * (source - 1)), (6,) * target) for at, (source, target) in enumerate(sizes)]


def stored(folder: Path, rows: list[Row]) -> Store:
    return Store.write(folder / "some", rows)


def rows_of(batch: Pairs) -> list[Row]:
    """What the batch says to a model: its rows without padding, BOS and EOS, each of which is asked for here."""
    rows = []
    for number in range(len(batch.source.ids)):
        source = batch.source.ids[number][batch.source.mask[number]].tolist()
        target = batch.target.ids[number][batch.target.mask[number]].tolist()
        if target:
            assert (source[-1], target[0], target[-1]) == (EOS, BOS, EOS)
            rows.append((tuple(source[:-1]), tuple(target[1:-1])))
        else:  # it fills up, with one word to read and nothing to learn
            assert source == [EOS]
    for side in (batch.source, batch.target):
        assert side.ids[~side.mask].eq(PAD).all()
        assert side.mask.int().diff(dim=1).le(0).all()  # padding is on the right
    assert batch.source.ids.shape[0] == batch.target.ids.shape[0]
    assert batch.tokens == sum(len(target) + 1 for _, target in rows)
    return rows


def same(left: Pairs, right: Pairs) -> bool:
    sides = ((left.source, right.source), (left.target, right.target))
    return left.tokens == right.tokens and all(
        torch.equal(one.ids, other.ids) and torch.equal(one.mask, other.mask) for one, other in sides
    )


@settings(deadline=None)
@given(sizes=lengths, tokens=st.integers(1, 60), seed=st.integers(-1, 2**65), epoch=st.integers(0, 3))
def test_every_pair_once_an_epoch(
    folder: Path, sizes: list[tuple[int, int]], tokens: int, seed: int, epoch: int
) -> None:
    rows = made(sizes)
    batches = Batches(stored(folder, rows), tokens, seed, depth=0)
    found = [rows_of(batch) for batch in batches.epoch(epoch, 0)]
    assert sorted(row for batch in found for row in batch) == sorted(rows)
    assert batches.batches(epoch) == len(found)


@settings(deadline=None)
@given(
    sizes=lengths,
    tokens=st.integers(1, 200),
    multiple=st.sampled_from([1, 2, 8]),
    depth=st.integers(0, 3),
    start=st.integers(0, 70),
)
def test_shapes_and_beginnings(
    folder: Path, sizes: list[tuple[int, int]], tokens: int, multiple: int, depth: int, start: int
) -> None:
    store = stored(folder, made(sizes))
    all_of_it = list(Batches(store, tokens, 1, multiple=multiple, depth=0).epoch(2, 0))
    for batch in all_of_it:
        row, source = batch.source.ids.shape
        target = batch.target.ids.shape[1]
        assert row * max(source, target) <= tokens or row == multiple
        assert {row % multiple, source % multiple, target % multiple} == {0}
        real = rows_of(batch)
        assert 0 <= row - len(real) < multiple
        for width, long in ((source, max(len(row[0]) + 1 for row in real)), (target, max(len(r[1]) + 2 for r in real))):
            assert 0 <= width - long < multiple
    rest = list(Batches(store, tokens, 1, multiple=multiple, depth=depth).epoch(2, start))
    assert len(rest) == max(0, len(all_of_it) - start)
    assert all(map(same, rest, all_of_it[start:]))


def test_the_order_is_of_seed_and_epoch_alone(sample: Store) -> None:
    def order(seed: int, epoch: int) -> list[Row]:
        return [row for batch in Batches(sample, 300, seed).epoch(epoch, 0) for row in rows_of(batch)]

    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = order(1, 0)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    np.random.seed(3)
    assert order(1, 0) == first
    others = [order(seed, epoch) for seed, epoch in product((1, 2), (0, 1))]
    assert others[0] == first
    assert len(set(map(tuple, others))) == 4
    batches = Batches(sample, 300, 1)
    list(batches.epoch(1, 0))  # what was read before changes nothing
    assert [row for batch in batches.epoch(0, 0) for row in rows_of(batch)] == first


def test_companions_change_from_epoch_to_epoch(sample: Store) -> None:
    batches = Batches(sample, 300, 1)
    groups = [{frozenset(rows_of(batch)) for batch in batches.epoch(epoch, 0)} for epoch in (0, 1)]
    assert len(groups[0] & groups[1]) < len(groups[0]) / 10


def test_short_and_long_batches_are_mixed(sample: Store) -> None:
    widths = [batch.target.ids.shape[1] for batch in Batches(sample, 300, 1).epoch(0, 0)]
    early, late = np.mean(widths[: len(widths) // 2]), np.mean(widths[len(widths) // 2 :])
    assert abs(early - late) < 2 * np.std(widths) / (len(widths) / 4) ** 0.5


@pytest.mark.parametrize("tokens", [500, 2000, 8000])
def test_little_is_padding(folder: Path, tokens: int) -> None:
    """Lengths as Tatoeba's: a logarithmic normal, with the two sides alike."""
    chance = np.random.default_rng(1)
    source = np.exp(chance.normal(1.9, 0.45, 40_000)).astype(int) + 1
    target = np.maximum(1, np.rint(source * np.exp(chance.normal(0, 0.25, len(source))))).astype(int)
    store = Store.write(
        folder / "many", (([5] * left, [5] * right) for left, right in zip(source, target, strict=True))
    )
    places = real = 0
    for batch in Batches(store, tokens, 1, depth=0).epoch(0, 0):
        for side in (batch.source, batch.target):
            places += side.mask.numel()
            real += int(side.mask.sum())
    assert real == source.sum() + target.sum() + 3 * len(source)
    assert 1 - real / places < 0.1


def test_a_multiple_leaves_few_shapes(sample: Store) -> None:
    shapes = [
        {
            (*batch.source.ids.shape, batch.target.ids.shape[1])
            for batch in Batches(sample, 1000, 1, multiple=by).epoch(0)
        }
        for by in (1, 8)
    ]
    assert 2 * len(shapes[1]) < len(shapes[0])
    rows: dict[int, set[int]] = {}
    for row, source, target in shapes[1]:
        rows.setdefault(max(source, target), set()).add(row)
    assert sum(len(each) > 1 for each in rows.values()) <= 1  # the last batch alone has fewer


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(4, 99), max_size=5), max_size=6),
    bos=st.booleans(),
    eos=st.booleans(),
    multiple=st.sampled_from([1, 3]),
    filler=st.booleans(),
)
def test_flat_is_the_quick_way_to_the_same(
    rows: list[list[int]], bos: bool, eos: bool, multiple: int, filler: bool
) -> None:
    slow = Padded.of([[*[BOS] * bos, *row, *[EOS] * eos] for row in rows])
    flat = np.array([number for row in rows for number in row], dtype=np.int64)
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    quick = Padded.flat(flat, sizes, bos=bos, eos=eos, multiple=multiple, filler=filler)
    many, longest = slow.ids.shape
    assert quick.ids.dtype == slow.ids.dtype
    assert torch.equal(quick.ids[:many, :longest], slow.ids)
    assert torch.equal(quick.mask[:many, :longest], slow.mask)
    more = quick.ids.shape[0] - many if filler and longest else 0
    assert quick.mask.sum() == slow.mask.sum() + more
    assert quick.ids.sum() == slow.ids.sum() + EOS * more
    assert all(0 <= size - least < multiple for size, least in zip(quick.ids.shape, slow.ids.shape, strict=True))


def test_varied_rows_spell_the_same(sample: Store, vocabulary: Vocabulary) -> None:
    def texts(batch: Pairs) -> list[tuple[str, ...]]:
        return [tuple(map(vocabulary.decode, row)) for row in rows_of(batch)]

    def epoch(number: int, source: float, target: float) -> list[Pairs]:
        sides = (Vary(vocabulary, dropout, 1) for dropout in (source, target))
        source_vary, target_vary = sides
        batches = Batches(sample, 800, 1, source_vary=source_vary, target_vary=target_vary)
        return list(batches.epoch(number, 0))

    plain, varied = list(Batches(sample, 800, 1).epoch(1, 0)), epoch(1, 0.2, 0.2)
    assert [texts(batch) for batch in varied] == [texts(batch) for batch in plain]
    assert sum(batch.tokens for batch in varied) > sum(batch.tokens for batch in plain)
    assert all(map(same, varied, epoch(1, 0.2, 0.2)))
    assert all(map(same, epoch(1, 0.0, 0.0), plain))
    one_side = epoch(1, 0.2, 0.0)
    assert all(torch.equal(one.target.ids, other.target.ids) for one, other in zip(one_side, plain, strict=True))
    assert not all(torch.equal(one.source.ids, other.source.ids) for one, other in zip(one_side, plain, strict=True))
    cuts = [{row for batch in epoch(number, 0.2, 0.2) for row in rows_of(batch)} for number in (1, 2)]
    assert len(cuts[0] & cuts[1]) < len(sample) / 2


def test_what_training_asks_of_a_stream(sample: Store) -> None:
    batches = Batches(sample, 800, 1)
    assert isinstance(batches, Stream)
    batch = next(batches.epoch(0, 0))
    assert isinstance(batch, Batch)
    assert rows_of(batch.to(torch.device("cpu"))) == rows_of(batch)


def test_nothing_to_learn_from_is_named(folder: Path) -> None:
    with pytest.raises(Fault, match="none: holds no pairs"):
        Batches(Store.write(folder / "none", []), 100, 1)


def test_batches_before_the_start_are_not_made(sample: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    flat = Padded.flat

    def counted(ids: np.ndarray, sizes: np.ndarray, **how: int) -> Padded:
        asked.append(len(sizes))
        return flat(ids, sizes, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(Padded, "flat", counted)
    batches = Batches(sample, 300, 1, depth=0)
    assert len(list(batches.epoch(0, batches.batches(0) - 1))) == 1
    assert len(asked) == 2


def numbers(taken: list[int], last: int) -> Iterator[int]:
    for number in range(last):
        taken.append(number)
        yield number
    raise ValueError("the end of all numbers")


def alive() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("ahead")]


@settings(deadline=None)
@given(last=st.integers(0, 9), depth=st.integers(1, 4))
def test_ahead_is_the_same_and_an_error_comes_in_its_place(last: int, depth: int) -> None:
    taken: list[int] = []
    coming = ahead(numbers(taken, last), depth)
    for number in range(last):
        assert next(coming) == number
        assert len(taken) <= number + 1 + depth
    with pytest.raises(ValueError, match="the end"):
        next(coming)
    assert taken == list(range(last))
    assert alive() == []


def test_ahead_works_while_its_user_does() -> None:
    ready = threading.Event()

    def things() -> Iterator[int]:
        yield 0
        ready.set()
        yield 1

    coming = ahead(things(), 1)
    assert next(coming) == 0
    assert ready.wait(60)  # nobody has asked for the second one
    assert list(coming) == [1]


@pytest.mark.parametrize(("asked", "depth"), [(0, 2), (1, 1), (3, 2)])
def test_no_more_is_made_than_was_said(asked: int, depth: int) -> None:
    taken: list[int] = []
    coming = ahead(numbers(taken, 99), depth)
    assert list(islice(coming, asked)) == list(range(asked))
    coming.close()  # type: ignore[attr-defined]
    assert taken == list(range(asked + depth if asked else 0))


@pytest.mark.parametrize("asked", [0, 1, 3])
def test_who_stops_early_leaves_nothing_running(sample: Store, asked: int) -> None:
    coming = Batches(sample, 300, 1, depth=3).epoch(0, 0)
    assert len(list(islice(coming, asked))) == asked
    assert len(alive()) == bool(asked)
    coming.close()  # type: ignore[attr-defined]
    assert alive() == []
    assert list(coming) == []


@settings(deadline=None)
@given(
    sizes=lengths,
    tokens=st.integers(1, 200),
    multiple=st.sampled_from([1, 8]),
    most=st.integers(1, 6),
    start=st.integers(0, 70),
)
def test_boxes_hold_every_pair_once_an_epoch(
    folder: Path, sizes: list[tuple[int, int]], tokens: int, multiple: int, most: int, start: int
) -> None:
    rows = made(sizes)
    store = stored(folder, rows)
    shapes = set()
    for epoch in (0, 1):
        batches = Batches(store, tokens, 1, multiple=multiple, most=most, depth=0)
        found = list(batches.epoch(epoch, 0))
        assert sorted(row for batch in found for row in rows_of(batch)) == sorted(rows)
        assert batches.batches(epoch) == len(found)
        for batch in found:
            row, longer = len(batch.source.ids), max(batch.source.ids.shape[1], batch.target.ids.shape[1])
            assert row % multiple == 0
            assert row * longer <= tokens or row == multiple
            shapes.add((batch.source.ids.shape[1], batch.target.ids.shape[1]))
        rest = list(batches.epoch(epoch, start))
        assert all(map(same, rest, found[start:]))
    assert len(shapes) <= most


def test_few_boxes_leave_little_padding(sample: Store) -> None:
    """Beside one pool's batches of lengths that are multiples of eight."""

    def figures(most: int) -> tuple[float, int]:
        found = [batch for epoch in (0, 1) for batch in Batches(sample, 500, 1, multiple=8, most=most).epoch(epoch)]
        real = sum(int(side.mask.sum()) for batch in found for side in (batch.source, batch.target))
        places = sum(side.ids.numel() for batch in found for side in (batch.source, batch.target))
        return 1 - real / places, len({(batch.source.ids.shape, batch.target.ids.shape) for batch in found})

    (padding, shapes), (before, _) = figures(16), figures(0)
    assert padding < 0.12
    assert before > 1.5 * padding
    assert shapes <= 16 + 2  # and the last batch of an epoch
