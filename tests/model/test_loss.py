"""The loss of every composition a recipe can name: cross-entropy as torch writes it, and what a recipe adds to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small import CHOICES, SOURCE, TARGET, make, name, pairs
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from regard.attention import penalty, record
from regard.config import Penalties, RecurrentModel, Train
from regard.model import Model, Objective, build
from regard.model.likelihood import surprise
from regard.source.batch import Pairs

every = pytest.mark.parametrize("choice", CHOICES, ids=name)
attends = pytest.mark.parametrize("choice", [each for each in CHOICES if each["kind"] != "seq2seq"], ids=name)


def logits(model: Model, batch: Pairs) -> Tensor:
    return model.output(model.decoder(batch.target.ids[:, :-1], model.encode(batch.source)).features)


def crossed(x: Tensor, batch: Pairs, smoothing: float = 0.0) -> Tensor:
    """Torch's own, over the symbols that are there."""
    real = batch.target.mask[:, 1:]
    return cross_entropy(x[real], batch.target.ids[:, 1:][real], label_smoothing=smoothing)


@every
def test_it_is_torchs_cross_entropy(choice: dict[str, Any]) -> None:
    model, batch = make(choice, Train(label_smoothing=0.1, reinforce_entropy=0.0)), pairs()
    assert_close(model.eval().loss(batch).total, crossed(logits(model, batch), batch))
    model.train()
    torch.manual_seed(2)
    loss = model.loss(batch)
    torch.manual_seed(2)
    want = crossed(logits(model, batch), batch, 0.1)
    assert_close(loss.parts["loss"], want.detach())
    weights = dict(model.named_parameters())
    found = torch.autograd.grad(loss.total, list(weights.values()), allow_unused=True)
    assert all(each is None or each.isfinite().all() for each in found)
    if choice.get("align") == "hard":  # REINFORCE adds to it: see test_reinforce
        assert loss.reward is not None
        return
    assert_close(loss.total, want)
    wanted = torch.autograd.grad(want, list(weights.values()), allow_unused=True)
    for key, own, their in zip(weights, found, wanted, strict=True):
        assert (own is None) == (their is None), key
        if own is not None and their is not None:
            assert_close(own, their, atol=1e-6, rtol=1e-4)


@every
def test_every_weight_learns(choice: dict[str, Any]) -> None:
    """A mechanism whose weights get no gradient is not wired."""
    model, batch = make(choice).train(), pairs()
    weights = dict(model.named_parameters())
    gradients = torch.autograd.grad(model.loss(batch).total, list(weights.values()), allow_unused=True)
    idle = [key for key, gradient in zip(weights, gradients, strict=True) if gradient is None or not gradient.any()]
    assert idle == []


@every
@torch.no_grad()
def test_neighbours_change_nothing(choice: dict[str, Any]) -> None:
    """The loss of a batch is the mean of its symbols, whoever they stand beside."""
    model, batch = make(choice).eval(), pairs()
    rows = [
        Pairs.of([ids[mask].tolist()], [own[there].tolist()])
        for ids, mask, own, there in zip(
            batch.source.ids, batch.source.mask, batch.target.ids, batch.target.mask, strict=True
        )
    ]
    assert batch.tokens == sum(row.tokens for row in rows)
    alone = sum(float(model.loss(row).total) * row.tokens for row in rows) / batch.tokens
    assert float(model.loss(batch).total) == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_surprise_is_cross_entropy(smoothing: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = (3 * torch.randn(3, 5, 7)).to(dtype)
    gold, share = torch.randint(7, (3, 5)), torch.rand(3, 5)
    one, two = x.clone().requires_grad_(), x.float().requires_grad_()
    found = surprise(one, gold, smoothing)
    want = cross_entropy(two.flatten(0, 1), gold.flatten(), label_smoothing=smoothing, reduction="none").view(3, 5)
    assert_close(found, want)
    (own,) = torch.autograd.grad((found * share).sum(), one)
    (their,) = torch.autograd.grad((want * share).sum(), two)
    assert own.dtype == dtype
    assert_close(own, their.to(dtype))


def test_certain_and_impossible_symbols_have_finite_gradients() -> None:
    x = torch.tensor([[200.0, -200.0, 0.0]], requires_grad=True)
    for gold in range(3):
        (gradient,) = torch.autograd.grad(surprise(x, torch.tensor([gold]), 0.1).sum(), x)
        assert gradient.isfinite().all()


@attends
@pytest.mark.parametrize("sampling", [0.0, 1e-9])
def test_penalties_add_their_share(choice: dict[str, Any], sampling: float) -> None:
    """All at once, or step by step as scheduled sampling does."""
    given = {"coverage": 0.3, "entropy": -0.2, "squared": 0.5}
    batch = pairs()
    plain = make(choice, Train(reinforce_entropy=0.0, sampling=sampling)).train()
    model = make(choice, Train(reinforce_entropy=0.0, sampling=sampling, penalties=Penalties(**given))).train()
    torch.manual_seed(2)
    with record(plain) as calls:
        bare = plain.loss(batch)
    torch.manual_seed(2)
    loss = model.loss(batch)
    read: dict[str, list[Tensor]] = {}
    for call in calls:
        if call.memory == "source":
            read.setdefault(call.reader, []).append(call.weights)
    weights = torch.cat([torch.cat(parts, 2) for parts in read.values()], 1)
    added = torch.zeros(())
    for key, share in given.items():
        term = getattr(penalty, key)(weights, batch.target.mask[:, 1:], batch.source.mask)
        assert_close(loss.parts[key], term.detach())
        added = added + share * term
    assert_close(loss.total, bare.total + added)
    assert_close(loss.parts["loss"], bare.parts["loss"])


def test_without_attention_there_is_nothing_to_penalise() -> None:
    model = make({"kind": "seq2seq"}, Train(penalties=Penalties(coverage=1.0)))
    assert float(model.eval().loss(pairs()).parts["coverage"]) == 0


@pytest.mark.parametrize("kind", ["seq2seq", "bahdanau", "luong", "transformer"])
@torch.no_grad()
def test_scheduled_sampling_goes_from_teacher_forcing_to_own_words(kind: str) -> None:
    batch = pairs()
    model = make({"kind": kind}, Train(sampling=1.0, label_smoothing=0.0)).train()
    assert not model.steady
    plain = crossed(logits(model, batch), batch)
    assert_close(model.loss(batch, 0.0).total, plain)
    assert make({"kind": kind}, Train(sampling=0.0)).steady
    own = crossed(on_its_own(model, batch), batch)
    assert not torch.allclose(own, plain)
    assert_close(model.loss(batch, 1.0).total, own)
    assert_close(model.eval().loss(batch, 1.0).total, plain)  # in evaluation there is nothing to sample


def on_its_own(model: Model, batch: Pairs) -> Tensor:
    """The logits of a model that is fed the word it found most probable itself."""
    state, word, seen = model.decoder.start(model.encode(batch.source)), batch.target.ids[:, 0], []
    for _ in range(batch.target.ids.shape[1] - 1):
        stepped = model.decoder.step(word, state)
        state = stepped.state
        seen.append(model.output(stepped.features[:, None])[:, 0])
        word = seen[-1].argmax(-1)
    return torch.stack(seen, 1)


@torch.no_grad()
def test_the_share_of_own_words_grows_with_progress() -> None:
    """Halfway through a run that ends at 0.6, three words in ten are the model's own."""
    torch.manual_seed(1)
    model = make({"kind": "seq2seq"}, Train(sampling=0.6)).train()
    heard: list[Tensor] = []
    table = model.decoder.get_submodule("embedding")
    table.register_forward_pre_hook(lambda _, given: heard.append(given[0]))
    never = 3  # a symbol that this model does not say of itself
    model.output.bias[never] = -1e9
    rows, steps = 100, 40
    model.loss(Pairs.of([[4, 2]] * rows, [[1, *[never] * steps]] * rows), 0.5)
    own = torch.cat(heard[1:], 1) != never
    assert 0.27 < own.float().mean() < 0.33


@pytest.mark.parametrize(
    "choice",
    [
        *({"kind": "luong", f"dropout_{what}": 0.4} for what in ("embedding", "state", "output", "weights", "word")),
        *({"kind": "transformer", key: 0.4} for key in ("dropout", "dropout_weights", "dropout_word")),
    ],
    ids=name,
)
@torch.no_grad()
def test_every_dropout_drops_in_training_alone(choice: dict[str, Any]) -> None:
    batch, model, plain = pairs(), make(choice), make({"kind": choice["kind"]})
    assert_close(model.eval().loss(batch).total, plain.eval().loss(batch).total)
    model.train()
    assert float(model.loss(batch).total) != float(model.loss(batch).total)


@pytest.mark.parametrize("kind", ["bahdanau", "luong", "transformer"])
def test_tied_weights_are_one_table(kind: str) -> None:
    """Of another width than the state where the composition has a layer between (seq2seq has none)."""
    tied, untied = make({"kind": kind}, tied=True), make({"kind": kind}, tied=False)
    table = tied.decoder.get_parameter("embedding.table.weight")
    assert tied.output.weight is table
    assert tied.output.weight.data_ptr() != tied.encoder.get_parameter("embedding.table.weight").data_ptr()
    assert untied.output.weight is not untied.decoder.get_parameter("embedding.table.weight")
    if kind == "transformer":
        assert count(untied) - count(tied) == table.numel()
    before = table.detach().clone()
    torch.autograd.backward(tied.loss(pairs()).total)
    torch.optim.SGD(tied.parameters(), 0.1).step()
    assert not torch.equal(table, before)
    assert tied.output.weight is table


def test_shared_tables_are_one() -> None:
    config = RecurrentModel(kind="luong", embedding=6, width=8, shared=True, tied=True)
    model = build(config, TARGET, TARGET)
    other = build(RecurrentModel(kind="luong", embedding=6, width=8, tied=True), TARGET, TARGET)
    assert count(other) - count(model) == TARGET * 6
    assert model.encoder.get_parameter("embedding.table.weight") is model.output.weight


def test_a_table_of_another_width_cannot_be_tied() -> None:
    with pytest.raises(ValueError, match="cannot share"):
        make({"kind": "seq2seq"}, tied=True)


def count(model: Model) -> int:
    return sum(weight.numel() for weight in model.parameters())


def test_what_a_model_is_without_a_recipe() -> None:
    model = make({"kind": "luong"})
    assert model.objective == Objective()
    assert {key.split(".")[0] for key in model.state_dict()} == {"encoder", "decoder", "output", "baseline"}
    assert model.encoder.get_parameter("embedding.table.weight").shape == (SOURCE, 6)
