"""The laws of attention, over every mechanism there is. None of them knows which one it tests."""

from __future__ import annotations

import pytest
import torch
from mechanism import ALL, LENGTHS, SLOTS, VALUE, Mechanism, contents, core, read, walk, watched
from torch import Tensor
from torch.testing import assert_close

from regard.attention import MultiHead, record
from regard.memory import Memory

every = pytest.mark.parametrize("mechanism", ALL, ids=str)
unsteady = pytest.mark.parametrize("mechanism", [m for m in ALL if not core(m.make()).sequential], ids=str)
sequential = pytest.mark.parametrize("mechanism", [m for m in ALL if core(m.make()).sequential], ids=str)


def joined(context: Tensor, attention: MultiHead) -> Tensor:
    out: Tensor = attention.out(context.transpose(1, 2).flatten(2))
    return out


@every
def test_weights_are_a_share_of_what_may_be_read(mechanism: Mechanism) -> None:
    attention = mechanism.make().eval()
    bound = attention.bind(mechanism.memory())
    seen, weights = watched(attention, mechanism.query(), bound)
    assert weights.isfinite().all()
    assert (weights >= 0).all()
    assert (weights.sum(-1) <= 1 + 1e-5).all()
    for row, length in enumerate(LENGTHS):
        assert (weights[row, ..., length:] == 0).all()
    context = weights @ (bound.values if bound.values.dim() == 4 else bound.values.unsqueeze(1))
    want = joined(context, attention) if isinstance(attention, MultiHead) else context.squeeze(1)
    assert_close(seen.context, want, atol=1e-5, rtol=1e-5)
    assert weights.sum() > 0


@every
def test_what_is_read_is_the_same_without_the_padding(mechanism: Mechanism) -> None:
    attention = mechanism.make().eval()
    memory, query = mechanism.memory(), mechanism.query()
    seen, weights = watched(attention, query, attention.bind(memory))
    for row, n in enumerate(LENGTHS):
        bare = Memory(memory.keys[[row], :n], memory.values[[row], :n], memory.mask[[row], :n])
        alone, own = watched(attention, query[[row]], attention.bind(bare))
        assert_close(own[0], weights[row, ..., :n], atol=1e-5, rtol=1e-5)
        assert_close(alone.context[0], seen.context[row], atol=1e-5, rtol=1e-5)


@every
def test_what_stands_in_the_padding_is_never_read(mechanism: Mechanism) -> None:
    attention = mechanism.make().eval()
    memory, query = mechanism.memory(), mechanism.query()
    hidden = ~memory.mask.unsqueeze(-1)
    other = Memory(memory.keys.masked_fill(hidden, 1e4), memory.values.masked_fill(hidden, -1e4), memory.mask)
    for look in (read, lambda *given: watched(*given)[0]):
        one, two = (look(attention, query, attention.bind(m)).context for m in (memory, other))
        assert_close(one, two, atol=1e-6, rtol=1e-6)


def outcome(mechanism: Mechanism, drop: float, recorded: bool) -> tuple[list[Tensor | None], Tensor]:
    """Everything that comes out of a reading in training: context, gradients, and the random state it leaves."""
    attention = mechanism.make(drop=drop).train()
    memory, query = mechanism.memory(), mechanism.query().requires_grad_()
    keys = memory.keys.clone().requires_grad_()
    values = keys if memory.values is memory.keys else memory.values.clone().requires_grad_()
    torch.manual_seed(3)
    if recorded:
        with record(attention):
            seen = read(attention, query, attention.bind(Memory(keys, values, memory.mask)))
    else:
        seen = read(attention, query, attention.bind(Memory(keys, values, memory.mask)))
    state = torch.get_rng_state()
    total = seen.context.sin().sum() + (0 if seen.log_prob is None else seen.log_prob.cos().sum())
    leaves = [query, keys, values, *attention.parameters()]
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return [seen.context, *gradients], state


@every
@pytest.mark.parametrize("drop", [0.0, 0.5])
def test_recording_changes_nothing(mechanism: Mechanism, drop: float) -> None:
    """Where a kernel can do it, this is fused == eager, in outputs and gradients."""
    plain, after = outcome(mechanism, drop, recorded=False)
    seen, after_seen = outcome(mechanism, drop, recorded=True)
    assert torch.equal(after, after_seen)
    for one, two in zip(plain, seen, strict=True):
        if one is None or two is None:  # what is only weighed (a hard slot's key) may have no gradient on either way
            assert one is two
        else:
            assert_close(one, two, atol=1e-5, rtol=1e-4)


@every
def test_an_empty_row_reads_nothing(mechanism: Mechanism) -> None:
    for training in (False, True):
        attention = mechanism.make().train(training)
        memory, query = mechanism.memory((0, 5, 0)), mechanism.query().requires_grad_()
        values = memory.values.requires_grad_()
        for look in (lambda *given: (read(*given), None), watched):
            seen, weights = look(attention, query, attention.bind(Memory(memory.keys, values, memory.mask)))
            nothing = torch.zeros(attention.heads * 7) if isinstance(attention, MultiHead) else torch.zeros(VALUE)
            want = attention.out(nothing) if isinstance(attention, MultiHead) else nothing
            assert_close(seen.context[0], want.expand_as(seen.context[0]))
            assert weights is None or (weights[0] == 0).all()
            total = seen.context.sum() + (0 if seen.log_prob is None else seen.log_prob.sum())
            for gradient in torch.autograd.grad(total, [query, values, *attention.parameters()], allow_unused=True):
                assert gradient is None or gradient.isfinite().all()


@unsteady
def test_step_by_step_is_all_at_once(mechanism: Mechanism) -> None:
    attention = mechanism.make().eval()
    bound, query = attention.bind(mechanism.memory()), mechanism.query()
    whole, weights = watched(attention, query, bound)
    for track in (False, True):
        steps = walk(attention, query, bound, attention.start(bound, track=track))
        assert_close(steps.context, whole.context, atol=1e-5, rtol=1e-5)
        assert steps.past.step == whole.past.step == query.shape[1]
        if track:
            assert steps.past.coverage is not None
            seen = steps.past.coverage if steps.past.coverage.dim() == 3 else steps.past.coverage.unsqueeze(1)
            assert_close(seen, weights.sum(2), atol=1e-5, rtol=1e-5)
    tracked = attention(query, bound, attention.start(bound, track=True)).past
    assert tracked.weights is not None
    assert tracked.coverage is not None
    assert_close(tracked.weights.reshape(weights[:, :, -1].shape), weights[:, :, -1], atol=1e-5, rtol=1e-5)
    assert_close(tracked.coverage.reshape(weights[:, :, -1].shape), weights.sum(2), atol=1e-5, rtol=1e-5)
    middle = attention(query[:, :2], bound)  # any cut will do, not only single steps
    rest = attention(query[:, 2:], bound, middle.past)
    assert_close(torch.cat([middle.context, rest.context], 1), whole.context, atol=1e-5, rtol=1e-5)


@sequential
def test_a_sequential_attention_says_so(mechanism: Mechanism) -> None:
    attention = mechanism.make()
    with pytest.raises(ValueError, match="one query at a time"):
        attention(mechanism.query(), attention.bind(mechanism.memory()))


@every
def test_neighbours_and_order_change_nothing(mechanism: Mechanism) -> None:
    attention = mechanism.make().eval()
    memory, query = mechanism.memory(), mechanism.query()
    together = read(attention, query, attention.bind(memory)).context
    index = torch.tensor([2, 0, 2, 1])
    assert_close(read(attention, query[index], attention.bind(memory.rows(index))).context, together[index])
    for row in range(len(LENGTHS)):
        one = torch.tensor([row])
        alone = read(attention, query[one], attention.bind(memory.rows(one))).context
        assert_close(alone, together[one], atol=1e-5, rtol=1e-5)


@every
def test_one_verb_reorders_all_that_is_remembered(mechanism: Mechanism) -> None:
    attention = mechanism.make().eval()
    bound, query = attention.bind(mechanism.memory()), mechanism.query()
    for track in (False, True):
        begun = walk(attention, query[:, :3], bound, attention.start(bound, track=track))
        straight = walk(attention, query[:, 3:], bound, begun.past)
        index = torch.tensor([1, 2, 2, 0, 1])
        turned = walk(attention, query[index, 3:], bound.rows(index), begun.past.rows(index))
        assert_close(turned.context, straight.context[index], atol=1e-5, rtol=1e-5)
        assert (turned.past.weights is None) == (straight.past.weights is None)
        if turned.past.weights is not None and straight.past.weights is not None:
            assert_close(turned.past.weights, straight.past.weights[index], atol=1e-5, rtol=1e-5)


@every
def test_nothing_is_stored_in_forward(mechanism: Mechanism) -> None:
    attention = mechanism.make(drop=0.5).train()
    before = contents(attention)
    watched(attention, mechanism.query(), attention.bind(mechanism.memory()))
    read(attention, mechanism.query(), attention.bind(mechanism.memory()))
    assert contents(attention) == before


@every
def test_half_precision_trains(mechanism: Mechanism) -> None:
    for recorded in (False, True):
        attention = mechanism.make(drop=0.5).train()
        memory, query = mechanism.memory((11, 7, 0)), mechanism.query()
        with torch.autocast("cpu", torch.bfloat16):
            look = (lambda *given: watched(*given)[0]) if recorded else read
            seen = look(attention, query, attention.bind(memory))
            total = seen.context.float().square().sum()
            total = total if seen.log_prob is None else total - seen.log_prob.sum()
        used = (
            torch.autograd.grad(total, list(attention.parameters()), allow_unused=True) if total.requires_grad else ()
        )
        assert all(gradient is None or gradient.isfinite().all() for gradient in used)
        assert seen.context.isfinite().all()


def test_the_product_is_whole() -> None:
    assert len(ALL) == 7 * 4 * 3 * 2
    assert SLOTS > 9  # the location score has to run out of places
