"""Files of the Hugging Face Hub: huggingface_hub itself against a server of our own, through HF_ENDPOINT."""

import hashlib
import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from tests.checkpoints.conftest import UseRegistry, child_environ, model
from tests.checkpoints.server import Answer, Server, resumable, send
from tests.checkpoints.test_obtain import visible
from vidsum import checkpoints
from vidsum.checkpoints import registry
from vidsum.errors import WeightsError

WEIGHTS = save({"weight": np.arange(50_000, dtype=np.float32)})
COMMIT = "0123456789abcdef0123456789abcdef01234567"
PLACE = f"/ann/toy/resolve/{COMMIT}/model.safetensors"
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


def hub_file(body: bytes, etag: str = SHA256, size: int = len(WEIGHTS), cut: int = 0) -> Answer:
    """A file as the hub serves it; `cut` is after how many bytes each transfer breaks off."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.command == "HEAD":
            handler.send_response(200)
            facts = {"X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(size)}
            for name, value in {**facts, "Content-Length": str(size)}.items():
                handler.send_header(name, value)
            handler.end_headers()
            return
        resumable(body, cut or len(body))(handler)

    return answer


@pytest.fixture
def hub(hub_server: Server, use_registry: UseRegistry) -> Server:
    """A hub with one file, whose SHA-256 the registry does not know."""
    source = {"hub": "ann/toy", "revision": COMMIT, "file": "model.safetensors"}
    file = {"name": "toy.safetensors", "format": "safetensors", "sha256": "", "sources": [source]}
    use_registry({"toy": model(file, terms="research only")})
    hub_server.serve(PLACE, hub_file(WEIGHTS))
    return hub_server


@pytest.mark.filterwarnings("ignore:toy is downloaded")
def test_first_download_is_recorded(hub: Server, home: Path) -> None:
    calls: list[tuple[str, float, float]] = []
    path = checkpoints.fetch("toy", lambda *call: calls.append(call))
    assert path.read_bytes() == WEIGHTS
    assert calls[-1] == ("fetching toy", len(WEIGHTS), len(WEIGHTS))
    assert visible(home) == {"toy/toy.safetensors", "toy/record.json"}
    assert not list(home.glob("weights/.*.part"))
    assert checkpoints.sha256_of("toy") == SHA256
    assert checkpoints.path_of("toy") == path
    record = json.loads((path.parent / "record.json").read_text())["toy.safetensors"]
    assert record["source"] == "the hub's ann/toy"
    other = save({"weight": np.ones(50_000, np.float32)})
    path.write_bytes(b"damaged")
    hub.serve(PLACE, hub_file(other, hashlib.sha256(other).hexdigest(), len(other)))
    with pytest.raises(WeightsError, match=f"not {SHA256}"):
        checkpoints.fetch("toy")


def test_licence_comes_before_the_download(hub: Server) -> None:
    with pytest.warns(UserWarning, match=r"toy is downloaded under the licence MIT \(research only\)"):
        checkpoints.fetch("toy")


@pytest.mark.filterwarnings("ignore:toy is downloaded")
def test_broken_transfer_resumes(hub: Server) -> None:
    large = save({"weight": np.arange(6_000_000, dtype=np.float32)})
    whole = hub_file(large, hashlib.sha256(large).hexdigest(), len(large), cut=11_000_000)
    hub.serve(PLACE, whole)
    assert checkpoints.fetch("toy").read_bytes() == large
    assert hub.received.count(PLACE) == 4  # one for the facts, three parts


@pytest.mark.filterwarnings("ignore:toy is downloaded")
def test_no_token_is_sent(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_ENDPOINT may be anybody's, and these models are public."""
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnop")
    headers, respond = list[dict[str, str]](), hub_file(WEIGHTS)

    def note(handler: BaseHTTPRequestHandler) -> None:
        headers.append(dict(handler.headers))
        respond(handler)

    hub.serve(PLACE, note)
    checkpoints.fetch("toy")
    assert len(headers) == 2
    assert "hf_abc" not in str(headers)
    assert not [sent for sent in headers if "Authorization" in sent]


PAGE = b"<!DOCTYPE html><html>sign in</html>"


def _page(handler: BaseHTTPRequestHandler) -> None:
    if handler.command == "HEAD":
        handler.send_response(200)
        handler.end_headers()
    else:
        send(handler, PAGE, "text/html")


@pytest.mark.filterwarnings("ignore:toy is downloaded")
@pytest.mark.parametrize(("answer", "fault"), [
    (hub_file(WEIGHTS, "1" * 64), f"has the SHA-256 {SHA256}, but states {'1' * 64}"),
    (hub_file(WEIGHTS, "abc"), "states no SHA-256"),
    (_page, "does not answer as a hub does"),
    (hub_file(PAGE), "broke off the transfer"),
    (hub_file(WEIGHTS[:-9]), "broke off the transfer"),
    (hub_file(PAGE, size=len(PAGE)), "has the SHA-256 [0-9a-f]{64}, but states"),
    (lambda handler: handler.send_error(404), "answers 404"),
    (lambda handler: handler.send_error(403), "answers 403"),
])  # fmt: skip
def test_bad_files_are_not_stored(hub: Server, home: Path, answer: Answer, fault: str) -> None:
    hub.serve(PLACE, answer)
    with pytest.raises(WeightsError, match=fault) as caught:
        checkpoints.fetch("toy")
    assert "\n" not in caught.value.message
    assert "vidsum weights add FILE --as toy" in str(caught.value.hint)
    assert not visible(home)


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "VIDSUM_OFFLINE"])
def test_offline(hub: Server, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(WeightsError, match=f"toy: its weights are not installed, and {name} forbids"):
        checkpoints.fetch("toy")
    assert not hub.received


@pytest.mark.filterwarnings("ignore:toy is downloaded")
def test_unreachable_hub(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(WeightsError, match=r"127\.0\.0\.1 cannot be reached"):
        checkpoints.fetch("toy")


def test_local_file(hub: Server, tmp_path: Path) -> None:
    checked = list[Path]()
    other = tmp_path / "readme.md"
    other.write_bytes(WEIGHTS)
    with pytest.raises(WeightsError, match=r"not of any \(toy\.safetensors\)"):
        checkpoints.add(other, "toy")
    path = other.rename(tmp_path / "copy.safetensors")
    assert checkpoints.add(path, "toy", check=checked.append).state == "present"
    assert len(checked) == 1
    assert checkpoints.sha256_of("toy") == SHA256
    path.write_bytes(save({"weight": np.ones(3, np.float32)}))
    with pytest.raises(WeightsError, match=f"not {SHA256}"):
        checkpoints.add(path, "toy")
    assert not hub.received


@pytest.mark.deep
def test_pull_prints_one_line(server: Server, home: Path) -> None:
    """The program itself, without a proxy: the licence, then what is wrong; exit code 4."""
    name = "mobileclip2-s0"
    source = registry.builtin_entries()[name].files[0].sources[0]
    assert isinstance(source, registry.HubSource)
    server.serve(f"/{source.hub}/resolve/{source.revision}/{source.file}", _page)
    environ = child_environ() | {"VIDSUM_HOME": str(home), "HF_ENDPOINT": server.url, "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "vidsum", "weights", "pull", name]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    lines = run.stderr.splitlines()
    assert run.returncode == 4, run.stderr
    assert "apple-amlr (for research only)" in lines[0]
    assert any("does not answer as a hub does" in line for line in lines)
    assert len(lines) <= 3, lines
    assert [path.name for path in (home / "weights").iterdir()] == [f".{name}.lock"]
