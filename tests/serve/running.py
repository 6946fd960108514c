"""A server in a process of its own, on a real socket."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

ALONE = os.environ | {"OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Running:
    url: str
    port: int
    process: subprocess.Popen[str]

    def post(self, path: str, **fields: object) -> httpx.Response:
        return httpx.post(self.url + path, json=fields, timeout=60)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=60)


@contextmanager
def running(*words: str | Path) -> Iterator[Running]:
    command = [sys.executable, "-m", "regard", "serve", "--port", "0", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ALONE) as process:
        assert process.stderr
        line = process.stderr.readline()
        assert "http://" in line, line + process.stderr.read()
        url = line.partition("http://")[2].partition("/")[0]
        try:
            yield Running(f"http://{url}", int(url.rpartition(":")[2]), process)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            told = process.stderr.read()
    # it logs nothing but its own faults
    assert [line for line in told.splitlines() if line != "regard has ended"] == []
