"""The laws of decoding, over every decoder there is. None of them knows which one it tests."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from mechanism import contents
from speaker import ALL, LENGTHS, STEPS, Speaker, bare, memory, tensors, tokens, walk
from torch.testing import assert_close

from regard.attention import record
from regard.decode import TransformerDecoder

every = pytest.mark.parametrize("speaker", ALL, ids=str)


@every
def test_step_by_step_is_all_at_once(speaker: Speaker) -> None:
    """In features, in what was chosen, and in gradients."""
    decoder, read, given = speaker.make(), memory(), tokens()
    whole = decoder(given, read)
    features, log_prob, _ = walk(decoder, given, decoder.start(read))
    assert whole.features.shape[-1] == decoder.width
    assert_close(features, whole.features)
    assert (log_prob is None) == (whole.log_prob is None)
    if log_prob is not None and whole.log_prob is not None:
        assert_close(log_prob, whole.log_prob)
    weights = list(decoder.parameters())
    one, two = (torch.autograd.grad(x.sin().sum(), weights, allow_unused=True) for x in (features, whole.features))
    for own, want in zip(one, two, strict=True):
        if own is None or want is None:  # what is only weighed, as a hard slot's key
            assert own is want
        else:
            assert_close(own, want)


@every
@torch.no_grad()
def test_alone_is_batched_and_reordered(speaker: Speaker) -> None:
    """A row's features depend on its own source and its own symbols; padding of either is never read."""
    decoder, read, given = speaker.make(), memory(), tokens()
    together = decoder(given, read).features
    order = torch.tensor([2, 0, 1])
    assert_close(decoder(given[order], read.rows(order)).features, together[order])
    for row in range(len(LENGTHS)):
        alone = decoder(given[[row], : row + 2], bare(read, row)).features
        assert_close(alone[0], together[row, : row + 2])


@every
@torch.no_grad()
def test_one_verb_reorders_all_state(speaker: Speaker) -> None:
    """As a beam does in the middle of a sentence: rows twice, in another order, or not at all."""
    decoder, read, given = speaker.make(), memory(), tokens()
    for track in (False, True):
        _, _, state = walk(decoder, given[:, :2], decoder.start(read, track=track))
        straight, _, end = walk(decoder, given[:, 2:], state)
        index = torch.tensor([2, 2, 0, 2])
        turned, _, turned_end = walk(decoder, given[index, 2:], state.rows(index))
        assert_close(turned, straight[index])
        covered, wanted = decoder.coverage(turned_end), decoder.coverage(end)
        assert (covered is None) == (wanted is None)
        if covered is not None and wanted is not None:
            assert_close(covered, wanted[index])


@every
def test_nothing_is_stored_and_steps_are_pure(speaker: Speaker) -> None:
    decoder, read, given = speaker.make(drop=0.3), memory(), tokens()
    before = contents(decoder)
    decoder(given, read)
    state = decoder.start(read, track=True)
    held = [(part, part._version, part.clone()) for part in tensors(state)]
    seeds = []
    for _ in range(2):
        torch.manual_seed(2)
        seeds.append(walk(decoder, given, state)[0])
    assert torch.equal(*seeds)
    assert contents(decoder) == before
    assert len(held) > 0
    for part, version, copy in held:
        assert part._version == version
        assert torch.equal(part, copy)


@every
@torch.no_grad()
def test_coverage_is_the_sum_of_the_weights(speaker: Speaker) -> None:
    """Of the heads' mean, in the top layer where there are several; and tracking it changes nothing."""
    decoder, read, given = speaker.make(), memory(), tokens()
    plain, _, untracked = walk(decoder, given, decoder.start(read))
    with record(decoder) as calls:
        features, _, state = walk(decoder, given, decoder.start(read, track=True))
    assert_close(features, plain)
    seen = [call for call in calls if call.memory == "source"]
    found = decoder.coverage(state)
    if not seen:
        assert speaker.kind == "plain"
        assert found is None
        return
    if isinstance(decoder, TransformerDecoder):
        assert decoder.coverage(untracked) is None
    top = [call.weights for call in seen if call.reader == seen[-1].reader]
    assert len(top) == STEPS
    assert found is not None
    assert_close(found, torch.cat(top, 2).mean(1).sum(1))


@every
@torch.no_grad()
def test_what_stands_in_the_padding_is_never_read(speaker: Speaker) -> None:
    decoder, read, given = speaker.make(), memory(), tokens()
    other = read.values.masked_fill(~read.mask.unsqueeze(-1), 1e3)
    assert_close(decoder(given, replace(read, keys=other, values=other)).features, decoder(given, read).features)


@every
@torch.no_grad()
def test_the_future_is_not_read(speaker: Speaker) -> None:
    decoder, read, given = speaker.make(), memory(), tokens()
    other = given.clone()
    other[:, 3:] = (other[:, 3:] + 1) % 11
    one, two = decoder(given, read).features, decoder(other, read).features
    assert torch.equal(one[:, :3], two[:, :3])
    assert not torch.allclose(one[:, 3:], two[:, 3:])
