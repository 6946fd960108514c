"""A wrong call is one line that says what, where and what to do, and exit code 2."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Regard

from regard import __version__, config
from regard.fault import Fault
from regard.train.ends import Diverged

VERBS = ("train", "translate", "look", "align", "evaluate", "compare", "export", "serve", "models", "recipes")
Learned = Callable[[str], Path]


def test_help_names_every_verb_and_version_prints_it(regard: Regard) -> None:
    done = regard("--help")
    assert done.code == 0
    assert all(re.search(rf"\b{verb}\b", done.out) for verb in VERBS)
    assert regard("-h").out == done.out
    assert regard("--version").out == f"regard {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_teaches(verb: str, regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = regard(verb, "--help")
    assert done.code == 0
    assert f"regard {verb}" in done.out
    undocumented = re.findall(r"^\W*(--[a-z-]+)(?:\s+-\w)?\s+(?:[A-Z|<>\[\]a-z,]+)?\s*│?$", done.out, re.MULTILINE)
    assert undocumented == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["frobnicate"], "frobnicate"),
        (["translate", "--frobnicate"], "--frobnicate"),
        (["translate", "--beam", "0", "Go."], "--beam"),
        (["translate", "--beam", "wide", "Go."], "--beam"),
        (["compare", "FILE"], "--model"),
        (["look"], "Missing argument"),
        (["train"], "name a table of pairs"),
        (["train", "gone.tsv"], "gone.tsv: there is no such file"),
        (["train", "gone.tsv", "--recipe", "bahdanau"], "gone.tsv: there is no such file"),
        (["train", "."], "is a folder"),
        (["train", "TABLE", "--recipe", "bahdanaw"], "did you mean 'bahdanau'?"),
        (["train", "TABLE", "--recipe", "mine.toml"], "mine.toml: No such file"),
        (["train", "TABLE", "--set", "model.widht=3"], "model.widht is not a key; did you mean 'model.width'?"),
        (["train", "TABLE", "--set", "train.rate"], "give it as table.key=value"),
        (["train", "TABLE", "--set", "train.rate=fast"], "train.rate = 'fast' has to be a number"),
        (["train", "TABLE", "--minutes", "0"], "a run needs an end"),
        (["train", "TABLE", "--minutes", "nan"], "minutes"),
        (["train", "TABLE", "--updates", "1", "--out", "TABLE"], "cannot be made"),
        (["train", "TABLE", "--updates", "1", "--out", "TABLE/below"], "cannot be made"),
        (["train", "TABLE", "--updates", "1", "--dev", "gone.tsv"], "gone.tsv: there is no such file"),
        (["train", "-", "--dev", "-"], "not both"),
        (["train", "--source", "a.txt"], "--source and --target go together"),
        (["train", "TABLE", "--source", "a", "--target", "b"], "not both"),
        (["translate", "--model", "gone", "Go."], "gone: there is no such bundle"),
        (["translate", "--model", "TABLE", "Go."], "neither the folder nor the whole zip"),
        (["translate", "--model", "MODEL", "--best", "2", "Go."], "--json"),
        (["translate", "--model", "MODEL", "--beam", "100000", "Go."], "200"),
        (["translate", "--model", "MODEL", "--sample", "--temperature", "0", "Go."], "temperature"),
        (["translate", "--model", "MODEL", "--sample", "--top-p", "2", "Go."], "top_p"),
        (["translate", "--model", "MODEL", "--length", "nan", "Go."], "length"),
        (["translate", "--model", "MODEL", "--length", "inf", "Go."], "search.length"),
        (["look", "--model", "MODEL", "Go.", "--out", "x.gif"], "known are .png"),
        (["look", "--model", "MODEL", "Go.", "--out", "TABLE/x.png"], "cannot be written"),
        (["look", "--model", "MODEL", "Go.", "--out", "gone/x.json"], "there is no folder gone"),
        (["look", "--model", "MODEL", "Go.", "--reader", "decoder.atention"], "did you mean 'decoder.attention'?"),
        (["look", "--model", "MODEL", "Go.", "--head", "7"], "head"),
        (["look", "--model", "MODEL", ""], "is empty"),
        (["look", "--model", "BLIND", "Go."], "no attention"),
        (["align", "--model", "BLIND", "TABLE"], "no attention"),
        (["align", "--model", "MODEL"], "name a table of pairs"),
        (["align", "--model", "MODEL", "TABLE", "--gold", "gone.txt"], "gone.txt: cannot be read"),
        (["evaluate", "--model", "MODEL", "gone.tsv"], "gone.tsv: there is no such file"),
        (["compare", "TABLE", "--model", "MODEL"], "was given 1"),
        (["export", "--model", "MODEL", "MODEL"], "there is a bundle in it already"),
        (["export", "--model", "MODEL", "TABLE/x"], "cannot be written"),
        (["recipes", "bahdanaw"], "did you mean 'bahdanau'?"),
    ],
)
def test_a_wrong_call_says_so_and_ends_with_two(
    words: list[str],
    told: str,
    regard: Regard,
    learned: Learned,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    named = {"TABLE": str(table)}
    for word, student in (("MODEL", "bahdanau"), ("BLIND", "blind")):
        if word in " ".join(words):
            named[word] = str(learned(student))
    asked = [re.sub("TABLE|MODEL|BLIND", lambda found: named[found[0]], word) for word in words]
    done = regard(*asked)
    assert done.code == 2
    assert done.out == ""
    assert told in done.err
    if done.err.startswith("regard: "):
        assert done.err.removesuffix("\n").splitlines()[-1].startswith("regard: ")
    left = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")} - {"pairs.tsv"}
    assert left == set()  # nothing was begun


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (Fault("two\nlines"), 2, "regard: two lines\n"),
        (KeyboardInterrupt(), 130, "regard: stopped\n"),
        (Diverged("the loss is no number"), 1, "regard: the loss is no number\n"),
        (OSError(28, "No space left on device", "out"), 1, "regard: out: No space left on device\n"),
        (MemoryError(), 1, "regard: there is not enough memory"),
        (RuntimeError("CUDA out of memory. Tried"), 1, "regard: there is not enough memory"),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
    ],
)
def test_each_way_to_end_has_its_code(
    error: BaseException, code: int, told: str, regard: Regard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> dict[str, str]:
        raise error

    monkeypatch.setattr(config, "recipes", failing)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    done = regard("recipes")
    assert done.code == code
    assert done.err.lstrip("\n").startswith(told)
    assert told or not done.err


def test_a_fault_of_ours_is_seen_whole(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> dict[str, str]:
        raise ZeroDivisionError

    monkeypatch.setattr(config, "recipes", failing)
    with pytest.raises(ZeroDivisionError):
        regard("recipes")
