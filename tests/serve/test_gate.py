"""What comes in too large, too slow, broken off or not at all: an answer with a reason, and nothing is left behind."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest
from running import Running, running

from regard.serve import server as serving
from regard.serve.gate import Pace

HEAD = b"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
GOOD = json.dumps({"q": "Who are you?", "source": "en", "target": "mr"}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """The bundle that ships, with every default."""
    with running() as one:
        yield one


def memory(server: Running) -> float:
    return float(psutil.Process(server.process.pid).memory_info().rss) / (1 << 20)


def pieces(size: int) -> Iterator[bytes]:
    for _ in range(size >> 16):
        yield b"x" * (1 << 16)


@pytest.mark.parametrize("told", [True, False])
def test_a_body_of_100_mb_is_refused_and_not_kept(server: Running, told: bool) -> None:
    """With its size said beforehand, and in parts without an end in sight."""
    size = 100 << 20
    before = memory(server)
    headers = {"content-type": "application/json"} | ({"content-length": str(size)} if told else {})
    answer = httpx.post(f"{server.url}/translate", content=pieces(size), headers=headers, timeout=60)
    assert answer.status_code == 413
    assert answer.json() == {"error": "Invalid request: the body is larger than 2097152 bytes"}
    assert memory(server) - before < 40
    assert server.get("/health").status_code == 200


def raw(server: Running, *parts: bytes) -> bytes:
    """What is answered to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        for part in parts:
            line.sendall(part)
        return line.recv(1 << 16)


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"\x00\xff\x00\xff\r\n\r\n",
        b"GET /languages HTTP/1.1\r\n\r\n",  # no host
        HEAD + b"content-length: -1\r\n\r\n",
        HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\n",
        HEAD + b"content-length: nine\r\n\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"x" * (600 << 10) + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /languages HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 300_000 + b"\r\n",
        b"GET /download_file/%ff%00%0d%0a HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
def test_what_is_no_request(server: Running, said: bytes) -> None:
    try:
        answer = raw(server, said)
    except (ConnectionResetError, BrokenPipeError):
        answer = b""  # it was told before it had said all
    assert answer == b"" or answer.split(b" ")[1][:1] == b"4"
    assert server.get("/health").status_code == 200


def test_clients_that_do_not_come_to_their_point_do_not_keep_others_out(server: Running) -> None:
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(300)]
    try:
        for number, line in enumerate(lines):
            line.sendall(HEAD[: 20 + number % 40] if number % 2 else HEAD + b"content-length: 500\r\n\r\n{")
        answer = server.post("/translate", q="Who are you?", source="en", target="mr")
        assert answer.status_code == 200
        last = [lines[1].recv(100), lines[0].recv(100)]  # one did not end its head, one its body
        assert last[0] == b""
        assert last[1].startswith(b"HTTP/1.1 408")
    finally:
        for line in lines:
            line.close()
    assert server.get("/health").status_code == 200


def test_a_crowd_that_says_nothing_does_not_keep_others_out(server: Running) -> None:
    """More connections than are kept: those that idle go, and who asks is answered."""
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(serving.CONNECTIONS + 50)]
    try:
        assert server.get("/health").status_code == 200
        assert server.post("/translate", q="Who are you?", source="en", target="mr").status_code == 200
        kept = len(psutil.Process(server.process.pid).net_connections())
        assert kept <= serving.CONNECTIONS + 5
    finally:
        for line in lines:
            line.close()


def test_a_client_that_writes_slowly_is_answered(server: Running) -> None:
    head = HEAD + b"content-length: %d\r\n\r\n" % len(GOOD)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        for part in (head[:30], head[30:], GOOD[:10], GOOD[10:30], GOOD[30:]):
            line.sendall(part)
            time.sleep(0.1)
        assert b" 200 " in line.recv(1000)


def test_the_work_of_a_client_that_has_gone_is_given_up(server: Running) -> None:
    """Twenty requests that would take a minute leave the next one waiting for one batch, not for them."""
    text = " ".join(f"The {number} red houses stand on a hill near the sea." for number in range(350))
    body = json.dumps({"q": text, "source": "en", "target": "mr"}).encode()

    def waiting() -> float:
        figures = server.get("/metrics").text
        return float(figures.partition("\nregard_waiting_sentences ")[2].partition("\n")[0])

    lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    for line in lines:
        line.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
    while waiting() < 5 * 350:
        time.sleep(0.05)
    for line in lines:
        line.close()
    assert server.post("/translate", q="Who are you?", source="en", target="mr").status_code == 200
    while waiting() > 0:  # or pytest is ended by whoever waits
        time.sleep(0.05)
    assert "regard_clients_gone_total 5.0" in server.get("/metrics").text


def test_too_much_at_once_is_told_to_come_back(server: Running) -> None:
    text = " ".join(f"The {number} blue houses stand on a hill." for number in range(450))
    body = json.dumps({"q": text, "source": "en", "target": "mr"}).encode()
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(5)]
    try:
        for line in lines:
            line.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        refused = [line for line in lines if b" 503 " in _first(line)]
        assert refused
    finally:
        for line in lines:
            line.close()


def test_what_takes_too_long_is_given_up() -> None:
    text = " ".join(f"The {number} green houses stand on a hill." for number in range(300))
    with running("--seconds", "0.2") as server:
        answer = server.post("/translate", q=text, source="en", target="mr")
        assert answer.status_code == 503
        assert answer.json() == {"error": "Busy: the translation took longer than 0.2 seconds"}
        assert answer.headers["retry-after"] == "1"
        assert "regard_waiting_sentences 0.0" in server.get("/metrics").text


def _first(line: socket.socket) -> bytes:
    line.settimeout(1)
    try:
        told = line.recv(1000)
    except TimeoutError:
        return b""
    assert b"retry-after: " in told.lower()
    assert b'{"error": "Busy: too many requests are waiting, try again later"}' in told.replace(b'":"', b'": "')
    return told


def test_a_connection_serves_many_requests(server: Running) -> None:
    with httpx.Client(base_url=server.url) as client:
        for _ in range(50):
            assert client.get("/health").status_code == 200
            assert (
                client.post("/translate", content=b"{", headers={"content-type": "application/json"}).status_code == 400
            )


def test_limits_are_such_that_a_slow_client_ends_in_time() -> None:
    assert serving.SAYING < 60
    assert serving.DRAIN < 60


def test_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("regard.serve.gate.monotonic", lambda: now)
    pace = Pace(60)
    assert sum(pace.lets("a") for _ in range(100)) == 60
    assert pace.lets("b")
    now = 2.0
    assert sum(pace.lets("a") for _ in range(100)) == 2
    now = 1e6
    assert sum(pace.lets("a") for _ in range(100)) == 60
    assert all(Pace(0).lets("a") for _ in range(1000))
    monkeypatch.setattr("regard.serve.gate.ADDRESSES", 5)
    for number in range(100):
        pace.lets(str(number))
    assert len(pace._seen) <= 6
