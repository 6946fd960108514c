"""An examiner measures a model as it stands, and leaves it as it was."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from untrained import ENGLISH, MARATHI, made

from regard.source.batch import BOS, EOS, Pairs
from regard.source.table import References
from regard.task import examiner
from regard.task.bundle import weights
from regard.task.examiner import Examiner
from regard.task.measure import Measured, counted
from regard.task.translator import Translator

DEV = [References(one, (other, "दुसरे."), "dev:1") for one, other in zip(ENGLISH[:4], MARATHI[:4], strict=True)]


def test_scores_are_those_of_its_own_translations() -> None:
    known = made("transformer")
    found = Examiner(known, DEV).measure()
    outputs = Translator(known).translate([each.source for each in DEV], examiner.QUICK)
    bleu, chrf = counted([Measured(each, one.text) for each, one in zip(DEV, outputs, strict=True)])
    assert (found["bleu"], found["chrf"]) == (bleu.score, chrf.score)
    assert found["score"] == (bleu.score + chrf.score) / 2
    assert 0 < found["entropy"] < math.log(40)


def test_the_loss_is_the_mean_surprise_of_a_symbol(monkeypatch: pytest.MonkeyPatch) -> None:
    known = made("bahdanau", train={"updates": 1, "label_smoothing": 0.3})
    total, count = 0.0, 0
    for each in DEV:
        source, target = known.source.encode(each.source).ids, known.target.encode(each.targets[0]).ids
        pairs = Pairs.of([[*source, EOS]], [[BOS, *target, EOS]])
        scores = known.model.scores(pairs)[0].gather(-1, pairs.target.ids[0, 1:, None])
        total, count = total - float(scores.detach().sum()), count + pairs.tokens
    assert Examiner(known, DEV).measure()["loss"] == pytest.approx(total / count, abs=1e-4)
    monkeypatch.setattr(examiner, "CELLS", 30)
    assert Examiner(known, DEV).measure()["loss"] == pytest.approx(total / count, abs=1e-4)
    long = replace(DEV[0], targets=("खूप " * 4000,))  # was never learned from either, and would fill the memory
    assert Examiner(known, [*DEV, long]).measure()["loss"] == pytest.approx(total / count, abs=1e-4)


def test_measuring_changes_nothing() -> None:
    known = made("luong-heads")
    before, state = {name: each.clone() for name, each in weights(known.model).items()}, torch.get_rng_state()
    one = Examiner(known, DEV)
    assert one.measure() == one.measure()
    one.figures()
    one.choice()
    assert all(torch.equal(before[name], each) for name, each in weights(known.model).items())
    assert torch.equal(torch.get_rng_state(), state)


def test_the_choice_is_a_head_that_is_there() -> None:
    for name in ("bahdanau", "transformer", "luong-heads"):
        known = made(name)
        choice = Examiner(known, DEV).choice()
        assert choice is not None
        trace = Translator(known).given("Go.", "जा.").trace
        assert (choice["reader"], choice["head"]) in [
            (each.reader, at) for each in trace.of() for at in range(len(each.weights))
        ]
    assert Examiner(made("seq2seq"), DEV).choice() is None
    assert "entropy" not in Examiner(made("seq2seq"), DEV).measure()


def test_figures_are_of_the_recipes_search() -> None:
    known = made("bahdanau", search={"beam": 3})
    assert Examiner(known, DEV).figures()["beam"] == 3


def test_without_a_dev_part_nothing_is_said() -> None:
    one = Examiner(made(), [])
    assert one.measure() == {}
    assert one.figures() == {}
    assert one.choice() is None


def test_a_large_dev_part_is_sampled_from_its_whole_length(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def translate(self: Examiner, some: list[References], wish: object) -> list[object]:
        asked.extend(each.place for each in some)
        raise StopIteration

    monkeypatch.setattr(Examiner, "_translate", translate)
    many = [References("Go.", ("जा.",), str(at)) for at in range(1201)]
    with pytest.raises(StopIteration):
        Examiner(made(), many).measure()
    assert asked == [str(at) for at in range(0, 1201, 3)]
