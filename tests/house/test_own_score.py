"""The page that teaches to write a score works as it stands: it learns, draws what it looked at, and says how well."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "own-score.md"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_learns_to_say_words_backwards() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks())],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert ran.returncode == 0, ran.stderr
    *drawn, said = ran.stdout.splitlines()
    accuracy = re.fullmatch(r"said backwards without a mistake: (\d\.\d+)", said)
    assert accuracy is not None, said
    assert float(accuracy[1]) >= 0.99
    rows = [line for line in drawn if re.search(r" [a-h]$", line) and "┌" not in line]
    darkest = [line.index("█") for line in rows]
    assert darkest == sorted(darkest, reverse=True)
    assert len(set(darkest)) == len("cabbage")


def test_the_score_of_the_page_is_ten_lines() -> None:
    body = blocks()[0].partition("class Distance")[2].splitlines()
    assert 1 < sum(bool(line.strip()) for line in body) <= 10
