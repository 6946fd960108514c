"""What every mask does to weights and windows, whatever it is."""

from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from torch.testing import assert_close

from regard.attention import Attention, record
from regard.attention.align import Hard, Monotonic, Soft
from regard.attention.align.core import masked_softmax
from regard.attention.scope import Causal, Everywhere, LocalM, LocalP
from regard.attention.score import Additive, Dot
from regard.memory import Memory, Past

energies = st.one_of(st.floats(-1e6, 1e6, width=32), st.just(-math.inf))
seeds = st.integers(0, 2**16)
lengths: SearchStrategy[list[int]] = st.lists(st.integers(0, 13), min_size=1, max_size=5)


def right_padded(rows: list[int]) -> torch.Tensor:
    return torch.arange(max(1, *rows, 1)) < torch.tensor(rows).unsqueeze(-1)


@given(st.lists(st.tuples(energies, st.booleans()), min_size=1, max_size=13))
@settings(deadline=None)
def test_softmax_over_what_is_allowed(row: list[tuple[float, bool]]) -> None:
    energy = torch.tensor([[e for e, _ in row]], requires_grad=True)
    weights = masked_softmax(energy, torch.tensor([[allowed for _, allowed in row]]))
    real = [e for e, allowed in row if allowed and e > -math.inf]
    top = max(real, default=0.0)
    mass = sum(math.exp(e - top) for e in real)
    want = [math.exp(e - top) / mass if allowed and e > -math.inf else 0.0 for e, allowed in row]
    assert_close(weights[0], torch.tensor(want), atol=1e-6, rtol=1e-4)
    assert all(w == 0 for w, (_, allowed) in zip(weights[0].tolist(), row, strict=True) if not allowed)
    (gradient,) = torch.autograd.grad(weights.square().sum(), energy)
    assert gradient.isfinite().all()


@given(lengths, st.integers(0, 5), st.integers(1, 7), st.integers(0, 4))
@settings(deadline=None)
def test_local_m_is_a_window_around_the_step(rows: list[int], reach: int, steps: int, at: int) -> None:
    mask = right_padded(rows)
    window = LocalM(reach)(torch.zeros(len(rows), steps, 3), mask, Past(at)).mask
    for row, length in enumerate(rows):
        for step in range(steps):
            centre = min(at + step, length - 1)
            want = [i < length and abs(i - centre) <= reach for i in range(mask.shape[1])]
            assert window[row, step].tolist() == want


@given(lengths, st.integers(1, 5), seeds)
@settings(max_examples=50, deadline=None)
def test_local_p_is_a_bell_where_the_query_says(rows: list[int], reach: int, seed: int) -> None:
    torch.manual_seed(seed)
    scope, mask, query = LocalP(3, 5, reach), right_padded(rows), torch.randn(len(rows), 2, 3)
    with torch.no_grad():
        window = scope(query, mask, Past(0))
    assert window.prior is not None
    hidden, out = (weight.detach() for weight in scope.centre.parameters())
    for row, length in enumerate(rows):
        for step in range(2):
            spoken = float(out[0] @ torch.tanh(hidden @ query[row, step]))
            centre = length / (1 + math.exp(-spoken))
            for slot in range(mask.shape[1]):
                assert window.mask[row, step, slot] == (slot < length and abs(slot - centre) <= reach)
                bell = math.exp(-((slot - centre) ** 2) / (2 * (reach / 2) ** 2))
                assert math.isclose(float(window.prior[row, step, slot]), bell, rel_tol=1e-3, abs_tol=1e-6)
            assert length == 0 or window.mask[row, step].any()


@given(lengths, st.integers(1, 7), st.integers(0, 4))
@settings(deadline=None)
def test_causal_never_sees_the_future(rows: list[int], steps: int, at: int) -> None:
    mask = right_padded(rows)
    window = Causal()(torch.zeros(len(rows), steps, 3), mask, Past(at)).mask
    for row, length in enumerate(rows):
        for step in range(steps):
            assert window[row, step].tolist() == [i < length and i <= at + step for i in range(mask.shape[1])]


@given(st.lists(st.booleans(), min_size=1, max_size=13), seeds, st.sampled_from([Soft, Hard, Monotonic]))
@settings(max_examples=60, deadline=None)
def test_slots_that_are_not_there_may_stand_anywhere(
    mask: list[bool], seed: int, align: type[Soft | Hard | Monotonic]
) -> None:
    """A road's empty places lie between the cars. Scores that read content alone do not mind."""
    torch.manual_seed(seed)
    here = torch.tensor([mask])
    for score in (Dot(), Additive(3, 3, 5)):
        attention = Attention(score, Everywhere(), align()).eval()
        values, query = torch.randn(1, len(mask), 3), torch.randn(1, 1, 3)
        bare = Memory(values[:, here[0]], values[:, here[0]], here[:, here[0]])
        with record(attention) as calls:
            whole = attention(query, attention.bind(Memory(values, values, here))).context
        assert (calls[0].weights[..., ~here[0]] == 0).all()
        want = attention(query, attention.bind(bare)).context if here.any() else torch.zeros(1, 1, 3)
        assert_close(whole, want, atol=1e-5, rtol=1e-5)
