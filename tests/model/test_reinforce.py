"""REINFORCE descends the expected loss: equal to the sum over all choices, where that can be written out."""

from __future__ import annotations

import itertools
from typing import final

import pytest
import torch
from small import make
from torch import Tensor
from torch.testing import assert_close
from typing_extensions import override

from regard.attention import Attention
from regard.attention.align import Align, Choice
from regard.attention.align.core import masked_softmax
from regard.config import Train
from regard.memory import Past
from regard.model import Model
from regard.source.batch import Pairs

SLOTS = 3


@final
class Chosen(Align):
    """At step t the slot of that number, with the probability that `hard` would have chosen it."""

    def __init__(self, slots: tuple[int, ...]) -> None:
        super().__init__()
        self.slots = slots

    @override
    def forward(self, energy: Tensor, mask: Tensor, past: Past) -> Choice:
        soft, slot = masked_softmax(energy, mask), self.slots[past.step]
        weights = torch.zeros_like(soft)
        weights[..., slot] = 1
        return Choice(weights, soft[..., slot].log(), -torch.xlogy(soft, soft).sum(-1))


def hard(kind: str, entropy: float = 0.0) -> Model:
    model = make({"kind": kind, "align": "hard"}, Train(label_smoothing=0.0, reinforce_entropy=entropy))
    for weight in model.parameters():  # from what it is at first there is next to nothing to learn about
        torch.nn.init.normal_(weight, std=0.7)
    return model.double()


def expected(model: Model, target: list[int], entropy: float = 0.0) -> Tensor:
    """Σ over all choices of p(choices) · loss, less the bonus for entropy."""
    attention, steps = model.decoder.get_submodule("attention"), len(target) - 1
    assert isinstance(attention, Attention)
    pairs, before, total = Pairs.of([[4, 9, 2]], [target]), attention.align, torch.zeros(()).double()
    model.eval()
    for slots in itertools.product(range(SLOTS), repeat=steps):
        attention.align = Chosen(slots)
        decoded = model.decoder(pairs.target.ids[:, :-1], model.encode(pairs.source))
        assert decoded.log_prob is not None
        assert decoded.entropy is not None
        own = model.loss(pairs).total - entropy * decoded.entropy.sum() / steps
        total = total + decoded.log_prob.sum().exp() * own
    attention.align = before
    return total


def sampled(model: Model, target: list[int], count: int) -> Tensor:
    """The loss of a batch of the same pair over and over: its gradient is the estimate's mean."""
    torch.manual_seed(2)
    return model.train().loss(Pairs.of([[4, 9, 2]] * count, [target] * count)).total


def gradient(total: Tensor, model: Model) -> Tensor:
    each = torch.autograd.grad(total, list(model.parameters()), allow_unused=True, materialize_grads=True)
    return torch.cat([part.flatten() for part in each])


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
@pytest.mark.parametrize(("entropy", "baseline"), [(0.0, 0.0), (0.5, -1.5)])
def test_of_one_step_it_is_the_gradient_of_the_expected_loss(kind: str, entropy: float, baseline: float) -> None:
    """Whatever the baseline, which only steadies it."""
    model = hard(kind, entropy)
    model.baseline.fill_(baseline)
    want = gradient(expected(model, [1, 2], entropy), model)
    found = gradient(sampled(model, [1, 2], 40000), model)
    assert float((found - want).norm() / want.norm()) < 0.05


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_without_it_nobody_learns_where_to_look(kind: str) -> None:
    """The score's own weights: the log-likelihood alone gives them nothing, REINFORCE what they need."""
    model = hard(kind)
    score = list(model.decoder.get_submodule("attention").parameters())
    (*want,) = torch.autograd.grad(expected(model, [1, 2]), score)
    model.baseline.fill_(-expected(model, [1, 2]).item())
    loss = sampled(model, [1, 2], 40000)
    (*found,) = torch.autograd.grad(loss, score)
    for own, exact in zip(found, want, strict=True):
        assert exact.any()
        assert float((own - exact).norm() / exact.norm()) < 0.1


def test_of_several_steps_it_descends() -> None:
    """The mean of the words to come stands for their sum: not the same gradient, but the same way down."""
    model, target = hard("luong"), [1, 5, 9, 2]
    want = gradient(expected(model, target), model)
    model.baseline.fill_(-expected(model, target).item())
    found = gradient(sampled(model, target, 20000), model)
    assert float(torch.cosine_similarity(found, want, dim=0)) > 0.9
    before = expected(model, target).item()
    with torch.no_grad():
        for weight, step in zip(model.parameters(), split(found, model), strict=True):
            weight.sub_(0.01 * step / found.norm())
    assert expected(model, target).item() < before


def split(flat: Tensor, model: Model) -> list[Tensor]:
    sizes = [weight.numel() for weight in model.parameters()]
    parts = torch.split(flat, sizes)
    return [part.view_as(weight) for part, weight in zip(parts, model.parameters(), strict=True)]


def test_a_baseline_near_the_reward_steadies_the_gradient() -> None:
    model, target = hard("luong"), [1, 2]
    score = list(model.decoder.get_submodule("attention").parameters())
    spread = []
    for baseline in (0.0, -expected(model, target).item()):
        model.baseline.fill_(baseline)
        many = []
        for seed in range(40):
            torch.manual_seed(seed)
            loss = model.train().loss(Pairs.of([[4, 9, 2]] * 20, [target] * 20)).total
            many.append(torch.cat([part.flatten() for part in torch.autograd.grad(loss, score)]))
        spread.append(float(torch.stack(many).var(0).sum()))
    assert spread[1] < 0.5 * spread[0]


def test_the_baseline_follows_the_reward() -> None:
    model = hard("bahdanau")
    pairs = Pairs.of([[4, 9, 2], [5, 2]], [[1, 5, 2], [1, 2]])
    loss = model.train().loss(pairs)
    assert loss.reward is not None
    assert_close(loss.reward, -loss.parts["loss"])
    assert float(model.baseline) == 0
    model.observe(loss)
    assert float(model.baseline) == pytest.approx(0.01 * float(loss.reward))
    for _ in range(1000):
        model.observe(loss)
    assert float(model.baseline) == pytest.approx(float(loss.reward), rel=1e-3)
    assert "baseline" in model.state_dict()  # a run that goes on goes on with it
    held = model.baseline.clone()
    model.observe(make({"kind": "luong"}).loss(pairs))  # nothing was sampled
    assert torch.equal(model.baseline, held)


def test_what_it_adds_is_its_equation() -> None:
    """-(r_t - b) log p(s_t) - λ H_t of every real step, with r_t the mean log-probability of the words from t on."""
    entropy, baseline, targets = 0.3, -0.7, [[1, 5, 9, 2], [1, 2]]
    model = hard("luong", entropy).train()
    attention = model.decoder.get_submodule("attention")
    assert isinstance(attention, Attention)
    attention.align = Chosen((2, 0, 1))
    model.baseline.fill_(baseline)
    pairs = Pairs.of([[4, 9, 2]] * 2, targets)
    with torch.no_grad():
        loss = model.loss(pairs)
        decoded = model.decoder(pairs.target.ids[:, :-1], model.encode(pairs.source))
        scores = model.scores(pairs)
    assert decoded.log_prob is not None
    assert decoded.entropy is not None
    added = 0.0
    for row, target in enumerate(targets):
        said = [scores[row, step, symbol].item() for step, symbol in enumerate(target[1:])]
        for step in range(len(said)):
            to_come = sum(said[step:]) / len(said[step:])
            added -= (to_come - baseline) * decoded.log_prob[row, step].item()
            added -= entropy * decoded.entropy[row, step].item()
    assert (loss.total - loss.parts["loss"]).item() == pytest.approx(added / 4, rel=1e-5)


def test_padding_is_not_rewarded() -> None:
    """A short row beside a long one adds what it adds alone."""
    model = hard("luong")
    attention = model.decoder.get_submodule("attention")
    assert isinstance(attention, Attention)
    attention.align = Chosen((2, 0, 1))
    model.baseline.fill_(-0.7)
    long, short = [1, 5, 9, 2], [1, 2]
    together = model.train().loss(Pairs.of([[4, 9, 2]] * 2, [long, short])).total
    alone = [model.loss(Pairs.of([[4, 9, 2]], [target])).total for target in (long, short)]
    assert_close(together, (3 * alone[0] + 1 * alone[1]) / 4)
