"""The process: signals, sockets, bundles. Nothing begun is lost; what is wrong at the start is one line, and 2."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import Regard
from running import running

from regard.task import bundle

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
GOOD = {"q": "Who are you?", "source": "en", "target": "mr"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A bundle that may be changed."""
    return Path(shutil.copytree(bundle.shipped()["en-mr"], tmp_path / "mine"))


def test_a_port_in_use_is_one_line(regard: Regard) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = regard("serve", "--port", port)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"regard: 127.0.0.1:{port}: this port is in use; choose another one with --port\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--model", "no-such"], "no-such: there is no such bundle"),
        (["--model", "en-mr", "--model", "en-mr"], "en-mr: en-mr already translates from en to mr"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid:0: cannot be listened on"),
        (["--host", "203.0.113.7"], "203.0.113.7:0: cannot be listened on"),
        (["--memory", "1"], "en-mr: takes"),
        (["--keys", "/no/such"], "/no/such: the keys cannot be read"),
        (["--suggestions", "/no/such/table"], "/no/such/table: suggestions cannot be written there"),
    ],
)
def test_what_is_wrong_at_the_start_is_one_line(regard: Regard, words: list[str], told: str) -> None:
    done = regard("serve", "--port", 0, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"regard: {told}")
    assert done.err.count("\n") == 1


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Its card, by another hand."""
    card = json.loads((folder / "regard.json").read_text(encoding="utf-8"))
    change(card)
    (folder / "regard.json").write_text(json.dumps(card), encoding="utf-8")


def test_a_bundle_has_to_say_what_it_joins(regard: Regard, copy: Path) -> None:
    changed(copy, lambda card: card["recipe"]["data"].pop("languages"))
    done = regard("serve", "--port", 0, "--model", copy)
    told = f"regard: {copy}: does not say which languages it joins; say it: --model en-mr={copy}\n"
    assert (done.code, done.err) == (2, told)


def test_a_damaged_calibration_is_named(regard: Regard, copy: Path) -> None:
    changed(copy, lambda card: card.update(confidence={"log_prob": "x"}))
    done = regard("serve", "--port", 0, "--model", copy)
    assert done.code == 2
    assert "the card's 'confidence' is not three finite numbers" in done.err


def test_help_teaches(regard: Regard) -> None:
    done = regard("serve", "--help")
    assert done.code == 0
    for word in ("LibreTranslate", "--model", "SIGHUP", "reverse proxy", "5000"):
        assert word in done.out


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_finishes_what_was_begun(signal_: signal.Signals) -> None:
    text = " ".join(f"Tom has {number} dogs." for number in range(60))
    answers: list[httpx.Response] = []
    with running() as server:
        asked = threading.Thread(target=lambda: answers.append(server.post("/translate", **GOOD | {"q": text})))
        asked.start()
        while "regard_waiting_sentences 60" not in server.get("/metrics").text:
            time.sleep(0.01)
        server.process.send_signal(signal_)
        asked.join(60)
        assert server.process.wait(30) == 0
        with pytest.raises(httpx.ConnectError):
            server.get("/health")
    assert answers[0].status_code == 200
    assert answers[0].json()["translatedText"].count("59") == 1


def test_a_reload_loses_no_request_and_takes_what_is_new(copy: Path) -> None:
    """While requests come without a pause, the bundle is replaced by a damaged one, then by one of another language."""
    statuses: set[int] = set()
    done = threading.Event()
    with running("--model", copy) as server:
        assert server.process.stderr

        def ask() -> None:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                while not done.is_set():
                    statuses.add(client.post("/translate", json=GOOD).status_code)

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for each in asking:
            each.start()
        try:
            weights = copy / "weights.safetensors"
            whole = weights.read_bytes()
            weights.write_bytes(whole[: len(whole) // 2])
            server.process.send_signal(signal.SIGHUP)
            assert "the bundles were not reloaded, the old ones stay" in server.process.stderr.readline()
            weights.write_bytes(whole)
            changed(copy, lambda card: card["recipe"]["data"].update(languages=["en", "mr-IN"]))
            server.process.send_signal(signal.SIGHUP)
            assert server.process.stderr.readline() == "the bundles are reloaded\n"
            assert [each["code"] for each in server.get("/languages").json()] == ["en", "mr-IN"]
        finally:
            done.set()
            for each in asking:
                each.join()
        assert statuses <= {200, 400}  # 400: mr is no more
        answer = server.post("/translate", **GOOD | {"target": "mr-IN"})
        assert answer.status_code == 200
        figures = server.get("/metrics").text
        assert 'regard_reloads_total{outcome="failed"} 1.0' in figures
        assert 'regard_reloads_total{outcome="done"} 1.0' in figures


def test_several_bundles_and_a_third_language_within_a_budget() -> None:
    """en→mr and mr→xx (the same weights by another name): en→xx goes through mr; only one fits in memory at once."""
    bytes_ = bundle_bytes()
    with running("-m", "en-mr", "-m", "mr-xx=en-mr", "--memory", str((bytes_ >> 20) + 2)) as server:
        targets = {each["code"]: each["targets"] for each in server.get("/languages").json()}
        assert targets == {"en": ["en", "mr", "xx"], "mr": ["mr", "xx"], "xx": ["xx"]}
        first = server.post("/translate", **GOOD).json()["translatedText"]
        through = server.post("/translate", **GOOD | {"target": "xx", "alignment": True}).json()
        second = server.post("/translate", q=first, source="mr", target="xx").json()["translatedText"]
        assert through["translatedText"] == second
        for link in through["alignment"]:
            assert GOOD["q"][link["source"]["start"] : link["source"]["end"]] == link["source"]["text"]
        assert "regard_bundles_loaded 1.0" in server.get("/metrics").text
        page = server.post("/translate", **GOOD | {"target": "xx", "q": "<p>Who <b>are</b> you?</p>", "format": "html"})
        assert page.json()["translatedText"].count("<b>") == 1
        seen = server.post("/translate", **GOOD | {"target": "xx", "attention": True})
        assert seen.json()["error"] == "Invalid request: attention parameter: en to xx goes through a third language"
        same = server.post("/translate", **GOOD | {"target": "en"}).json()
        assert same == {"translatedText": GOOD["q"]}


def test_an_answer_does_not_depend_on_who_else_asks() -> None:
    """Forty sentences alone, then all at once by twenty clients, as texts and as pages: the same, in fewer batches."""
    table = Path(__file__).parents[2] / "examples" / "dev.tsv"
    texts = list(dict.fromkeys(line.split("\t")[0] for line in table.read_text(encoding="utf-8").splitlines()))[-40:]
    asks = [GOOD | {"q": text} for text in texts]
    asks += [GOOD | {"q": f"<p>{text} <b>{text}</b></p>", "format": "html"} for text in texts[:10]]
    with running() as server:

        def ask(fields: dict[str, str]) -> Any:
            return server.post("/translate", **fields, alignment="format" not in fields).json()

        def batches() -> float:
            figures = server.get("/metrics").text
            return float(figures.partition("\nregard_batch_sentences_count ")[2].partition("\n")[0])

        alone = [ask(each) for each in asks]
        after_alone = batches()
        with ThreadPoolExecutor(20) as clients:
            assert list(clients.map(ask, asks)) == alone
        assert batches() - after_alone < after_alone / 2


def bundle_bytes() -> int:
    from regard.serve.library import size

    return size(bundle.shipped()["en-mr"])
