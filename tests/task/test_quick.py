"""ONNX Runtime instead of torch: the same outputs, scores, weights and links, alone and among others."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from untrained import ENGLISH, KINDS, MARATHI, made

import regard
from regard.config import Search
from regard.engine.name import ENCODE, NOTE, STEP
from regard.fault import Fault
from regard.search.sample import Draw
from regard.source.batch import UNK
from regard.task import bundle, translator
from regard.task.bundle import ABOUT, GRAPHS, PARTS, WEIGHTS
from regard.task.translation import Translation, Wish
from regard.task.translator import Translator

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTS = ["We live here.", "I have a dog. Who are you?", "Go.", "He lives in Pune."]
Both = tuple[Translator, Translator]


def both(path: Path | str) -> Both:
    """In torch, and without."""
    opened = bundle.opened(path)
    return Translator(opened, engine="torch"), Translator(opened, engine="onnx")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """An untrained bundle with graphs, made when somebody first asks for it."""
    folder = tmp_path_factory.mktemp("written")

    def path(name: str, kept: str = "float32") -> Path:
        out = folder / f"{name}-{kept}"
        if not out.is_dir():
            bundle.export(made(name), out, "int8" if kept == "int8" else "float32", graphs=True)
        return out

    return path


def same(found: list[Translation], wanted: list[Translation], close: float = 1e-4) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one.source, one.text, one.ids, one.finished) == (other.source, other.text, other.ids, other.finished)
        assert (one.score, one.log_prob) == pytest.approx((other.score, other.log_prob), abs=close)
        same([*one.alternatives], [*other.alternatives], close)


def sentences(count: int) -> list[str]:
    text = "".join((EXAMPLES / name).read_text(encoding="utf-8") for name in ("dev.tsv", "pairs.tsv"))
    return random.Random(3).sample(list(dict.fromkeys(line.split("\t")[0] for line in text.splitlines())), count)


@pytest.mark.parametrize("kept", ["float32", "int8"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_model_says_the_same(name: str, kept: str, written: Callable[[str, str], Path]) -> None:
    eager, quick = both(written(name, kept))
    for wish in (
        Wish(Search(beam=1)),
        Wish(Search(beam=4, coverage=0.2, length=0.6), best=3),
        Wish(Search(beam=3, no_loops=False, no_repeat=2), prefix="तो"),
        Wish(best=2, draw=Draw(top_p=0.9, seed=5)),
    ):
        same(quick.translate(TEXTS, wish), eager.translate(TEXTS, wish))


@pytest.mark.parametrize("name", KINDS)
def test_what_it_looked_at_is_the_same(name: str, written: Callable[[str, str], Path]) -> None:
    eager, quick = both(written(name, "float32"))
    assert eager.looks == quick.looks
    pairs = [(text, eager.forced(target)) for text, target in zip(TEXTS, MARATHI, strict=False)]
    for one, other in zip(quick.traces(pairs), eager.traces(pairs), strict=True):
        assert (one.source, one.target) == (other.source, other.target)
        for found, wanted in zip(one.readings, other.readings, strict=True):
            assert (found.reader, found.memory, found.asks) == (wanted.reader, wanted.memory, wanted.asks)
            np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-5)
        assert [link.target for link in quick.links(one)] == [link.target for link in eager.links(other)]
    for text, target in zip(TEXTS, MARATHI, strict=False):
        same([quick.given(text, target)], [eager.given(text, target)])


def test_an_unknown_word_is_replaced_there_too(written: Callable[[str, str], Path]) -> None:
    eager, quick = both(written("tutorial-gru", "float32"))
    wish = Wish(Search(beam=2), prefix="xyzzy")
    found = quick.translate(TEXTS, wish)
    assert all(each.ids[0] == UNK for each in found)
    same(found, eager.translate(TEXTS, wish))


# --- the bundle that ships


@pytest.fixture(scope="module")
def shipped() -> Both:
    return both(bundle.DEFAULT)


@pytest.mark.parametrize("beam", [1, 5])
def test_the_shipped_bundle_says_the_same(beam: int, shipped: Both) -> None:
    eager, quick = shipped
    wish = replace(eager.wish, search=replace(eager.wish.search, beam=beam))
    texts = sentences(150)
    found = quick.translate(texts, wish)
    same(found, eager.translate(texts, wish))
    for one in found[:20]:
        other = replace(one, translator=eager)
        assert [(link.source, link.target) for link in one.alignment] == [
            (link.source, link.target) for link in other.alignment
        ]


def test_alone_batched_and_reordered_are_the_same(shipped: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    _, quick = shipped
    texts = sentences(120)
    together = {each.source: each for each in quick.translate(texts)}
    mixed = random.Random(4).sample(texts, len(texts))
    for some in (mixed, *([text] for text in texts[:40])):
        same(quick.translate(some), [together[text] for text in some], 1e-5)
    monkeypatch.setattr(translator, "CELLS", 200)  # batches of a few
    same(quick.translate(texts), [together[text] for text in texts], 1e-5)


def test_load_takes_graphs_where_there_are_some(shipped: Both, tmp_path: Path) -> None:
    _, quick = shipped
    model = regard.load()
    assert type(model.engine) is type(quick.engine)
    assert regard.load(engine="torch").model is not None
    with pytest.raises(Fault, match="has no model; load it with engine='torch'"):
        _ = model.model
    bundle.export(made(), tmp_path / "plain", "float32")
    assert regard.load(tmp_path / "plain").model is not None
    with pytest.raises(Fault, match="has no graphs; `regard export OUT --to onnx"):
        regard.load(tmp_path / "plain", engine="onnx")


def test_without_the_package_torch_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle.export(made(), tmp_path / "made", "float32", graphs=True)
    monkeypatch.setattr("regard.task.engine.find_spec", lambda name: None)
    assert regard.load(tmp_path / "made").model is not None
    with pytest.raises(Fault, match="pip install onnxruntime"):
        regard.load(tmp_path / "made", engine="onnx")


WITHOUT = """
import sys
sys.argv = ["regard", *{words!r}]
from regard.cli import main
try:
    main()
finally:
    heavy = [name for name in ("torch", "onnx", "sacrebleu", "pyarrow", "matplotlib") if name in sys.modules]
    sys.stderr.write(f"imported {{heavy}}")
"""


@pytest.mark.parametrize(
    "words",
    [
        ["translate", "Who are you?"],
        ["translate", "--json", "--best", "3", "--coverage", "0.2", "--prefix", "तू", "Who are you?"],
        ["translate", "--sample", "--top-p", "0.8", "Who are you?", "I have a dog."],
        ["look", "Who are you?"],
        ["look", "Who are you?", "--target", "तू कोण आहेस?", "--all"],
    ],
)
def test_torch_is_not_imported(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(words=words)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "imported []")
    assert any("\u0900" <= letter <= "\u097f" for letter in done.stdout)


# --- on the disk


def test_graphs_are_parts_like_others(tmp_path: Path) -> None:
    bundle.export(made(), tmp_path / "made", "int8", graphs=True)
    card = bundle.card(tmp_path / "made")
    assert set(GRAPHS) < set(card[PARTS])
    small = sum((tmp_path / "made" / name).stat().st_size for name in GRAPHS)
    assert small < 40_000
    content = (tmp_path / "made" / STEP).read_bytes()
    (tmp_path / "made" / STEP).write_bytes(content[:-1] + b"x")
    with pytest.raises(Fault, match=f"{STEP}: is damaged"):
        Translator(bundle.opened(tmp_path / "made"), engine="onnx")
    assert bundle.load(tmp_path / "made").model is not None  # torch needs none of them


def test_a_zip_holds_graphs_too(tmp_path: Path) -> None:
    bundle.export(made("luong"), tmp_path / "made.zip", "float32", graphs=True)
    assert set(GRAPHS) < set(zipfile.ZipFile(tmp_path / "made.zip").namelist())
    eager, quick = both(tmp_path / "made.zip")
    same(quick.translate(ENGLISH), eager.translate(ENGLISH))


def test_weights_that_graphs_do_not_fit_are_named(tmp_path: Path) -> None:
    bundle.export(made(), tmp_path / "made", "float32", graphs=True)
    bundle.export(made("transformer"), tmp_path / "other", "float32", graphs=True)
    card = json.loads((tmp_path / "made" / ABOUT).read_text(encoding="utf-8"))
    for name in (ENCODE, STEP, NOTE):
        (tmp_path / "made" / name).write_bytes((tmp_path / "other" / name).read_bytes())
        del card[PARTS][name]
    card[PARTS] |= dict.fromkeys(GRAPHS, "")
    opened = bundle.opened(tmp_path / "other")
    mixed = replace(opened, part=lambda name: ((tmp_path / "made") / name).read_bytes())
    with pytest.raises(Fault, match="is missing"):
        Translator(mixed, engine="onnx")
    (tmp_path / "other" / WEIGHTS).write_bytes(b"no tensors")
    broken = replace(opened, part=lambda name: ((tmp_path / "other") / name).read_bytes())
    with pytest.raises(Fault, match=f"{WEIGHTS}: is damaged"):
        Translator(broken, engine="onnx")


def test_a_model_on_its_way_is_not_changed_by_being_written(known: Callable[[str], Translator], tmp_path: Path) -> None:
    model = known("bahdanau")
    before = {name: weight.clone() for name, weight in bundle.weights(model.model).items()}
    one = bundle.load(model.bundle.where)
    bundle.export(one, tmp_path / "made", "float32", graphs=True)
    assert all(torch.equal(weight, before[name]) for name, weight in bundle.weights(one.model).items())
    eager, quick = both(tmp_path / "made")
    same(quick.translate(TEXTS), model.translate(TEXTS))
    assert eager.translate(TEXTS)[0].text == model.translate(TEXTS)[0].text
