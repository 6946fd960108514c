"""Steps: what a search sees of a model says what the model says, alone and in a vote."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from small import CHOICES, TARGET, make, name
from torch import Tensor
from torch.testing import assert_close

from regard.attention import record
from regard.decode import TransformerDecoder
from regard.model import Model, Steps
from regard.model.steps import UNREAD
from regard.search.beam import beam, greedy
from regard.search.core import Hypothesis, Stepper
from regard.source.batch import BOS, EOS, Padded, Pairs

SOURCES = [[4, 9, 12, 5, 2], [7, 2], [6, 6, 2]]
LIMITS = torch.tensor([7, 5, 6])

every = pytest.mark.parametrize("choice", CHOICES, ids=name)


def search(steps: Steps, width: int = 1) -> list[Hypothesis]:
    with torch.no_grad():
        start = steps.start(Padded.of(SOURCES))
        if width == 1:
            return greedy(steps, start, LIMITS)
        return [best for best, *_ in beam(steps, start, LIMITS, width=width)]


def target(one: Hypothesis) -> list[int]:
    return [BOS, *one.ids, *[EOS] * one.finished]


@every
@torch.no_grad()
def test_the_log_probs_of_a_path_are_those_of_teacher_forcing(choice: dict[str, Any]) -> None:
    model = make(choice).eval()
    steps = Steps([model])
    assert isinstance(steps, Stepper)
    for width in (1, 3):
        found = search(steps, width)
        pairs = Pairs.of(SOURCES, [target(one) for one in found])
        scores = model.scores(pairs)
        assert_close(scores.exp().sum(-1), torch.ones(scores.shape[:2]))
        for row, one in enumerate(found):
            said = pairs.target.ids[row, 1 : len(one.log_probs) + 1]
            want = scores[row, : len(said)].gather(-1, said[:, None]).squeeze(-1)
            assert_close(torch.tensor(one.log_probs), want, atol=1e-5, rtol=1e-5)
            if width == 1:
                assert torch.equal(scores[row, : len(said)].argmax(-1), said)


@pytest.mark.parametrize("kind", ["seq2seq", "bahdanau", "luong", "transformer"])
def test_two_equal_models_vote_like_one(kind: str) -> None:
    model = make({"kind": kind}).eval()
    for one, two in zip(search(Steps([model]), 3), search(Steps([model, model]), 3), strict=True):
        assert one.ids == two.ids
        assert one.log_probs == pytest.approx(two.log_probs, abs=1e-5)


@torch.no_grad()
def test_a_vote_is_the_mean_of_probabilities() -> None:
    models = [make({"kind": kind}, seed=seed).eval() for seed, kind in enumerate(("luong", "bahdanau", "transformer"))]
    pairs = Pairs.of(SOURCES, [[1, 5, 7], [1, 9, 4], [1, 8, 3]])
    steps = Steps(models)
    state, want = steps.start(pairs.source), torch.stack([model.scores(pairs).exp() for model in models]).mean(0)
    for step in range(2):
        log_probs, state = steps.step(pairs.target.ids[:, step], state)
        assert_close(log_probs.exp(), want[:, step], atol=1e-6, rtol=1e-4)
    assert log_probs.shape == (len(SOURCES), TARGET)


def read(model: Model, words: Tensor) -> Tensor:
    """Σ_t a_t of every slot (row, slot), from a recording: of the top layer, over all heads."""
    with record(model) as calls:
        model.decoder(words, model.encode(Padded.of(SOURCES)))
    seen = [call for call in calls if call.memory == "source"]
    top = [call.weights for call in seen if call.reader == seen[-1].reader]
    return torch.cat(top, 2).mean(1).sum(1)


def walked(steps: Steps, words: Tensor) -> Tensor | None:
    state = steps.start(Padded.of(SOURCES))
    for word in words.unbind(1):
        _, state = steps.step(word, state)
    index = torch.tensor([2, 0, 1, 1])
    turned, straight = steps.bonus(state.rows(index)), steps.bonus(state)
    if straight is not None:
        assert turned is not None
        assert_close(turned, straight[index])
    return straight


@pytest.mark.parametrize("choice", [c for c in CHOICES if c["kind"] != "seq2seq"], ids=name)
@torch.no_grad()
def test_the_bonus_is_wus_coverage(choice: dict[str, Any]) -> None:
    """β Σ_i log min(Σ_t a_ti, 1) over real slots (Wu 2016, eq. 14); one never read costs log of UNREAD."""
    model, beta = make(choice).eval(), 0.3
    words = torch.tensor([[1, 5, 7, 4], [1, 9, 4, 4], [1, 8, 3, 9]])
    covered = read(model, words).tolist()
    want = [
        beta * sum(math.log(min(max(covered[row][slot], UNREAD), 1.0)) for slot in range(len(source)))
        for row, source in enumerate(SOURCES)
    ]
    bonus = walked(Steps([model], coverage=beta), words)
    assert bonus is not None
    assert (bonus <= 0).all()
    assert_close(bonus, torch.tensor(want), atol=1e-5, rtol=1e-4)
    assert walked(Steps([model]), words) is None


@torch.no_grad()
def test_who_has_no_attention_has_no_say_in_the_bonus() -> None:
    words = torch.tensor([[1, 5], [1, 9], [1, 8]])
    plain, luong = make({"kind": "seq2seq"}).eval(), make({"kind": "luong"}).eval()
    assert walked(Steps([plain], coverage=0.3), words) is None
    both, alone = (walked(Steps(models, coverage=0.3), words) for models in ([plain, luong], [luong]))
    assert both is not None
    assert alone is not None
    assert_close(both, alone)


def test_asking_for_coverage_changes_no_word() -> None:
    for kind in ("bahdanau", "luong", "transformer"):
        model = make({"kind": kind}).eval()
        one, two = search(Steps([model])), search(Steps([model], coverage=0.5))
        assert [each.ids for each in one] == [each.ids for each in two]
    assert isinstance(model.decoder, TransformerDecoder)
