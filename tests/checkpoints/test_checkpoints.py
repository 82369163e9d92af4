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


def test_tensors_are_those_of_the_first_file(fetched: Path) -> None:
    for name in ("net", "text"):
        assert list(checkpoints.load_state_dict(name)) == ["params/kernel"]


def test_weights_of_which_a_file_is_gone_are_missing(fetched: Path) -> None:
    assert states() == {"net": "present", "text": "present", "words": "present"}
    (fetched / "text" / "words.json").unlink()
    assert states() == {"net": "present", "text": "missing", "words": "present"}


def test_weights_that_are_missing_are_fetched_when_they_are_loaded(folder: Path) -> None:
    assert checkpoints.find("net") is None
    tensors = checkpoints.load_state_dict("net")
    np.testing.assert_array_equal(tensors["params/kernel"].numpy(), ARRAYS["params"]["kernel"])
    assert checkpoints.find("net") == folder / "net" / "net.safetensors"


def test_weights_that_are_not_loaded_are_not_fetched(folder: Path, server: Server) -> None:
    assert checkpoints.sha256_of("net") == file_of(PICKLE)["sha256"]
    assert (server.received, checkpoints.find("net")) == ([], None)
    assert states() == {"net": "missing", "text": "missing", "words": "missing"}


def test_fetched_weights_alone_are_present(folder: Path) -> None:
    checkpoints.fetch("net")
    assert states() == {"net": "present", "text": "missing", "words": "missing"}


def test_record_of_fetched_weights_has_their_source_and_hashes(folder: Path) -> None:
    checkpoints.fetch("net")
    record = json.loads((folder / "net" / "record.json").read_text())["net.safetensors"]
    assert (record["source"], record["source_sha256"]) == ("package toy 1.0", file_of(PICKLE)["sha256"])
    assert record["stored_sha256"] == file_of((folder / "net" / "net.safetensors").read_bytes())["sha256"]


def test_path_of_weights_of_several_files_is_their_folder(folder: Path) -> None:
    assert checkpoints.path_of("text") == folder / "text"
    assert (folder / "text" / "words.json").read_bytes() == WORDS


def test_weights_without_tensors_are_refused(folder: Path) -> None:
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
def test_weights_with_a_damaged_record_are_fetched_again(fetched: Path, record: str) -> None:
    (fetched / "net" / "record.json").write_text(record)
    assert checkpoints.verify("net").state == "missing"
    assert len(checkpoints.load_state_dict("net")) == 1


def test_weights_are_loaded_without_a_lock_or_a_change(fetched: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in fetched.rglob("*")}
    with FileLock(fetched / ".net.lock"):
        assert len(checkpoints.load_state_dict("net")) == 1
    assert {path: path.stat().st_mtime_ns for path in fetched.rglob("*")} == before


def test_changed_weights_are_not_loaded_and_their_repair_is_named(fetched: Path) -> None:
    path = fetched / "net" / "net.safetensors"
    _flip_last_byte(path)
    with pytest.raises(WeightsError, match="does not have the recorded SHA-256") as caught:
        checkpoints.load_state_dict("net")
    assert str(path) in caught.value.message
    assert caught.value.hint == "vidsum weights pull net"


def test_changed_weights_alone_are_bad_when_they_are_verified(fetched: Path) -> None:
    _flip_last_byte(fetched / "net" / "net.safetensors")
    names = [status.entry.name for status in checkpoints.entries()]
    assert [checkpoints.verify(name).state for name in names] == ["bad", "present", "present"]


def test_second_file_of_weights_is_checked_too(fetched: Path) -> None:
    _flip_last_byte(fetched / "text" / "words.json")
    with pytest.raises(WeightsError, match="does not have the recorded SHA-256"):
        checkpoints.path_of("text")


def test_changed_weights_are_fetched_again(fetched: Path) -> None:
    _flip_last_byte(fetched / "text" / "words.json")
    checkpoints.fetch("text")
    assert checkpoints.verify("text").state == "present"


def test_shortened_weights_are_bad_without_being_hashed(fetched: Path) -> None:
    path = fetched / "net" / "net.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    status = checkpoints.entries()[0]
    assert (status.state, checkpoints.find("net")) == ("bad", None)
    assert "bytes, not the recorded" in (status.reason or "")


def test_weights_that_the_registry_replaced_are_missing(fetched: Path, use_registry: UseRegistry) -> None:
    use_registry({"words": model(file_of(b"other words", name="words.json"))})
    assert checkpoints.verify("words").state == "missing"


def test_file_of_another_hash_is_not_added(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(b"other")
    with pytest.raises(WeightsError, match=r"other\.bin: is not net: its SHA-256 is") as caught:
        checkpoints.add(other, "net")
    assert file_of(PICKLE)["sha256"] in caught.value.message
    assert states()["net"] == "missing"


@pytest.mark.parametrize("name", ["absent", ""])
def test_missing_file_or_folder_is_not_added(folder: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(WeightsError, match="cannot be read"):
        checkpoints.add(tmp_path / name, "net")


def test_folder_that_is_added_says_how(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightsError) as error:
        checkpoints.add(tmp_path, "net")
    assert error.value.hint == "add the files in it one by one"


def test_file_that_is_added_is_converted_without_a_download(
    fetched: Path, tmp_path: Path, server: Server
) -> None:
    stored = (fetched / "net" / "net.safetensors").read_bytes()
    (fetched / "net" / "record.json").unlink()
    server.received.clear()
    mine = tmp_path / "any name"
    mine.write_bytes(PICKLE)
    status = checkpoints.add(mine, "net")
    assert (status.state, status.path.read_bytes(), server.received) == ("present", stored, [])
    assert mine.read_bytes() == PICKLE


def test_weights_of_two_files_are_present_once_both_are_added(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    words, net = tmp_path / "w", tmp_path / "n"
    words.write_bytes(WORDS)
    net.write_bytes(PICKLE)
    status = checkpoints.add(words, "text")
    assert status.state == "missing"
    assert (status.reason or "").split()[1:] == ["missing"]  # the other file
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
