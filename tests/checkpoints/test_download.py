"""Downloads of a file: broken connections, refusals and progress."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.server import Answer, Server, broken_off, failing, resumable, send
from tests.hostile import trickle
from vidsum.checkpoints.transfer import download
from vidsum.errors import WeightsError
from vidsum.io import network
from vidsum.io.network import Session

BODY = os.urandom(700_000)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "file.part"


def get(url: str, target: Path) -> list[tuple[int, int]]:
    calls: list[tuple[int, int]] = []
    with Session() as session:
        download(session, url, target, lambda done, total: calls.append((done, total)))
    return calls


def test_download(server: Server, target: Path, tmp_path: Path) -> None:
    target.write_bytes(b"of another run")
    calls = get(server.serve("/w", BODY), target)
    assert target.read_bytes() == BODY
    assert [total for _, total in calls] == [len(BODY)] * len(calls)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (len(BODY), len(BODY))

    def answer(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(BODY)

    calls = get(server.serve("/w", answer), target)
    assert target.read_bytes() == BODY
    assert calls[-1] == (len(BODY), 0)
    with pytest.raises(WeightsError) as caught:
        get(server.url.replace("//", "//ann:secret@") + "/gone", target)
    assert "secret" not in caught.value.message
    assert "127.0.0.1 answers 404" in caught.value.message


@pytest.mark.parametrize(
    ("answers", "n_requests"),
    [
        ([resumable(BODY, after=300_000)], 3),
        ([broken_off(BODY, 1000), BODY], 2),  # the server cannot resume
        ([failing(503), BODY], 2),
    ],
)
def test_download_resumes(answers: list[Answer], n_requests: int, server: Server, target: Path) -> None:
    def answer(handler: Any) -> None:
        reply: Any = answers[min(len(server.received), len(answers)) - 1]
        reply(handler) if callable(reply) else send(handler, reply)

    calls = get(server.serve("/w", answer), target)
    assert target.read_bytes() == BODY
    assert len(server.received) == n_requests
    assert calls[-1] == (len(BODY), len(BODY))


def test_download_gives_up(server: Server, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WeightsError, match=r"127\.0\.0\.1 broke off the transfer"):
        get(server.serve("/w", broken_off(BODY, 1000)), target)
    assert len(server.received) == network.ATTEMPTS
    with pytest.raises(WeightsError, match=r"127\.0\.0\.1 cannot be reached"):
        get("http://127.0.0.1:9/w", target)
    monkeypatch.setattr(network, "TIMEOUTS_S", (10.0, 0.1))
    with pytest.raises(WeightsError, match="does not answer in time"):
        get(server.serve("/silent", lambda handler: handler.rfile.read(1)), target)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(("status", "n_requests"), [(404, 1), (403, 1), (500, 3)])
def test_download_refused(server: Server, target: Path, status: int, n_requests: int) -> None:
    with pytest.raises(WeightsError, match=rf"127\.0\.0\.1 answers {status}"):
        get(server.serve("/w", failing(status)), target)
    assert len(server.received) == n_requests
    assert not target.exists()


@pytest.mark.parametrize("name", ["PIP_CERT", "SSL_CERT_FILE"])
def test_certificates_of_the_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("PIP_CERT", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert Session().verify is True
    monkeypatch.setenv(name, "/some/bundle.pem")
    assert Session().verify == "/some/bundle.pem"


def test_download_from_a_slow_server_ends(server: Server, target: Path) -> None:
    url = server.serve("/w", trickle(b"HTTP/1.0 200 OK\r\nContent-Length: 1000000\r\n\r\n"))
    with Session() as session, pytest.raises(WeightsError, match=r"127\.0\.0\.1 sends less than"):
        download(session, url, target, lambda *_: None, network.Pace(10_000, 0.4))
