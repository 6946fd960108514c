"""Pages made from the code say what the code says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "mechanisms.py"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md")), ROOT / "examples" / "README.md"]


def test_the_page_of_mechanisms_is_what_the_docstrings_say() -> None:
    checked = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_score_scope_and_align_stands_on_the_page() -> None:
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    for axis in ("score", "scope", "align"):
        files = (ROOT / "src" / "regard" / "attention" / axis).glob("*.py")
        assert rows >= {file.stem for file in files} - {"__init__", "core"}


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs").rglob("*.md")) + sorted(ROOT.glob("*.md")), ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [part.partition(")")[0].partition("#")[0] for part in text.split("](")[1:]]
    local = [target for target in targets if target and "://" not in target and " " not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []
