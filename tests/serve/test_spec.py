"""What /spec says is so: requests made up from it, good and bad, are answered as it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
from running import running


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    """Every check it has, hundreds of requests. It leaves its notes in the folder it is called in."""
    keys = tmp_path / "suggestions.tsv"
    with running("--suggestions", keys, "--seconds", "60") as server:
        program = Path(sys.executable).with_name("schemathesis")
        command = [str(program), "run", f"{server.url}/spec", "--checks", "all", "--no-color", "--seed", "1"]
        done = subprocess.run(
            [*command, "--max-examples", "15", "--request-timeout", "60"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONWARNINGS": ""},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        figures = server.get("/metrics").text
    statuses = [line for line in figures.splitlines() if line.startswith("regard_requests_total")]
    assert sum(float(line.rpartition(" ")[2]) for line in statuses) > 200
    assert not [line for line in statuses if 'status="5' in line]


def test_the_languages_of_the_spec_are_those_of_the_server() -> None:
    with running("-m", "en-mr", "-m", "mr-en=en-mr", "--no-files") as server:
        paths = httpx.get(f"{server.url}/spec").json()["paths"]
        schema = paths["/translate"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema["properties"]["source"]["enum"] == ["en", "mr", "auto"]
        assert {"properties": {"source": {"const": "mr"}, "target": {"enum": ["en", "mr"]}}} in schema["anyOf"]
        assert "/translate_file" not in paths
        assert "/suggest" not in paths
        for path in paths:
            if "{" not in path:
                assert httpx.get(server.url + path).status_code in {200, 405}
