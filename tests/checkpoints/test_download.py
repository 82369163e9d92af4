"""Downloading one file: broken connections are taken up again, refusals are named, progress is told."""

import os
from pathlib import Path

import pytest

from tests.checkpoints.server import Server, broken_off, failing, resumable, send
from vidsum.checkpoints import package_index as module
from vidsum.checkpoints.package_index import download, new_session
from vidsum.errors import WeightsError
from vidsum.io import network

BODY = os.urandom(700_000)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "PAUSE_S", 0.0)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "file.part"


def get(url: str, target: Path) -> list[tuple[int, int]]:
    """Download; returns the calls of the progress function."""
    calls: list[tuple[int, int]] = []
    with new_session() as session:
        download(session, url, target, lambda done, total: calls.append((done, total)))
    return calls


def test_file_arrives_and_progress_runs_to_its_length(server: Server, target: Path) -> None:
    calls = get(server.serve("/w", BODY), target)

    assert target.read_bytes() == BODY
    assert [total for _, total in calls] == [len(BODY)] * len(calls)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (len(BODY), len(BODY))


def test_progress_has_no_total_where_the_server_tells_none(server: Server, target: Path) -> None:
    def answer(handler) -> None:  # type: ignore[no-untyped-def]
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(BODY)

    calls = get(server.serve("/w", answer), target)

    assert target.read_bytes() == BODY
    assert calls[-1] == (len(BODY), 0)


def test_what_lay_there_before_is_not_continued(server: Server, target: Path) -> None:
    target.write_bytes(b"of another run")
    get(server.serve("/w", BODY), target)
    assert target.read_bytes() == BODY


def test_broken_transfer_goes_on_where_it_broke(server: Server, target: Path) -> None:
    calls = get(server.serve("/w", resumable(BODY, after=300_000)), target)

    assert target.read_bytes() == BODY
    assert len(server.asked) == 3
    assert calls[-1] == (len(BODY), len(BODY))


def test_server_that_cannot_resume_sends_all_again(server: Server, target: Path) -> None:
    def answer(handler) -> None:  # type: ignore[no-untyped-def]
        if len(server.asked) == 1:
            broken_off(BODY, 1000)(handler)  # type: ignore[operator]
        else:
            send(handler, BODY)

    get(server.serve("/w", answer), target)
    assert target.read_bytes() == BODY


def test_transfer_that_always_breaks_is_given_up(server: Server, target: Path) -> None:
    with pytest.raises(WeightsError, match=r"127\.0\.0\.1 broke off the transfer"):
        get(server.serve("/w", broken_off(BODY, 1000)), target)
    assert len(server.asked) == network.ATTEMPTS


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (403, 1), (500, 3), (503, 3)])
def test_refusal_is_named_and_a_fault_of_the_server_tried_again(
    server: Server, target: Path, status: int, asked: int
) -> None:
    with pytest.raises(WeightsError, match=rf"127\.0\.0\.1 answers {status}"):
        get(server.serve("/w", failing(status)), target)
    assert len(server.asked) == asked
    assert not target.exists()


def test_fault_that_passes_does_not_matter(server: Server, target: Path) -> None:
    def answer(handler) -> None:  # type: ignore[no-untyped-def]
        handler.send_error(503) if len(server.asked) == 1 else send(handler, BODY)

    get(server.serve("/w", answer), target)
    assert target.read_bytes() == BODY


def test_silent_server_is_not_waited_for(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUTS_S", (10.0, 0.1))
    with pytest.raises(WeightsError, match="does not answer in time"):
        get(server.serve("/w", lambda handler: handler.rfile.read(1)), target)  # type: ignore[arg-type, return-value]


def test_server_that_is_not_there(target: Path) -> None:
    with pytest.raises(WeightsError, match=r"127\.0\.0\.1 cannot be reached"):
        get("http://127.0.0.1:9/w", target)


def test_passwords_in_an_address_are_not_shown(server: Server, target: Path) -> None:
    with pytest.raises(WeightsError) as caught:
        get(server.url.replace("//", "//ann:secret@") + "/w", target)
    assert "secret" not in caught.value.message
    assert "127.0.0.1 answers 404" in caught.value.message


def test_file_address(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "a file.bin"
    source.write_bytes(BODY)
    assert get(source.as_uri(), target)[-1] == (len(BODY), len(BODY))
    assert target.read_bytes() == BODY
    with pytest.raises(WeightsError, match="answers 404"):
        get((tmp_path / "none").as_uri(), target)


@pytest.mark.parametrize("name", ["PIP_CERT", "SSL_CERT_FILE"])
def test_certificates_named_by_the_environment_are_used(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("PIP_CERT", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert new_session().verify is True
    monkeypatch.setenv(name, "/some/bundle.pem")
    assert new_session().verify == "/some/bundle.pem"
