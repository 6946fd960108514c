"""The command as the shell runs it: pipes, signals, and what it imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

REGARD = [sys.executable, "-m", "regard"]
ALONE = os.environ | {"OMP_NUM_THREADS": "1"}


def test_help_imports_no_torch() -> None:
    script = """
import sys
from regard import cli
verbs = ["train", "translate", "look", "align", "evaluate", "compare", "export", "serve", "models", "recipes"]
for words in [["--help"], *([verb, "--help"] for verb in verbs), ["recipes"], ["recipes", "bahdanau"]]:
    cli.app(words, standalone_mode=False)
    heavy = {"torch", "numpy", "matplotlib", "pyarrow", "tokenizers", "sacrebleu"} & set(sys.modules)
    assert not heavy, (words, heavy)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*REGARD, "recipes"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_who_reads_no_further_ends_it_in_silence(learned: Callable[[str], Path]) -> None:
    """`yes | regard translate | head -2`, while standard input has no end."""
    one = subprocess.Popen(
        [*REGARD, "translate", "--model", str(learned("bahdanau")), "--beam", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ALONE | {"PYTHONIOENCODING": "ascii"},
    )
    assert one.stdin
    assert one.stdout
    assert one.stderr
    with one.stdin, one.stdout, one.stderr:
        one.stdin.write(b"Go.\nWho are you?\n")
        one.stdin.flush()
        lines = [one.stdout.readline().decode() for _ in range(2)]  # each is there before the next is written
        assert all(any("\u0900" <= letter <= "\u097f" for letter in line) for line in lines)
        one.stdout.close()
        one.stdin.write(b"We live here.\n")
        one.stdin.flush()
        assert one.wait(60) == 0
        assert one.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_ctrl_c_while_it_waits_for_a_line(learned: Callable[[str], Path]) -> None:
    one = subprocess.Popen(
        [*REGARD, "translate", "--model", str(learned("bahdanau"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ALONE,
    )
    assert one.stdin
    assert one.stdout
    assert one.stderr
    with one.stdin, one.stdout, one.stderr:
        one.stdin.write(b"Go.\n")
        one.stdin.flush()
        assert one.stdout.readline().strip()
        time.sleep(0.1)
        one.send_signal(signal.SIGINT)
        assert one.wait(60) == 130
        assert one.stderr.read().decode().strip() == "regard: stopped"
