"""What several rooms test with: small translators, each trained once a session when somebody first asks for it, and
the command, called in this process, for importing torch anew for each call would take seconds.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import torch

if not torch.cuda.is_available():  # read when triton is first imported, by whichever test comes first
    os.environ["TRITON_INTERPRET"] = "1"

if TYPE_CHECKING:
    from regard.task.translator import Translator

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = ["model.width=32", "train.rate=0.005", "train.updates=120", "train.epochs=0", "train.checkpoint_updates=120"]
PIECES = ["data.source.size=400", "data.target.size=400"]
STUDENTS = {
    "bahdanau": ("bahdanau", [*PIECES, "model.embedding=32"]),
    "transformer": ("transformer", [*PIECES, "model.inner=64", "model.encoder_layers=1", "model.decoder_layers=2"]),
    "words": ("tutorial-gru", ["data.source.size=500", "data.target.size=300", "model.embedding=32"]),
    "blind": ("seq2seq", [*PIECES, "model.embedding=32", "train.updates=2"]),  # no attention
}


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The bundle of one of STUDENTS."""
    folder = tmp_path_factory.mktemp("learned")

    def bundle(name: str) -> Path:
        if not (folder / name / "regard.json").is_file():
            from regard import config
            from regard.task.corpus import Table
            from regard.task.training import train

            recipe, settings = STUDENTS[name]
            dev = folder / "dev.tsv"
            lines = (EXAMPLES / "dev.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
            dev.write_text("".join(lines[:20]), encoding="utf-8")
            chosen = config.load(recipe, [*SMALL, *settings])
            train(Table(str(EXAMPLES / "pairs.tsv")), folder / name, chosen, dev=Table(str(dev)), tell=lambda _: None)
        return folder / name

    return bundle


@pytest.fixture(scope="session")
def known(learned: Callable[[str], Path]) -> Callable[[str], Translator]:
    """One of STUDENTS, ready to translate; everybody shares it, and nothing changes it."""
    from regard.task import bundle
    from regard.task.translator import Translator

    loaded: dict[str, Translator] = {}

    def translator(name: str) -> Translator:
        if name not in loaded:
            loaded[name] = Translator(bundle.load(learned(name)))
        return loaded[name]

    return translator


@dataclass(frozen=True)
class Done:
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.split("\n")[:-1]


Regard = Callable[..., Done]


@pytest.fixture
def regard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Regard:
    """`regard("translate", "--model", path, stdin=b"...")`"""

    def call(*words: object, stdin: bytes = b"") -> Done:
        from regard import cli

        monkeypatch.setattr(sys, "argv", ["regard", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(stdin))))
        with pytest.raises(SystemExit) as end:
            cli.main()
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        assert isinstance(end.value.code, int)
        return Done(end.value.code, told.out, told.err)

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Sixty pairs."""
    lines = (EXAMPLES / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "pairs.tsv").write_text("".join(lines[:60]), encoding="utf-8")
    return tmp_path / "pairs.tsv"
