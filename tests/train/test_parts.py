"""The small parts of a run: the feed of batches, the best score, the lock, the random states, the precision."""

from __future__ import annotations

import json
import math
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_run import Draws, Toy

from regard.fault import Fault
from regard.train import randomness
from regard.train.best import Best
from regard.train.feed import Feed
from regard.train.lock import locked
from regard.train.update import Descent, Precision, Update, narrow

CPU = torch.device("cpu")


def test_the_feed_goes_through_the_epochs() -> None:
    feed, epochs = Feed(Draws(3)), []
    for _ in range(11):
        feed.next()
        epochs.append(feed.epochs)
    assert epochs == pytest.approx([1 / 3, 2 / 3, 1, 1.25, 1.5, 1.75, 2, 2 + 1 / 3, 2 + 2 / 3, 3, 3.25])
    assert feed.state() == {"epoch": 3, "batch": 1}


@pytest.mark.parametrize("cut", range(9))
def test_a_restored_feed_gives_the_same_batches(cut: int) -> None:
    torch.manual_seed(5)
    feed = Feed(Draws(3))
    for _ in range(cut):
        feed.next()
    state, random_state = feed.state(), torch.get_rng_state()
    wanted = [feed.next().ids for _ in range(8)]
    other = Feed(Draws(3))
    other.restore(state)
    torch.set_rng_state(random_state)
    assert all(torch.equal(other.next().ids, ids) for ids in wanted)


def test_the_best_score_and_the_patience() -> None:
    best = Best(2)
    found = [best.take(update, score) for update, score in enumerate([math.nan, 1.0, 1.0, 3.0, 2.0, math.nan])]
    assert found == [True, True, False, True, False, False]
    assert (best.score, best.update, best.exhausted) == (3.0, 3, True)
    other = Best(3)
    other.restore(json.loads(json.dumps(best.state())))
    assert not other.exhausted
    assert not other.take(6, 3.0)
    assert other.exhausted
    other.forget()
    assert (other.score, other.update, other.exhausted) == (None, None, False)


def test_without_patience_it_is_never_exhausted() -> None:
    best = Best(0)
    for update in range(9):
        best.take(update, -float(update))
    assert not best.exhausted


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    with locked(tmp_path):
        with pytest.raises(Fault, match="another run"), locked(tmp_path):
            pass
        with pytest.raises(Fault, match="another run"), locked(tmp_path):
            pass  # refused, the second one has not taken the lock away
    with locked(tmp_path):
        pass
    with pytest.raises(Fault, match="nowhere"), locked(tmp_path / "nowhere"):
        pass


def draws() -> list[float]:
    return [float(torch.rand(())), random.random(), random.gauss(0, 1), float(np.random.rand()), np.random.randn()]


def test_random_states_come_back_through_json() -> None:
    randomness.seed(3)
    draws()
    states, texts = randomness.tensors(), json.loads(json.dumps(randomness.words()))
    wanted = [draws(), draws()]
    randomness.seed(4)
    assert draws() != wanted[0]
    randomness.restore(states, texts)
    assert [draws(), draws()] == wanted


def test_what_is_drawn_inside_was_not_drawn_outside() -> None:
    randomness.seed(3)
    wanted = [draws(), draws()]
    randomness.seed(3)
    first = draws()
    with suppress(KeyError), randomness.untouched():
        draws()
        raise KeyError
    assert [first, draws()] == wanted


def test_the_seed_decides() -> None:
    randomness.seed(3)
    wanted = draws()
    randomness.seed(3)
    assert draws() == wanted
    randomness.seed(2**40 + 3)  # numpy takes 32 bits
    assert draws() != wanted


def test_the_precision_is_what_was_asked_for() -> None:
    assert narrow("bfloat16", CPU)
    assert not narrow("float32", CPU)
    assert narrow("auto", CPU) in (True, False)
    assert not narrow("auto", torch.device("meta"))


def test_an_update_lowers_the_loss_and_keeps_weights_wide() -> None:
    torch.manual_seed(1)
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    for precision in precisions:
        model = Toy()
        model.dropout.p = 0.0
        update = Update(model, Descent(rate=0.05, warmup=0.0, schedule="constant"), precision)
        losses = [
            float(update(batch, 0.0).loss.total.detach()) for epoch in range(9) for batch in Draws().epoch(epoch, 0)
        ]
        assert sum(losses[-9:]) < 0.3 * sum(losses[:9])
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
