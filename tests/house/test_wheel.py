"""`pip install .` brings all that the package needs at run time."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel built from a copy of the sources, without any network."""
    here = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, here)
    shutil.copytree(ROOT / "src", here / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    built = subprocess.run([*command, "-w", here, here], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (file,) = here.glob("regard-*.whl")
    return set(zipfile.ZipFile(file).namelist())


def test_every_file_of_the_package_is_in_the_wheel(wheel: set[str]) -> None:
    package = ROOT / "src" / "regard"
    files = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    assert {file for file in files if "__pycache__" not in file} - wheel == set()


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("regard/", "py.typed"),
        ("regard/recipes/", ".toml"),
        ("regard/bundles/", "/regard.json"),
        ("regard/bundles/", "/weights.safetensors"),
        ("regard/trace/font/", ".ttf"),
        ("regard-", "/licenses/LICENSE"),
    ],
)
def test_what_is_no_code_is_in_the_wheel(wheel: set[str], start: str, end: str) -> None:
    assert [name for name in wheel if name.startswith(start) and name.endswith(end)]


def test_nothing_but_the_package_is_in_the_wheel(wheel: set[str]) -> None:
    assert {name.split("/")[0].partition("-")[0] for name in wheel} == {"regard"}
