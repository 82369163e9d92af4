"""Tasks of a cluster and their results; Ray itself is in test_cluster."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.commands import stub_ray
from tests.commands.stub_ray import StubRay
from tests.program import Run
from vidsum.batch.cluster import divert_stdout, on_cluster
from vidsum.batch.inputs import BatchInput, plain_inputs
from vidsum.batch.reply import Reply, failed
from vidsum.batch.settings import CommonOptions
from vidsum.errors import UsageError

TASKS = plain_inputs([f"{number}.mp4" for number in range(30)])
PATHS = [task.path for task in TASKS]
PRINTING = """
import os, subprocess, sys
from contextlib import redirect_stdout
from vidsum.batch.cluster import divert_stdout

print("before")
with divert_stdout() as out:
    print("noise")
    with redirect_stdout(out):
        print("result é")
        os.write(1, b"noise\\n")
        subprocess.run([sys.executable, "-c", "print('noise')"])
    os.write(1, b"noise\\n")
print("after")
"""


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> StubRay:
    """A cluster of two cores."""
    return stub_ray.install(monkeypatch)


def _work(item: BatchInput, progress: Any) -> Reply:
    raise NotImplementedError


def answers(done: list[int], address: str = "local", device: str = "cpu") -> Generator[Reply, None, None]:
    """Yield the answers of the stub; it notes the inputs that are done."""

    def finish(item: BatchInput, answer: Reply) -> None:
        done.append(item.number)

    def fail(item: BatchInput, error: Exception) -> Reply:
        return failed("info", item.path, error, CommonOptions())

    return on_cluster(_work, TASKS, lambda _: None, finish, fail, address, device)


def go_through(address: str = "local", device: str = "cpu") -> tuple[list[str], list[int]]:
    """The paths of the results in their order, and the numbers in the order in which they were done."""
    done: list[int] = []
    paths = []
    for number, result in enumerate(answers(done, address, device)):
        paths.append(result.input or "")
        assert set(done) >= set(range(number + 1))
    return paths, done


def test_payload_of_tasks(
    ray: StubRay, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VIDSUM_HOME", "/weights")
    monkeypatch.setenv("SECRET_KEY", "k3y")
    go_through()
    folder, environment = pickle.loads(ray.shared)
    assert (folder, environment["VIDSUM_HOME"]) == (str(Path.cwd()), "/weights")
    assert {name[:7] for name in environment} == {"VIDSUM_"}
    assert [pickle.loads(sent) for sent in ray.tasks] == TASKS
    assert max(map(len, ray.tasks)) < 500
    ray.finishes = lambda under_way: under_way[1] if len(under_way) > 1 else under_way[0]  # 0 is the last
    assert go_through() == (PATHS, [*range(1, 30), 0])
    ray.finishes = max
    assert go_through() == (PATHS, [*reversed(range(30))])
    stdout, results = sys.stdout, answers([])
    assert next(results).input == "0.mp4"
    results.close()
    assert sys.stdout is stdout
    assert "(raylet)" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "gpus", "expected"), [
    (["highlights"], 2, 1), (["highlights", "--device", "cuda:0"], 2, 1),
    (["highlights", "--device", "cpu"], 2, 0), (["highlights"], 0, 0), (["transcribe"], 2, 0),
    (["transcribe", "--device", "cuda"], 2, 1), (["info"], 2, 0),
])  # fmt: skip
def test_gpus_of_a_task(run: Run, ray: StubRay, words: list[str], gpus: int, expected: int) -> None:
    ray.resources = {"CPU": 8, "GPU": gpus}
    run(*words, "a.mp4", "--ray", "local")
    assert (ray.options["num_cpus"], ray.options["num_gpus"]) == (1, expected)


def test_stdout_has_results_only(run: Run, film: Path, ray: StubRay) -> None:
    ran = run("info", film, "lost.mp4", "--json", "--ray", "local", code=1, error="(raylet)")
    assert [(line["command"], line["ok"]) for line in ran.json_lines] == [("info", True), ("info", False)]
    assert "the worker died" in ran.json_lines[1]["errors"][0]["message"]
    assert ran.err.splitlines()[0] == "Ray has begun"


def test_redirected_stdout() -> None:
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run([sys.executable, "-c", PRINTING], capture_output=True, env=environment, check=True)
    assert ran.stdout.decode().split("\n") == ["before", "result é", "after", ""]
    assert ran.stderr.decode().split() == ["noise"] * 4


def test_reader_of_stdout_has_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, (tmp_path / "log").open("w") as log:
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", log)
        with divert_stdout() as results:
            results.write("result")
            os.close(reading)
        assert results.closed


def test_local_cluster_token(ray: StubRay) -> None:
    go_through()
    assert ray.settings["include_dashboard"] is False
    assert not Path(ray.settings["_temp_dir"]).exists()
    first = os.environ["RAY_AUTH_TOKEN"]
    assert os.environ["RAY_AUTH_MODE"] == "token"
    go_through()
    assert len(first) >= 32
    assert os.environ["RAY_AUTH_TOKEN"] != first


def test_token_of_running_cluster(ray: StubRay) -> None:
    go_through(address="auto")
    assert os.environ["RAY_AUTH_TOKEN"] == os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "as it was"
    assert ray.settings["address"] == "auto"


@pytest.mark.parametrize(("words", "expected"), [
    (["--device", "cuda:1", "--ray", "local"], "cuda:1"),
    (["--ray", "localhost:1", "--jobs", "2"], "--jobs"),
])  # fmt: skip
def test_cluster_option_errors(run: Run, ray: StubRay, words: list[str], expected: str) -> None:
    run("shots", "a.mp4", *words, code=2, error=expected)


def test_public_ray_is_refused(run: Run, ray: StubRay, monkeypatch: pytest.MonkeyPatch) -> None:
    ray.host = "192.0.2.2"
    run("info", "a.mp4", "--ray", "local", code=2, error="would listen on 192.0.2.2")
    assert ray.settings == {}
    stub_ray.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "ray", None)  # type: ignore[arg-type]
    run("info", "a.mp4", "--ray", "auto", code=2, error="-m pip install 'vidsum[ray]'")


def test_sigterm_goes_to_vidsum_though_ray_has_replaced_its_handler(
    ray: StubRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(ray, "init", lambda **_: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    try:
        tasks = answers([])
        next(tasks)
        assert signal.getsignal(signal.SIGTERM) == before
        tasks.close()
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("address", ["127.0.0.1:6379", "ray://localhost:10001"])
def test_cluster_on_this_machine_is_joined_offline(
    ray: StubRay, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: SimpleNamespace(close=lambda: None))
    next(answers([], address))
    assert ray.settings["address"] == address


def test_cluster_elsewhere_is_not_joined_offline(ray: StubRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    with pytest.raises(UsageError, match="VIDSUM_OFFLINE forbids"):
        next(answers([], "192.0.2.1:6379"))


def test_input_that_waits_for_the_cluster_says_so(ray: StubRay) -> None:
    steps: list[str] = []
    item = replace(TASKS[0], number=0)
    tasks = on_cluster(
        _work,
        [item],
        lambda _: lambda step, *_: steps.append(step),
        lambda *_: None,
        lambda item, error: failed("info", item.path, error, CommonOptions()),
        "local",
        "cpu",
    )
    assert len([*tasks]) == 1
    assert steps == ["waiting for the cluster"]
