"""The public functions on weights: present, missing, damaged or added by hand."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from tests.checkpoints.conftest import UseRegistry, child_environ, file_of, in_wheel, model
from tests.checkpoints.server import Server, wheel
from tests.conftest import real_weights
from vidsum import checkpoints
from vidsum.errors import UsageError, WeightsError

ARRAYS = {"params": {"kernel": np.arange(6, dtype=np.float32).reshape(2, 3)}}
PICKLE = pickle.dumps(ARRAYS)
WORDS = b'["a", "b"]'


@pytest.fixture
def folder(home: Path, server: Server, use_registry: UseRegistry) -> Path:
    """Two models on the index, `net` of one file and `text` of two; the folder of weights."""
    server.publish(
        "toy", "toy-1.0-py3-none-any.whl", wheel({"toy/net.ckpt": PICKLE, "toy/words.json": WORDS})
    )
    net = file_of(PICKLE, in_wheel("toy/net.ckpt"), name="net.safetensors", format="numpy_pickle")
    words = file_of(WORDS, in_wheel("toy/words.json"), name="words.json")
    use_registry({"net": model(net), "text": model(net, words), "words": model(words)})
    return home / "weights"


@pytest.fixture
def fetched(folder: Path) -> Path:
    for name in ("net", "text", "words"):
        checkpoints.fetch(name)
    return folder


def states() -> dict[str, str]:
    return {status.entry.name: status.state for status in checkpoints.entries()}


def test_weights_of_which_a_file_is_gone_are_missing(fetched: Path) -> None:
    assert states() == {"net": "present", "text": "present", "words": "present"}
    (fetched / "text" / "words.json").unlink()
    assert states() == {"net": "present", "text": "missing", "words": "present"}


def test_load_state_dict_fetches(folder: Path, server: Server) -> None:
    assert checkpoints.sha256_of("net") == file_of(PICKLE)["sha256"]
    assert (server.received, checkpoints.find("net")) == ([], None)
    assert states() == {"net": "missing", "text": "missing", "words": "missing"}
    tensors = checkpoints.load_state_dict("net")
    assert list(tensors) == ["params/kernel"]
    np.testing.assert_array_equal(tensors["params/kernel"].numpy(), ARRAYS["params"]["kernel"])
    assert checkpoints.find("net") == folder / "net" / "net.safetensors"
    assert states() == {"net": "present", "text": "missing", "words": "missing"}
    record = json.loads((folder / "net" / "record.json").read_text())["net.safetensors"]
    assert (record["source"], record["source_sha256"]) == ("package toy 1.0", file_of(PICKLE)["sha256"])
    assert record["stored_sha256"] == file_of((folder / "net" / "net.safetensors").read_bytes())["sha256"]
    assert checkpoints.path_of("text") == folder / "text"
    assert (folder / "text" / "words.json").read_bytes() == WORDS
    assert list(checkpoints.load_state_dict("text")) == ["params/kernel"]
    with pytest.raises(UsageError, match="words has no tensors"):
        checkpoints.load_state_dict("words")


def _flip_last_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("record", [
    *("", "{", "[]", "[" * 100_000, '{"net.safetensors": {}}', '{"net.safetensors": 3}'),
    '{"net.safetensors": {"source_sha256": 3, "source": "", "stored_sha256": "ab", "stored_bytes": "9"}}',
])  # fmt: skip
def test_bad_record(fetched: Path, record: str) -> None:
    (fetched / "net" / "record.json").write_text(record)
    assert checkpoints.verify("net").state == "missing"
    assert len(checkpoints.load_state_dict("net")) == 1


def test_load_state_dict_writes_nothing(fetched: Path, use_registry: UseRegistry) -> None:
    before = {path: path.stat().st_mtime_ns for path in fetched.rglob("*")}
    with FileLock(fetched / ".net.lock"):
        assert len(checkpoints.load_state_dict("net")) == 1
    assert {path: path.stat().st_mtime_ns for path in fetched.rglob("*")} == before
    path = fetched / "net" / "net.safetensors"
    _flip_last_byte(path)
    with pytest.raises(WeightsError, match="does not have the recorded SHA-256") as caught:
        checkpoints.load_state_dict("net")
    assert str(path) in caught.value.message
    assert caught.value.hint == "vidsum weights pull net"
    assert checkpoints.verify("net").state == "bad"
    names = [status.entry.name for status in checkpoints.entries()]
    assert [checkpoints.verify(name).state for name in names] == ["bad", "present", "present"]
    _flip_last_byte(fetched / "text" / "words.json")
    with pytest.raises(WeightsError, match="does not have the recorded SHA-256"):
        checkpoints.path_of("text")
    checkpoints.fetch("text")
    assert checkpoints.verify("text").state == "present"
    path = fetched / "net" / "net.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    status = checkpoints.entries()[0]
    assert (status.state, checkpoints.find("net")) == ("bad", None)
    assert "bytes, not the recorded" in (status.reason or "")
    use_registry({"words": model(file_of(b"other words", name="words.json"))})
    assert checkpoints.verify("words").state == "missing"


def test_add_errors(folder: Path, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(b"other")
    with pytest.raises(WeightsError, match=r"other\.bin: is not net: its SHA-256 is") as caught:
        checkpoints.add(other, "net")
    assert file_of(PICKLE)["sha256"] in caught.value.message
    assert states()["net"] == "missing"
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(WeightsError, match="cannot be read"):
            checkpoints.add(path, "net")
    checkpoints.fetch("net")
    fetched = (folder / "net" / "net.safetensors").read_bytes()
    (folder / "net" / "record.json").unlink()
    server.received.clear()
    mine = tmp_path / "any name"
    mine.write_bytes(PICKLE)
    status = checkpoints.add(mine, "net")
    assert (status.state, status.path.read_bytes(), server.received) == ("present", fetched, [])
    assert mine.read_bytes() == PICKLE
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    words, net = tmp_path / "w", tmp_path / "n"
    words.write_bytes(WORDS)
    net.write_bytes(PICKLE)
    assert checkpoints.add(words, "text").state == "missing"
    assert checkpoints.add(net, "text").state == "present"
    assert len(checkpoints.load_state_dict("text")) == 1


def test_entries_load_no_slow_library(home: Path) -> None:
    code = (
        "import sys; from vidsum import checkpoints; checkpoints.entries(); "
        "print(sorted({'torch', 'requests', 'safetensors'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=child_environ())
    assert result.stdout == "[]\n"


@pytest.mark.deep
@pytest.mark.weights
def test_real_mobilenet_v2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torchvision = pytest.importorskip("torchvision")
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.delenv("VIDSUM_OFFLINE", raising=False)
    real_weights("mobilenet_v2")
    tensors = checkpoints.load_state_dict("mobilenet_v2")
    torchvision.models.mobilenet_v2(weights=None).load_state_dict(tensors, strict=True)
    assert checkpoints.verify("mobilenet_v2").state == "present"
