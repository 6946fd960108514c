"""README's commands work as they stand there, in their order, in a folder that holds the examples alone.

Two things are changed, so that the test is quick: `--minutes N` becomes 20 updates, and a line that calls make is not
run but looked up in the Makefile. Blocks in ```console show what was printed once; they are not run.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHORT = "--set train.updates=20 --set train.checkpoint_updates=20"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """The lines of all bash blocks, with continued lines joined and comments taken off."""
    lines = "".join(blocks(page, "bash")).replace("\\\n", "").splitlines()
    return [line for each in lines if (line := re.sub(r"(^|\s)#.*", "", each).strip())]


def environment() -> dict[str, str]:
    """`regard` is the one of this interpreter."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", here / "examples")
    return here


@pytest.mark.slow
def test_every_command_of_readme_works(folder: Path) -> None:
    for command in commands(ROOT / "README.md"):
        if command.startswith(("make ", "pip ")):
            continue
        short = re.sub(r"--minutes \d+", SHORT, command)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", short],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{short}\n{done.stderr}"
        assert done.stdout.strip() or "--out" in short, f"{short} says nothing"
        out = re.search(r"--out (\S+)", short)
        assert out is None or (folder / out[1]).exists(), f"{short} left nothing in {out and out[1]}"


def test_the_python_of_readme_works(folder: Path) -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/guide.md"])
def test_make_has_every_target_that_is_named(page: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {line.split()[1] for line in commands(ROOT / page) if line.startswith("make ")}
    assert named <= targets


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_the_command_has_every_verb_and_option_that_is_named(page: str) -> None:
    calls = [part for line in commands(ROOT / page) for part in line.split("|") if part.split()[:1] == ["regard"]]
    assert calls
    helps: dict[str, str] = {}
    for call in calls:
        verb = call.split()[1]
        if verb not in helps:
            asked = ["regard", verb, "--help"]
            wide = environment() | {"COLUMNS": "200"}
            helps[verb] = subprocess.run(asked, env=wide, capture_output=True, text=True, check=True).stdout
        options = set(re.findall(r"(?<=\s)--[a-z-]+", call))
        assert [option for option in options if not re.search(rf"{option}\b", helps[verb])] == [], call


def test_readme_names_every_recipe_and_every_choice_of_the_axes() -> None:
    from typing import get_args, get_type_hints

    from regard import config

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    hints = get_type_hints(config.RecurrentModel)
    choices = [choice for axis in ("kind", "score", "scope", "align") for choice in get_args(hints[axis])]
    assert [name for name in [*choices, *config.recipes()] if f"`{name}`" not in readme] == []
