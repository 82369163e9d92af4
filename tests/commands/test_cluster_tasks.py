"""What is handed to a cluster, and how its results come back; Ray itself is in test_cluster."""

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands import stub_ray
from tests.commands.conftest import Run
from tests.commands.stub_ray import StubRay
from vidsum.commands.cluster import on_cluster
from vidsum.commands.jobs import Queue, Task
from vidsum.commands.result import Result

TASKS = [Task(number, f"{number}.mp4") for number in range(30)]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> StubRay:
    """A cluster of two cores."""
    return stub_ray.install(monkeypatch)


def queue(done: list[int]) -> Queue:
    """Tasks that the stub answers; it notes those that are done."""
    return Queue("info", _work, TASKS, lambda _: None, lambda task, _: done.append(task.number))


def _work(task: Task, progress: Any) -> Result:
    raise NotImplementedError


def go_through(address: str = "local", device: str = "cpu") -> tuple[list[str], list[int]]:
    """The paths of the results in their order, and the numbers in the order in which they were done."""
    done: list[int] = []
    results: list[Result] = []
    for result in on_cluster(queue(done), address, device):
        results.append(result)
        assert set(done) >= set(range(len(results)))
    return [result.input or "" for result in results], done


def test_a_long_input_holds_up_its_successors_and_nothing_else(ray: StubRay) -> None:
    ray.finishes = lambda under_way: under_way[1] if len(under_way) > 1 else under_way[0]  # 0 is the last
    paths, done = go_through()
    assert paths == [task.path for task in TASKS]
    assert done == [*range(1, 30), 0]
    assert ray.under_way == [*range(30, 0, -1)]  # Ray has them all


@pytest.mark.parametrize("order", [min, max])
def test_results_come_in_the_order_of_the_inputs(ray: StubRay, order: type) -> None:
    ray.finishes = order
    assert go_through()[0] == [task.path for task in TASKS]


def test_a_batch_may_be_left_in_the_middle(ray: StubRay, capsys: pytest.CaptureFixture[str]) -> None:
    results = on_cluster(queue([]), "local", "cpu")
    assert next(results).input == "0.mp4"
    stdout = sys.stdout
    results.close()
    assert sys.stdout is not stdout
    assert "(raylet)" in capsys.readouterr().err


def test_only_what_a_task_needs_is_sent(ray: StubRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", "/weights")
    monkeypatch.setenv("SECRET_KEY", "k3y")
    go_through()
    folder, environment = pickle.loads(ray.shared)
    assert folder == str(Path.cwd())
    assert environment["VIDSUM_HOME"] == "/weights"
    assert {name[:7] for name in environment} == {"VIDSUM_"}
    assert [pickle.loads(sent) for sent in ray.tasks] == TASKS
    assert max(map(len, ray.tasks)) < 500


@pytest.mark.parametrize(
    ("device", "resources", "expected"),
    [
        ("auto", {"CPU": 8, "GPU": 2}, 1),
        ("cuda", {"CPU": 8, "GPU": 2}, 1),
        ("cuda:0", {"CPU": 8, "GPU": 2}, 1),
        ("cpu", {"CPU": 8, "GPU": 2}, 0),
        ("auto", {"CPU": 8}, 0),
    ],
)
def test_a_task_asks_for_a_gpu_where_the_command_takes_one(
    ray: StubRay, device: str, resources: dict[str, float], expected: int
) -> None:
    ray.resources = resources
    go_through(device=device)
    assert (ray.options["num_cpus"], ray.options["num_gpus"]) == (1, expected)


@pytest.mark.parametrize(
    ("words", "expected"), [([], 0), (["--device", "cuda"], 1), (["--device", "cpu"], 0)]
)
def test_speech_is_recognized_on_a_gpu_only_if_asked_to(
    run: Run, ray: StubRay, words: list[str], expected: int
) -> None:
    ray.resources = {"CPU": 8, "GPU": 2}
    run("transcribe", "a.mp4", *words, "--ray", "local")
    assert ray.options["num_gpus"] == expected


def test_ray_chooses_among_gpus(run: Run, ray: StubRay) -> None:
    ran = run("shots", "a.mp4", "--device", "cuda:1", "--ray", "local")
    assert (ran.code, "cuda:1" in ran.err) == (2, True)


def test_stdout_has_results_only(run: Run, film: Path, ray: StubRay) -> None:
    ran = run("info", film, "lost.mp4", "--json", "--ray", "local")
    assert ran.code == 1
    assert [line["ok"] for line in ran.json_lines] == [True, False]
    assert "the worker died" in ran.json_lines[1]["errors"][0]["message"]
    assert ran.err.splitlines()[0] == "Ray has begun"
    assert "(raylet)" in ran.err


def test_a_local_cluster_is_for_this_process_alone(ray: StubRay) -> None:
    go_through()
    assert ray.settings["include_dashboard"] is False
    assert not Path(ray.settings["_temp_dir"]).exists()
    first = os.environ["RAY_AUTH_TOKEN"]
    assert os.environ["RAY_AUTH_MODE"] == "token"
    go_through()
    assert len(first) >= 32
    assert os.environ["RAY_AUTH_TOKEN"] != first


def test_a_cluster_that_runs_keeps_its_own_rules(ray: StubRay) -> None:
    go_through(address="auto")
    assert os.environ["RAY_AUTH_TOKEN"] == os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "as it was"
    assert ray.settings["address"] == "auto"


def test_a_ray_that_would_listen_outside_is_not_started(run: Run, ray: StubRay) -> None:
    ray.host = "192.0.2.2"
    ran = run("info", "a.mp4", "--ray", "local")
    assert (ran.code, "would listen on 192.0.2.2" in ran.err, ray.settings) == (2, True, {})


def test_what_installs_ray_is_named_for_this_python(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stub_ray.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "ray", None)  # type: ignore[arg-type]
    ran = run("info", "a.mp4", "--ray", "auto")
    assert (ran.code, "-m pip install 'vidsum[ray]'" in ran.err) == (2, True)


def test_a_cluster_and_jobs_exclude_each_other(run: Run, film: Path) -> None:
    ran = run("shots", film, "--ray", "localhost:1", "--jobs", "2")
    assert (ran.code, "--jobs" in ran.err) == (2, True)
