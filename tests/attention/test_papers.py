"""Each named mechanism is its paper, written as loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from loops import (
    Energy,
    Matrix,
    Vector,
    Window,
    everywhere,
    expected_forwards,
    forwards,
    inner,
    local_m,
    local_p,
    mean_of,
    plain,
    plus,
    seen_through,
    sigmoid,
    softmax,
    tanh,
    times,
)
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Attention, MultiHead, record
from regard.attention.align import Hard, Monotonic
from regard.attention.scope import Causal, Everywhere, LocalM, LocalP, Scope
from regard.attention.score import Additive, Concat, Dot, General, Location, LocationAware, ScaledDot, Score
from regard.memory import Memory, Past

QUERY, KEY, HIDDEN, VALUE, STEPS, REACH = 5, 3, 7, 2, 6, 2
LENGTHS = (7, 4, 1)


def weight(module: nn.Module, name: str) -> Matrix:
    return plain(module.get_parameter(name))


def of_additive(score: Score) -> Energy:
    """Bahdanau 2015, A.1.2: vᵀ tanh(W s + U h)."""
    w, b, u = weight(score, "query.weight"), plain(score.get_parameter("query.bias")), weight(score, "key.weight")
    (v,) = weight(score, "energy.weight")
    bias: Vector = b  # type: ignore[assignment]
    return lambda query, key: inner(v, tanh(plus(times(w, query), bias, times(u, key))))


def of_concat(score: Score) -> Energy:
    """Luong 2015, eq. 8: vᵀ tanh(W [h_t; h_s])."""
    w = weight(score, "pair.weight")
    (v,) = weight(score, "energy.weight")
    return lambda query, key: inner(v, tanh(times(w, query + key)))


def of_general(score: Score) -> Energy:
    """Luong 2015, eq. 8: h_tᵀ W h_s."""
    w = weight(score, "key.weight")
    return lambda query, key: inner(query, times(w, key))


Named = tuple[Callable[[], Score], Callable[[Score], Energy] | None, int]  # the score, its paper, how wide its keys are

NAMED: dict[str, Named] = {
    "bahdanau": (lambda: Additive(QUERY, KEY, HIDDEN), of_additive, KEY),
    "luong-dot": (Dot, lambda _: inner, QUERY),
    "luong-general": (lambda: General(QUERY, KEY), of_general, KEY),
    "luong-concat": (lambda: Concat(QUERY, KEY, HIDDEN), of_concat, KEY),
    "luong-location": (lambda: Location(QUERY, LENGTHS[0]), None, KEY),
    "transformer": (ScaledDot, lambda _: lambda query, key: inner(query, key) / math.sqrt(QUERY), QUERY),
}
SCOPES: dict[str, Callable[[], Scope]] = {
    "global": Everywhere,
    "local-m": lambda: LocalM(REACH),
    "local-p": lambda: LocalP(QUERY, HIDDEN, REACH),
}


def memory(key: int) -> Memory:
    keys, values = torch.randn(len(LENGTHS), LENGTHS[0], key), torch.randn(len(LENGTHS), LENGTHS[0], VALUE)
    return Memory(keys.double(), values.double(), torch.arange(LENGTHS[0]) < torch.tensor(LENGTHS).unsqueeze(-1))


def sentences(read: Memory) -> list[tuple[Matrix, Matrix]]:
    """Keys and values of each row, without what only fills it up."""
    return [(plain(read.keys[row, :n]), plain(read.values[row, :n])) for row, n in enumerate(LENGTHS)]


def window(scope: Scope, slots: int, step: int, query: Vector) -> Window:
    if isinstance(scope, LocalM):
        return local_m(slots, step, REACH)
    if isinstance(scope, LocalP):
        (out,) = weight(scope, "centre.2.weight")
        return local_p(slots, query, weight(scope, "centre.0.weight"), out, REACH)
    return everywhere(slots)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", NAMED)
def test_luongs_table_and_its_neighbours(name: str, scope: str) -> None:
    """Score × scope with a softmax: 7 slots, 6 steps, three sentences."""
    torch.manual_seed(1)
    make, paper, key = NAMED[name]
    attention = Attention(make(), SCOPES[scope]()).double()
    read, queries = memory(key), torch.randn(len(LENGTHS), STEPS, QUERY).double()
    context = attention(queries, attention.bind(read)).context
    for row, (keys, values) in enumerate(sentences(read)):
        for step, query in enumerate(plain(queries[row])):
            if paper is None:  # location: e = W h_t, a number for every place
                energies = times(weight(attention.score, "place.weight"), query)[: len(keys)]
            else:
                energy = paper(attention.score)
                energies = [energy(query, each) for each in keys]
            allowed, bell = window(attention.scope, len(keys), step, query)
            weights = [a * b for a, b in zip(softmax(energies, allowed), bell, strict=True)]
            want = torch.tensor(mean_of(weights, values), dtype=torch.float64)
            exact = scope != "local-p"  # whose centre is found in float32
            assert_close(context[row, step], want, atol=1e-10 if exact else 1e-5, rtol=1e-10 if exact else 1e-4)


def walked(attention: Attention, queries: Tensor, read: Memory) -> Tensor:
    """The weights of every step (row, step, slot), one step at a time."""
    bound = attention.bind(read)
    past = attention.start(bound)
    with record(attention) as calls:
        for step in range(queries.shape[1]):
            past = attention(queries[:, [step]], bound, past).past
    return torch.cat([call.weights for call in calls], 2).squeeze(1)


def test_chorowski_reads_the_step_before() -> None:
    """las: e = vᵀ tanh(W s + V h + U f), f = F * a_{t-1} (Chorowski 2015, eq. 8 and 9); a_0 is uniform."""
    torch.manual_seed(1)
    score = LocationAware(QUERY, KEY, HIDDEN, filters=3, reach=2)
    attention = Attention(score).double()
    read, queries = memory(KEY), torch.randn(len(LENGTHS), STEPS, QUERY).double()
    found = walked(attention, queries, read)
    w, u, place = (weight(score, f"{name}.weight") for name in ("content.query", "content.key", "place"))
    bias: Any = plain(score.get_parameter("content.query.bias"))
    (v,) = weight(score, "content.energy.weight")
    filters = plain(score.filter.weight[:, 0])
    for row, (keys, _) in enumerate(sentences(read)):
        before = [1 / len(keys)] * len(keys)
        for step, query in enumerate(plain(queries[row])):
            seen = seen_through(filters, before)
            energies = [
                inner(v, tanh(plus(times(w, query), bias, times(u, key), times(place, f))))
                for key, f in zip(keys, seen, strict=True)
            ]
            before = softmax(energies, [True] * len(keys))
            assert_close(found[row, step, : len(keys)], torch.tensor(before, dtype=torch.float64))


def test_raffel_moves_only_forwards() -> None:
    torch.manual_seed(1)
    score = Additive(QUERY, KEY, HIDDEN)
    attention = Attention(score, align=Monotonic()).double().eval()
    read, queries = memory(KEY), torch.randn(len(LENGTHS), STEPS, QUERY).double()
    found = walked(attention, queries, read)
    energy = of_additive(score)
    for row, (keys, _) in enumerate(sentences(read)):
        before = [1.0] + [0.0] * (len(keys) - 1)
        for step, query in enumerate(plain(queries[row])):
            chosen = [sigmoid(energy(query, key)) for key in keys]
            assert forwards(chosen, before) == pytest.approx(expected_forwards(chosen, before))
            before = forwards(chosen, before)
            assert_close(found[row, step, : len(keys)], torch.tensor(before, dtype=torch.float64))


def test_a_monotonic_reader_may_be_certain() -> None:
    """Chances of exactly 0 and 1, where the paper's quotient would divide by zero, and gradients through them."""
    attention = Attention(Dot(), align=Monotonic()).eval()
    sure = torch.tensor([[[-300.0], [300.0], [-300.0], [300.0]]])
    bound = attention.bind(Memory(sure, torch.eye(4)[None], torch.ones(1, 4, dtype=torch.bool)))
    past, read = attention.start(bound), []
    query = torch.ones(1, 1, 1, requires_grad=True)
    for _ in range(2):
        seen = attention(query, bound, past)
        past = seen.past
        read.append(seen.context)
    assert torch.cat(read, 1)[0].tolist() == [[0, 1, 0, 0], [0, 1, 0, 0]]
    (gradient,) = torch.autograd.grad(torch.cat(read).sum(), query)
    assert gradient.isfinite().all()


def test_xu_chooses_one_slot() -> None:
    """In evaluation the most probable one; what it is worth is its log-probability, and the entropy of the choice."""
    torch.manual_seed(1)
    score = Additive(QUERY, KEY, HIDDEN)
    attention = Attention(score, align=Hard()).double().eval()
    read, queries = memory(KEY), torch.randn(len(LENGTHS), STEPS, QUERY).double()
    with torch.no_grad():
        seen = attention(queries, attention.bind(read))
    assert seen.log_prob is not None
    assert seen.entropy is not None
    energy = of_additive(score)
    for row, (keys, values) in enumerate(sentences(read)):
        for step, query in enumerate(plain(queries[row])):
            odds = softmax([energy(query, key) for key in keys], [True] * len(keys))
            best = max(range(len(keys)), key=lambda slot: odds[slot])
            assert seen.context[row, step].tolist() == values[best]
            assert float(seen.log_prob[row, step]) == pytest.approx(math.log(odds[best]))
            assert float(seen.entropy[row, step]) == pytest.approx(-sum(p * math.log(p) for p in odds))


def test_xu_samples_as_often_as_it_should() -> None:
    """The slot that was sampled is the one whose log-probability is handed on, and comes up p·n times of n."""
    torch.manual_seed(1)
    attention, count = Attention(Dot(), align=Hard()).train(), 20000
    energies = torch.tensor([1.5, 0.0, -1.0, 0.7, -math.inf])
    keys = energies[None, :, None].expand(count, -1, 1)
    mask = torch.tensor([True, True, True, False, True])
    bound = attention.bind(Memory(keys, torch.eye(5).expand(count, 5, 5), mask.expand(count, 5)))
    seen = attention(torch.ones(count, 1, 1), bound)
    odds = softmax(energies.tolist(), [True, True, True, False, False])
    slots = seen.context.argmax(-1).squeeze(-1)
    assert (seen.context.sum(-1) == 1).all()
    assert seen.log_prob is not None
    assert_close(seen.log_prob.squeeze(-1).exp(), torch.tensor(odds)[slots])
    often = torch.bincount(slots, minlength=5)
    for slot, chance in enumerate(odds):
        spread = math.sqrt(count * chance * (1 - chance))
        assert abs(int(often[slot]) - count * chance) <= 4 * spread
    assert often[3] == often[4] == 0


def test_the_gradient_of_a_sample_is_that_of_its_log_softmax() -> None:
    torch.manual_seed(1)
    attention = Attention(Dot(), align=Hard()).train()
    keys = torch.randn(1, 5, 3, requires_grad=True)
    query = torch.randn(1, 1, 3)
    seen = attention(query, attention.bind(Memory(keys, torch.eye(5)[None], torch.ones(1, 5, dtype=torch.bool))))
    slot = int(seen.context.argmax())
    assert seen.log_prob is not None
    (own,) = torch.autograd.grad(seen.log_prob.sum(), keys)
    (want,) = torch.autograd.grad(torch.log_softmax((query @ keys.mT)[0, 0], 0)[slot], keys)
    assert_close(own, want)


@pytest.mark.parametrize("causal", [False, True])
def test_transformer_is_torchs(causal: bool) -> None:
    """nn.MultiheadAttention with the same weights: outputs, weights of every head, gradients; with padding."""
    torch.manual_seed(1)
    width, heads, slots = 6, 3, LENGTHS[0]
    ours = MultiHead(Attention(ScaledDot(), Causal() if causal else Everywhere()), heads, width, width, width).double()
    theirs = nn.MultiheadAttention(width, heads, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.load_state_dict(ours.out.state_dict())
    x = torch.randn(len(LENGTHS), slots, width).double()
    mask = torch.arange(slots) < torch.tensor(LENGTHS).unsqueeze(-1)
    future = torch.ones(slots, slots, dtype=torch.bool).triu(1) if causal else None
    one, two = x.clone().requires_grad_(), x.clone().requires_grad_()
    own = ours(one, ours.bind(Memory(one, one, mask))).context
    want, weights = theirs(two, two, two, key_padding_mask=~mask, attn_mask=future, average_attn_weights=False)
    assert_close(own, want)
    with record(ours) as calls:
        ours(one, ours.bind(Memory(one, one, mask)))
    assert_close(calls[0].weights, weights)

    own_gradients = torch.autograd.grad(own.sin().sum(), [one, ours.query.weight, ours.value.bias, ours.out.weight])
    leaves = [two, theirs.in_proj_weight, theirs.in_proj_bias, theirs.out_proj.weight]
    of_x, of_in, of_bias, of_out = torch.autograd.grad(want.sin().sum(), leaves)
    for found, wanted in zip(own_gradients, [of_x, of_in[:width], of_bias[2 * width :], of_out], strict=True):
        assert_close(found, wanted)


@pytest.mark.parametrize("heads", [1, 3])
def test_heads_are_each_an_attention_of_its_own(heads: int) -> None:
    """Vaswani 2017, 3.2.2, with any score inside; every head has its own projections and the score is shared."""
    torch.manual_seed(1)
    each = 2
    many = MultiHead(Attention(Additive(each, each, HIDDEN)), heads, QUERY, KEY, heads * each).double()
    read, queries = memory(KEY), torch.randn(len(LENGTHS), STEPS, QUERY).double()
    read = Memory(read.keys, read.keys, read.mask)
    found = many(queries, many.bind(read)).context
    whole = []
    for head in range(heads):
        part = slice(head * each, (head + 1) * each)
        q, k, v = (
            layer(x)[..., part] for layer, x in ((many.query, queries), (many.key, read.keys), (many.value, read.keys))
        )
        whole.append(many.attention(q, many.attention.bind(Memory(k, v, read.mask))).context)
    assert_close(found, many.out(torch.cat(whole, -1)))


def test_heads_share_their_width_out_evenly() -> None:
    with pytest.raises(ValueError, match="heads=4"):
        MultiHead(Attention(Dot()), 4, 6, 6, 6)


def test_location_refuses_what_lies_past_its_places() -> None:
    attention = Attention(Location(QUERY, 4))
    with record(attention) as calls:
        attention(torch.randn(len(LENGTHS), STEPS, QUERY), attention.bind(_single(memory(KEY))))
    assert (calls[0].weights[..., 4:] == 0).all()
    assert_close(calls[0].weights.sum(-1), torch.ones(len(LENGTHS), 1, STEPS))


def _single(read: Memory) -> Memory:
    return Memory(read.keys.float(), read.values.float(), read.mask)


def test_what_reads_the_step_before_is_begun_by_start() -> None:
    for attention in (
        Attention(LocationAware(QUERY, KEY, HIDDEN)),
        Attention(Additive(QUERY, KEY, HIDDEN), align=Monotonic()),
    ):
        with pytest.raises(ValueError, match=r"Attention\.start"):
            attention(torch.randn(len(LENGTHS), 1, QUERY), attention.bind(_single(memory(KEY))), Past(0))
