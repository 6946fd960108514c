"""A bundle is read as it was written, or refused in one line that says what is wrong and where."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from untrained import ENGLISH, KINDS, made

from regard import config
from regard.fault import Fault
from regard.task import bundle
from regard.task.bundle import ABOUT, BOTH, PARTS, SOURCE, TARGET, WEIGHTS, Bundle
from regard.task.translator import Translator


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made().save(tmp_path / "made")
    return tmp_path / "made"


def same(one: Bundle, other: Bundle) -> bool:
    left, right = bundle.weights(one.model), bundle.weights(other.model)
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def outputs(known: Bundle) -> list[Any]:
    return [(each.text, each.score) for each in Translator(known, "cpu").translate(ENGLISH[:4])]


def refused(path: Path) -> str:
    with pytest.raises(Fault) as fault:
        bundle.load(path)
    line = str(fault.value)
    assert line
    assert "\n" not in line
    assert str(path) in line
    return line


def tried(path: Path) -> str | None:
    """What is told of it, or None where it is a bundle."""
    try:
        bundle.load(path)
    except Fault as fault:
        return str(fault)
    return None


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    card = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    change(card)
    (folder / ABOUT).write_text(json.dumps(card), encoding="utf-8")


def reweigh(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """As another program might: the card then says nothing of digests."""
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)
    edit(folder, lambda card: card.pop(PARTS))


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_model_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    before = made(name)
    before.save(tmp_path)
    after = bundle.load(tmp_path)
    assert same(before, after)
    assert after.recipe == before.recipe
    assert [after.source.to_json(), after.target.to_json()] == [before.source.to_json(), before.target.to_json()]
    assert outputs(after) == outputs(before)
    assert after.about["licence"] == "CC0"


@pytest.mark.parametrize("name", ["bahdanau-shared", "transformer-shared"])
def test_what_is_shared_is_kept_once(name: str, tmp_path: Path) -> None:
    made(name).save(tmp_path)
    after = bundle.load(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {ABOUT, WEIGHTS, BOTH}
    assert after.source is after.target
    table = after.model.encoder.get_submodule("embedding").get_parameter("table.weight")
    assert table is after.model.decoder.get_submodule("embedding").get_parameter("table.weight")
    tables = [each for each, kept in load_file(tmp_path / WEIGHTS).items() if len(after.source) in kept.shape[:-1]]
    assert tables == ["encoder.embedding.table.weight"]


@pytest.mark.parametrize("name", ["bahdanau-tied", "location-aware", "transformer-shared"])
def test_eight_bits_are_within_half_a_scale(name: str, tmp_path: Path) -> None:
    before = made(name)
    before.save(tmp_path, "int8")
    kept, after = load_file(tmp_path / WEIGHTS), bundle.weights(bundle.load(tmp_path).model)
    for each, weight in bundle.weights(before.model).items():
        if weight.dim() == 2:
            assert kept[each].dtype == torch.int8
            assert ((after[each] - weight).abs() <= kept[each + ".scale"][:, None] * 0.5001).all()
        else:
            assert torch.equal(after[each], weight)
    assert (tmp_path / WEIGHTS).stat().st_size < 200 * len(kept) + sum(w.numel() for w in after.values()) * 2


@pytest.mark.parametrize("kept", ["float32", "int8"])
def test_a_zip_is_the_folder(kept: Any, tmp_path: Path) -> None:
    before = made("luong")
    bundle.export(before, tmp_path / "folder", kept)
    bundle.export(before, tmp_path / "one.zip", kept)
    folder, one = bundle.load(tmp_path / "folder"), bundle.load(tmp_path / "one.zip")
    assert same(folder, one)
    assert outputs(folder) == outputs(one)
    assert bundle.card(tmp_path / "folder") == bundle.card(tmp_path / "one.zip")
    with zipfile.ZipFile(tmp_path / "around.zip", "w") as around:  # as a file manager packs a folder
        for path in (tmp_path / "folder").iterdir():
            around.write(path, f"my model/{path.name}")
        around.writestr("__MACOSX/my model/._regard.json", b"\0\5\26\7")
    assert same(folder, bundle.load(tmp_path / "around.zip"))


def test_a_bundle_written_again_is_equal(folder: Path, tmp_path: Path) -> None:
    bundle.export(bundle.load(folder), tmp_path / "again", "float32")
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    bundle.export(bundle.load(folder), tmp_path / "small", "int8")
    bundle.export(bundle.load(tmp_path / "small"), tmp_path / "large", "float32")
    assert same(bundle.load(tmp_path / "small"), bundle.load(tmp_path / "large"))


def test_nothing_is_written_over_another_bundle(folder: Path) -> None:
    before = (folder / WEIGHTS).read_bytes()
    with pytest.raises(Fault, match="there is a bundle in it already"):
        bundle.export(made(seed=2), folder, "float32")
    assert (folder / WEIGHTS).read_bytes() == before


@pytest.mark.parametrize("name", [ABOUT, WEIGHTS, SOURCE, TARGET])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_missing_part_is_named(name: str, zipped: bool, folder: Path) -> None:
    (folder / name).unlink()
    path = folder
    if zipped:
        path = folder.with_name("one.zip")
        bundle.zipped(folder, path)
    assert name in refused(path)


@pytest.mark.parametrize("name", [WEIGHTS, SOURCE, TARGET, ABOUT])
def test_a_part_that_ends_early_is_named(name: str, folder: Path) -> None:
    whole = (folder / name).read_bytes()
    for size in (0, 1, 7, len(whole) // 2, len(whole) - 1):
        (folder / name).write_bytes(whole[:size])
        if name != ABOUT or size < len(whole) - 2:  # the card's last byte ends its last line
            assert name in refused(folder)


@pytest.mark.parametrize("name", [WEIGHTS, SOURCE, TARGET])
@pytest.mark.parametrize("digests", [True, False])
def test_any_flipped_bit_is_seen_or_does_no_harm(name: str, digests: bool, folder: Path) -> None:
    """With the digests of the card no flip passes; without them none is a traceback."""
    if not digests:
        edit(folder, lambda card: card.pop(PARTS))
    whole, chance = (folder / name).read_bytes(), random.Random(1)
    for at in [*range(12), *(chance.randrange(min(len(whole), 3000)) for _ in range(40)), len(whole) - 1]:
        broken = bytearray(whole)
        broken[at] ^= 1 << chance.randrange(8)
        (folder / name).write_bytes(broken)
        if digests:
            assert name in refused(folder)
            continue
        assert "\n" not in (tried(folder) or "")


def test_any_flipped_bit_of_a_zip_is_seen_or_does_no_harm(folder: Path, tmp_path: Path) -> None:
    bundle.zipped(folder, tmp_path / "one.zip")
    whole, chance, before = (tmp_path / "one.zip").read_bytes(), random.Random(2), bundle.load(folder)
    places = [*(chance.randrange(len(whole)) for _ in range(30)), *range(len(whole) - 60, len(whole))]
    for at in places:
        broken = bytearray(whole)
        broken[at] ^= 1 << chance.randrange(8)
        (tmp_path / "one.zip").write_bytes(broken)
        line = tried(tmp_path / "one.zip")
        assert "one.zip" in line if line is not None else same(bundle.load(tmp_path / "one.zip"), before)
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "one.zip").write_bytes(whole[:size])
        refused(tmp_path / "one.zip")


def test_weights_that_do_not_fit_the_recipe_are_named(folder: Path) -> None:
    kept = load_file(folder / WEIGHTS)
    name = next(each for each, weight in kept.items() if weight.dim() == 1)
    cases: list[tuple[Callable[[dict[str, Tensor]], object], str]] = [
        (lambda all_: all_.update({name: torch.zeros(3)}), "has the shape (3,), and by the recipe"),
        (lambda all_: all_.update({name: kept[name][None]}), "has the shape"),
        (lambda all_: all_.pop(name), "is missing"),
        (lambda all_: all_.update(stranger=torch.zeros(1)), "which a model of this recipe does not have"),
        (lambda all_: all_.update({name: kept[name] * torch.nan}), "not finite"),
        (lambda all_: all_.update({name: kept[name] + torch.inf}), "not finite"),
        (lambda all_: all_.update({name: kept[name].to(torch.int8)}), "do not fit together"),
        (lambda all_: all_.update({name: kept[name].to(torch.int64)}), "does not know"),
        (lambda all_: all_.update({name + ".scale": torch.ones(1)}), "does not know"),
    ]
    for change, told in cases:
        save_file(kept, folder / WEIGHTS)
        edit(folder, lambda card: card.setdefault(PARTS, {}))
        reweigh(folder, change)
        line = refused(folder)
        assert told in line
        assert WEIGHTS in line
        assert (name if "stranger" not in line else "stranger") in line


@pytest.mark.parametrize("scale", [torch.ones(()), torch.ones(3), torch.ones(8, 1), torch.ones(8, dtype=torch.int64)])
def test_scales_that_do_not_fit_are_named(scale: Tensor, tmp_path: Path) -> None:
    made().save(tmp_path, "int8")
    name = next(each for each in load_file(tmp_path / WEIGHTS) if each.endswith(".scale"))
    reweigh(tmp_path, lambda all_: all_.update({name: scale}))
    assert "scales do not fit" in refused(tmp_path)


def test_a_card_that_is_none_is_named(folder: Path) -> None:
    good = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    model = good["recipe"]["model"]
    cases: list[tuple[Any, str]] = [
        ([], "is not the card"),
        ({}, "is not the card"),
        (good | {"format": 99}, "format 99, and this version of regard reads 1"),
        (good | {"recipe": None}, "has no recipe"),
        (good | {"parts": 3}, "parts"),
        (good | {"recipe": good["recipe"] | {"model": model | {"widht": 3}}}, "did you mean 'model.width'?"),
        (good | {"recipe": good["recipe"] | {"model": model | {"heads": 3}}}, "does not divide"),
        (good | {"recipe": good["recipe"] | {"model": model | {"shared": True}}}, "needs data.shared_vocabulary"),
        (good | {"recipe": good["recipe"] | {"model": model | {"width": 10**12}}}, "no model can be made"),
    ]
    for card, told in cases:
        (folder / ABOUT).write_text(json.dumps(card), encoding="utf-8")
        line = refused(folder)
        assert told in line
        assert ABOUT in line


def test_a_zip_is_never_unpacked(folder: Path, tmp_path: Path) -> None:
    inside = tmp_path / "in" / "side"
    inside.mkdir(parents=True)
    with zipfile.ZipFile(inside / "climbing.zip", "w") as climbing:
        for path in folder.iterdir():
            climbing.write(path, f"../{path.name}")
    before = sorted(tmp_path.rglob("*"))
    assert f"has no {ABOUT}" in refused(inside / "climbing.zip")
    with zipfile.ZipFile(inside / "climbing.zip", "a") as climbing:  # beside a good one they do no harm
        for path in folder.iterdir():
            climbing.write(path, path.name)
        climbing.writestr("/tmp/regard-was-here", b"")
        climbing.writestr("../regard-was-here", b"")
    assert same(bundle.load(inside / "climbing.zip"), bundle.load(folder))
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/regard-was-here").exists()


def test_what_is_no_bundle_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("We live here.\tआम्ही इथे राहतो.\n", encoding="utf-8")
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    assert f"has no {ABOUT}" in refused(tmp_path / "empty")
    assert "neither the folder nor the whole zip" in refused(tmp_path / "file")
    assert "--resume" in refused(tmp_path / "run")
    assert "there is no such bundle" in refused(tmp_path / "nothing")
    assert "there is no such bundle" in refused(Path("x" * 5000))
    assert "there is no such bundle" in refused(tmp_path / "file" / "below")


class Crash(BaseException):
    """As if the power went."""


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("end", [Crash, OSError])
def test_a_crash_while_saving_leaves_the_old_one_or_none(
    at: int, end: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = made(seed=1), made(seed=2)
    shutil.rmtree(tmp_path / "here", ignore_errors=True)
    for begun in (False, True):
        if begun:
            old.save(tmp_path / "here")
        left, write = [at], bundle._write

        def failing(path: Path, content: bytes, left: list[int] = left, write: Any = write) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise end("no room")
            write(path, content)

        with monkeypatch.context() as patch:
            patch.setattr(bundle, "_write", failing)
            with pytest.raises(Fault if end is OSError else end):
                new.save(tmp_path / "here")
        refused(tmp_path / "here")
        assert not list((tmp_path / "here").glob(".*"))
        new.save(tmp_path / "here")
        assert same(bundle.load(tmp_path / "here"), new)
        shutil.rmtree(tmp_path / "here")


def test_parts_of_two_bundles_are_no_bundle(folder: Path, tmp_path: Path) -> None:
    """A copy that was broken off, over an older bundle."""
    made(seed=2).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / WEIGHTS, folder / WEIGHTS)
    assert "of another bundle" in refused(folder)


def test_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file" / "below", tmp_path / "file" / "one.zip", tmp_path / "gone" / "one.zip"):
        with pytest.raises(Fault, match="cannot be written"):
            bundle.export(made(), out, "float32")


def test_the_recipe_is_in_the_card_in_full(folder: Path) -> None:
    assert bundle.card(folder)["recipe"] == config.dump(bundle.load(folder).recipe)
