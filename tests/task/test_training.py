"""A run ends as it was asked to, and a run that was ended goes on to the bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard import config
from regard.config import Recipe
from regard.fault import Fault
from regard.source.store import Store
from regard.task import bundle, training
from regard.task.bundle import ABOUT, WEIGHTS
from regard.task.corpus import STORE, Table
from regard.task.training import RECIPE, sized, train
from regard.task.translator import Translator

EXAMPLES = Path(__file__).parents[2] / "examples"
QUICK = ["train.minutes=0", "train.epochs=0", "train.updates=6", "train.batch_tokens=300", "train.patience=0"]
PIECES = ["data.source.size=120", "data.target.size=120"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "pairs.tsv"
    lines = (EXAMPLES / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:60]), encoding="utf-8")
    return path


def recipe(name: str = "bahdanau", *settings: str) -> Recipe:
    family = config.load(name).model
    narrow = ["model.embedding=32"] if isinstance(family, config.RecurrentModel) else ["model.inner=64"]
    return config.load(name, [*QUICK, f"model.width={8 * max(4, family.heads)}", *narrow, *PIECES, *settings])


def trained(table: Path, out: Path, chosen: Recipe | None = None, resume: bool = False) -> Translator:
    return train(Table(str(table)), out, chosen or recipe(), resume=resume, tell=lambda _: None)


@pytest.mark.slow
@pytest.mark.parametrize("name", config.recipes())
def test_every_shipped_recipe_trains_and_translates(name: str, table: Path, tmp_path: Path) -> None:
    known = trained(table, tmp_path / "out", recipe(name))
    texts = ["Call me.", "", "Who are you?"]
    outputs = known.translate(texts)
    assert [each.source for each in outputs] == texts
    again = Translator(bundle.load(tmp_path / "out")).translate(texts)
    assert [each.text for each in again] == [each.text for each in outputs]
    card = bundle.card(tmp_path / "out")
    assert card["provenance"]["updates"] == 6
    assert card["provenance"]["ended"] == "budget spent"
    assert card["data"]["train_pairs"] + card["data"]["dev_pairs"] == 60
    assert card["figures"]["dev"]["beam"] == known.bundle.recipe.search.beam
    assert (card["choice"] is None) == (name == "seq2seq")
    assert config.load(str(tmp_path / "out" / RECIPE)) == known.bundle.recipe


def test_sizes_follow_from_the_data() -> None:
    pairs = (0, 60, 9_999, 10_000, 399_999, 400_000, 10**9)
    assert [sized(count) for count in pairs] == ["small"] * 3 + ["medium"] * 2 + ["large"] * 2
    assert {name for name, _ in training.SIZES} <= config.recipes().keys()


def test_the_same_run_twice_is_the_same(table: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        trained(table, tmp_path / name)
    assert (tmp_path / "a" / WEIGHTS).read_bytes() == (tmp_path / "b" / WEIGHTS).read_bytes()
    trained(table, tmp_path / "c", recipe("bahdanau", "train.seed=2"))
    assert (tmp_path / "a" / WEIGHTS).read_bytes() != (tmp_path / "c" / WEIGHTS).read_bytes()


def test_a_budget_of_minutes_ends(table: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    known = trained(table, tmp_path / "out", recipe("bahdanau", "train.updates=0", "train.minutes=0.02"))
    assert known.bundle.about["provenance"]["ended"] == "budget spent"
    assert known.bundle.about["provenance"]["updates"] > 0
    assert time.monotonic() - began < 60  # 1.2 seconds of training, and what stands around them


def test_a_finished_run_is_kept(table: Path, tmp_path: Path) -> None:
    trained(table, tmp_path)
    before = (tmp_path / WEIGHTS).read_bytes()
    with pytest.raises(Fault, match="there is a run in it already"):
        trained(table, tmp_path)
    trained(table, tmp_path, resume=True)  # nothing is left to do
    assert (tmp_path / WEIGHTS).read_bytes() == before
    longer = trained(table, tmp_path, recipe("bahdanau", "train.updates=9"), resume=True)
    assert longer.bundle.about["provenance"]["updates"] == 9


def test_a_bundle_is_not_trained_over(table: Path, tmp_path: Path) -> None:
    bundle.export(trained(table, tmp_path / "a").bundle, tmp_path / "b", "float32")
    for resume in (False, True):
        with pytest.raises(Fault, match="there is a bundle in it already"):
            trained(table, tmp_path / "b", resume=resume)


def test_another_recipe_does_not_resume_and_spoils_nothing(table: Path, tmp_path: Path) -> None:
    trained(table, tmp_path)
    kept = (tmp_path / RECIPE).read_text(encoding="utf-8")
    with pytest.raises(Fault, match="another recipe or other data"):
        trained(table, tmp_path, recipe("luong", "train.updates=9"), resume=True)
    assert (tmp_path / RECIPE).read_text(encoding="utf-8") == kept
    with pytest.raises(Fault, match="rate"):
        trained(table, tmp_path, recipe("bahdanau", "train.updates=9", "train.rate=0.1"), resume=True)
    assert (tmp_path / RECIPE).read_text(encoding="utf-8") == kept
    trained(table, tmp_path, recipe("bahdanau", "train.updates=8"), resume=True)
    assert config.load(str(tmp_path / RECIPE)).train.updates == 8


def test_a_wrong_call_makes_no_folder(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Fault, match="no such file"):
        trained(table.with_name("gone.tsv"), out)
    with pytest.raises(Fault, match="no such file"):
        train(Table(str(table)), out, recipe(), dev=Table("gone.tsv"), tell=lambda _: None)
    with pytest.raises(Fault, match="needs an end"):
        trained(table, out, recipe("bahdanau", "train.updates=0"))
    assert not out.exists()
    (tmp_path / "file").touch()
    with pytest.raises(Fault, match="cannot be made"):
        trained(table, tmp_path / "file" / "out")
    with pytest.raises(Fault, match="cannot be made"):
        trained(table, tmp_path / "file")


# --- the real command, stopped and killed

UPDATES, EVERY = 120, 10


def call(table: Path, out: Path, *more: str) -> list[str]:
    ends = [f"train.checkpoint_updates={EVERY}", f"train.updates={UPDATES}"]
    settings = [*QUICK, *PIECES, "model.width=32", "model.embedding=32", *ends]
    named = [part for setting in settings for part in ("--set", setting)]
    verb = ["train", str(table), "--recipe", "bahdanau", "--out", str(out)]
    return [sys.executable, "-m", "regard", *verb, *named, *more]


def lived(table: Path, out: Path, number: int | None = None) -> tuple[int, str]:
    """One life of the command, ended by that signal after some checkpoints more than there were."""
    before = {path.name for path in (out / "checkpoints").glob("[0-9]*")}
    resume = ["--resume"] if before else []
    one = subprocess.Popen(
        call(table, out, *resume), env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 100
    while number is not None and one.poll() is None and time.monotonic() < until:
        if {path.name for path in (out / "checkpoints").glob("[0-9]*")} - before:
            one.send_signal(number)
            break
        time.sleep(0.01)
    told = one.communicate(timeout=100)[1]
    return one.returncode, told


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
def test_stopped_or_killed_and_resumed_is_never_stopped(table: Path, tmp_path: Path) -> None:
    assert lived(table, tmp_path / "whole")[0] == 0
    code, told = lived(table, tmp_path / "out", signal.SIGINT)
    assert code == 128 + signal.SIGINT
    assert "--resume goes on from there" in told
    assert "Traceback" not in told
    assert not (tmp_path / "out" / ABOUT).exists()
    with pytest.raises(Fault, match="--resume"):
        bundle.load(tmp_path / "out")
    assert lived(table, tmp_path / "out", signal.SIGKILL)[0] == -signal.SIGKILL
    code, told = lived(table, tmp_path / "out")
    assert code == 0, told
    assert "going on after update" in told
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == (tmp_path / "whole" / WEIGHTS).read_bytes()
    one, other = (bundle.card(tmp_path / name) for name in ("out", "whole"))
    assert one["figures"] == other["figures"]
    assert one["choice"] == other["choice"]
    assert one["provenance"]["updates"] == other["provenance"]["updates"] == UPDATES
    lines = (tmp_path / "out" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    measured = [row["update"] for row in map(json.loads, lines) if "dev" in row]
    assert measured == list(range(EVERY, UPDATES + 1, EVERY))


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_gpu_sees_few_shapes_unless_pieces_vary(tmp_path: Path, dropout: float) -> None:
    varying = [f"data.{side}.dropout={dropout}" for side in ("source", "target")]
    asked = recipe("bahdanau", "train.updates=1", "train.dev_pairs=20", *varying)
    made = train(Table(str(EXAMPLES / "pairs.tsv")), tmp_path / "run", asked, tell=lambda _: None).bundle
    store = Store.open(tmp_path / "run" / "data" / STORE)
    batches = training.batched(store, (made.source, made.target), asked, torch.device("cuda"))
    epochs = [list(batches.epoch(number)) for number in (0, 1)]
    shapes = {(each.source.ids.shape, each.target.ids.shape) for epoch in epochs for each in epoch}
    assert all(rows % training.ON_GPU == 0 for (rows, _), _ in shapes)
    if dropout:
        assert len({width for (_, width), _ in shapes}) > 1
        assert all(width % training.ON_GPU == 0 for _, (_, width) in shapes)
    else:  # and what is left over at the end of an epoch
        assert len(shapes) <= training.BOXES + len(epochs)
        sides = [side for epoch in epochs for each in epoch for side in (each.source, each.target)]
        padding = 1 - sum(int(side.mask.sum()) for side in sides) / sum(side.ids.numel() for side in sides)
        assert padding < 0.15
