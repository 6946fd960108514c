"""A confidence means what it says: of all answers with 0.7, seven of ten are right."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.fault import Fault
from regard.serve import confidence
from regard.serve.confidence import Calibration, Case
from regard.task import bundle

TRUTH = Calibration(0.8, -0.1, 1.0)


def world(count: int, seed: int = 1) -> list[Case]:
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        pieces = chance.randint(1, 30)
        log_prob = -chance.expovariate(1 / pieces)
        made.append(Case(log_prob, pieces, chance.random() < TRUTH.right(log_prob, pieces)))
    return made


def test_the_coefficients_of_a_made_up_world_are_found() -> None:
    found = confidence.fitted(world(20_000))
    assert found.log_prob == pytest.approx(TRUTH.log_prob, abs=0.05)
    assert found.pieces == pytest.approx(TRUTH.pieces, abs=0.02)
    assert found.bias == pytest.approx(TRUTH.bias, abs=0.1)


def test_the_error_of_what_is_true_is_small_and_of_what_is_not_is_not() -> None:
    cases = world(10_000)
    right = [each.right for each in cases]
    assert confidence.error(confidence.left_out(cases), right) < 0.02
    assert confidence.error([0.99] * len(cases), right) == pytest.approx(0.99 - sum(right) / len(right), abs=1e-6)
    assert confidence.error([float(each) for each in right], right) == 0
    assert confidence.error([1.0 - each for each in right], right) > 0.9


def test_each_case_is_judged_by_a_fit_that_left_it_out() -> None:
    """Verdicts by lot: nothing can be learned, and nothing is."""
    chance = random.Random(3)
    cases = [Case(-chance.random() * 9, chance.randint(1, 9), chance.random() < 0.3) for _ in range(1_000)]
    assert all(0.15 < each < 0.45 for each in confidence.left_out(cases))


def test_what_cannot_be_fitted_is_said() -> None:
    with pytest.raises(Fault, match="a fit takes 100 sentences"):
        confidence.measured(world(99))
    with pytest.raises(Fault, match="100% right"):
        confidence.measured([Case(-1.0, 1, True)] * 200)


def test_a_card_without_it_has_none_and_a_wrong_one_is_named() -> None:
    assert confidence.known({}) is None
    assert confidence.known({"confidence": {"log_prob": 1, "pieces": 2, "bias": 3}}) == Calibration(1.0, 2.0, 3.0)
    for wrong in (7, {}, {"log_prob": 1, "pieces": 2, "bias": "x"}, {"log_prob": 1, "pieces": 2, "bias": float("nan")}):
        with pytest.raises(Fault, match="three finite numbers"):
            confidence.known({"confidence": wrong})


def test_words_are_the_same_whatever_the_signs() -> None:
    assert confidence.bare("Who  are you?") == confidence.bare("who are you")
    assert confidence.bare("तू कोण आहेस?") != confidence.bare("तू कोण आहस?")


def test_of_several_sentences_it_is_the_share_to_be_expected() -> None:
    assert confidence.together([0.5, 1.0]) == 0.75
    assert confidence.together([0.5, None]) is None
    assert confidence.together([]) is None
    assert confidence.sigmoid(-1e9) == 0
    assert confidence.sigmoid(1e9) == 1


def test_a_bundle_is_calibrated_by_a_table(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bundle.shipped()["en-mr"], tmp_path / "mine"))
    table = Path(__file__).parents[2] / "examples" / "dev.tsv"
    command = [sys.executable, "-m", "regard.serve.confidence"]
    done = subprocess.run([*command, folder, table], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0 <= found["error"] < 0.2
    assert found["log_prob"] > 0
    assert confidence.known(bundle.load(folder).about) is not None
    wrong = subprocess.run([*command, "no-such", table], capture_output=True, text=True, timeout=60, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1
