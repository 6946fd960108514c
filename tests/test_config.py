"""Recipes: every wrong key is named with its neighbour, every right one survives the way to TOML and back."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import config
from regard.config import Penalties, Recipe, RecurrentModel, Search, Train, TransformerModel
from regard.fault import Fault

LEAST = '[model]\nkind = "bahdanau"\n'


def test_what_is_not_said_has_its_default() -> None:
    assert config.loads(LEAST, "here") == Recipe(model=RecurrentModel(kind="bahdanau"))


def test_every_table_is_read() -> None:
    text = """
        name = "mine"
        about = "a small one"
        [model]
        kind = "transformer"
        width = 64
        [data.source]
        kind = "char"
        [data]
        clean = ["nfc"]
        [train]
        minutes = 3
        [train.penalties]
        coverage = 0.5
        [search]
        beam = 1
    """
    recipe = config.loads(text, "here")
    assert recipe.model == TransformerModel(kind="transformer", width=64)
    assert recipe.data.source.kind == "char"
    assert recipe.data.clean == ("nfc",)
    assert recipe.train == Train(minutes=3.0, penalties=Penalties(coverage=0.5))
    assert type(recipe.train.minutes) is float
    assert recipe.search == Search(beam=1)
    assert (recipe.name, recipe.about) == ("mine", "a small one")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[model]\nkind = "bahdanau"\nwidht = 3', "here: model.widht is not a key; did you mean 'model.width'?"),
        ('[model]\nkind = "bahdanu"', "here: model.kind = 'bahdanu' is not known; did you mean 'bahdanau'?"),
        ('[model]\nkind = "transformer"\ncell = "gru"', "here: model.cell is not a key"),
        (
            "[model]\nwidth = 3",
            "here: model.kind is missing; it is one of seq2seq, bahdanau, luong, tut",
        ),
        ("", "here: the table [model] is missing"),
        ("model = 3", "here: model = 3 is a value; write it as a table, [model]"),
        (LEAST + 'cell = "lstn"', "here: model.cell = 'lstn' is not known; did you mean 'lstm'?"),
        (LEAST + "cell = 3", "here: model.cell = 3 is not known; it is one of gru, lstm"),
        (LEAST + "width = true", "here: model.width = True has to be a whole number"),
        (LEAST + "width = 2.5", "here: model.width = 2.5 has to be a whole number"),
        (LEAST + "width = 0", "here: model.width = 0 has to be 1 or more"),
        (LEAST + "dropout_word = 1.0", "here: model.dropout_word = 1.0 has to be from 0 up to but not 1"),
        (LEAST + "dropout_word = nan", "here: model.dropout_word = nan has to be a number"),
        (LEAST + "tied = 1", "here: model.tied = 1 has to be true or false"),
        (LEAST + "[train]\nsampling = 1.5", "here: train.sampling = 1.5 has to be from 0 up to 1"),
        (LEAST + "[train]\nrate = inf", "here: train.rate = inf has to be a number"),
        (LEAST + "[train]\nbeam = 3", "here: train.beam is not a key; did you mean 'search.beam'?"),
        (LEAST + "[trian]\nrate = 1", "here: trian is not a key; did you mean 'train'?"),
        (
            LEAST + "[train.penalties]\nentropi = 1",
            "penalties.entropi is not a key; did you mean 'train.penalties.e",
        ),
        (LEAST + '[data]\nclean = "nfc"', "here: data.clean = 'nfc' has to be a list"),
        (LEAST + "[data]\nclean = [1]", "here: data.clean[0] = 1 has to be text in quotes"),
        (LEAST + "[data.source]\nkind = 3", "here: data.source.kind = 3 is not known"),
        (LEAST + "width = \n", "here: Invalid value (at line 3"),
        ("extends = 3", "here: extends = 3 is not text"),
        ('extends = "nobody-has-this"', "no recipe is called 'nobody-has-this'"),
    ],
)
def test_a_wrong_recipe_is_one_clear_line(text: str, complaint: str) -> None:
    with pytest.raises(Fault) as caught:
        config.loads(text, "here")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_recipe_stands_on_another(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(LEAST + "width = 64\n[train]\nrate = 0.5\nclip = 2")
    (tmp_path / "mine.toml").write_text('extends = "base.toml"\n[train]\nrate = 0.25')
    recipe = config.load(tmp_path / "mine.toml")
    assert recipe.model.width == 64
    assert (recipe.train.rate, recipe.train.clip) == (0.25, 2.0)


def test_another_family_of_models_starts_from_its_own_defaults(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(LEAST + 'cell = "lstm"\nwidth = 64')
    (tmp_path / "mine.toml").write_text('extends = "base.toml"\n[model]\nkind = "transformer"')
    assert config.load(tmp_path / "mine.toml").model == TransformerModel(kind="transformer")
    assert config.load(tmp_path / "base.toml", ["model.kind=luong"]).model.width == 64


def test_a_circle_of_recipes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('extends = "b.toml"')
    (tmp_path / "b.toml").write_text('extends = "a.toml"')
    with pytest.raises(Fault, match="extends itself"):
        config.load(tmp_path / "a.toml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Fault, match=r"none\.toml: No such file"):
        config.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'about = "caf\xe9"')
    with pytest.raises(Fault, match="not UTF-8"):
        config.load(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("setting", "table", "key", "value"),
    [
        ("train.rate=0.001", "train", "rate", 0.001),
        ("train.rate = 1e-3", "train", "rate", 0.001),
        ("model.tied=true", "model", "tied", True),
        ("train.average=none", "train", "average", "none"),
        ('data.clean=["nfc"]', "data", "clean", ["nfc"]),
        ("data.clean=[]\nname = 3", "data", "clean", "[]\nname = 3"),
    ],
)
def test_settings_lie_over_the_recipe(setting: str, table: str, key: str, value: object) -> None:
    before: dict[str, Any] = {"model": {"kind": "bahdanau"}, "train": {"rate": 1.0, "clip": 3.0}}
    after = config.override(before, [setting])
    assert after[table][key] == value
    assert after["train"]["clip"] == 3.0
    assert before["train"]["rate"] == 1.0


@pytest.mark.parametrize("setting", ["train.rate", "=3", "train..rate=3"])
def test_a_setting_without_key_or_value(setting: str) -> None:
    with pytest.raises(Fault, match=r"table\.key=value"):
        config.override({}, [setting])


def test_a_wrong_setting_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(LEAST)
    with pytest.raises(Fault, match=r"--set: train\.rat is not a key; did you mean 'train\.rate'"):
        config.load(tmp_path / "base.toml", ["train.rat=3"])


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    rate=st.floats(0, 1e300),
    clean=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=3),
)
def test_written_and_read_again_is_the_same(text: str, rate: float, clean: list[str]) -> None:
    document = {"name": text, "model": {"kind": "luong"}, "train": {"rate": rate}, "data": {"clean": clean}}
    recipe = config.build(document, "here")
    assert config.loads(config.to_toml(recipe), "again") == recipe
    assert config.build(config.dump(recipe), "again") == recipe
    assert tomllib.loads(config.to_toml(recipe)) == config.dump(recipe)


def test_every_shipped_recipe_is_whole_and_says_what_it_is_about() -> None:
    for name, about in config.recipes().items():
        assert about, name
        config.check(config.load(name, ["train.updates=1"]))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (LEAST, "a run needs an end"),
        ("[train]\nupdates = 1\n" + LEAST + "shared = true", "needs data.shared_vocabulary"),
        ("[train]\nupdates = 1\n" + LEAST + "heads = 3", "does not divide"),
        ("[train]\nupdates = 1\n[data]\nshared_vocabulary = true\n[data.source]\nsize = 3\n" + LEAST, "to be alike"),
        (
            '[train]\nupdates = 1\n[model]\nkind = "transformer"\nwidth = 12\nheads = 4\npositions = "rotary"',
            "has to be even",
        ),
    ],
)
def test_keys_that_do_not_fit_each_other(text: str, complaint: str) -> None:
    with pytest.raises(Fault, match=complaint):
        config.check(config.loads(text, "here"))


def test_reading_a_recipe_needs_no_torch() -> None:
    asked = "import sys, regard.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0
