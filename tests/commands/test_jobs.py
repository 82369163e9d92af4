"""Batches in several processes: the same as in one, whatever happens to one of them."""

import errno
import io
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.commands import dying, odd_worker
from tests.commands.conftest import csv_rows
from tests.conftest import deep
from tests.program import Run, heed_interruptions
from vidsum.archive.archive import Archive
from vidsum.batch import workers
from vidsum.batch.inputs import BatchInput, plain_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.workers import Work, Worker, in_workers
from vidsum.outputs.artifacts import Artifacts

ROOT = Path(__file__).parents[2]
ODD_PARENT = """
from tests.commands import odd_worker
from vidsum.batch import workers
from vidsum.commands.app import main
workers._prepare = odd_worker.prepare
main()
"""
UNIFORM = ("--shots", "uniform", "--output-dir", "out")
pytestmark = [pytest.mark.weights, pytest.mark.skipif(os.name != "posix", reason="signals are sent")]


@pytest.fixture(autouse=True)
def own_home(default_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder of the test's own, with the user's weights and cache."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def make_films(film: Path, *names: str) -> list[Path]:
    """Copies of the film under these names; of `bad` ones only the beginning."""
    for name in names:
        Path(name).write_bytes(film.read_bytes()[: 500 if "bad" in name else None])
    return [Path(name) for name in names]


def test_jobs_match_one_process(run: Run, film: Path) -> None:
    films = make_films(film, "c.mp4", "bad.mp4", "a.mp4", "b.mp4")
    one = run("shots", *films, *UNIFORM, "--json", "--no-cache", "--table", "one.csv", code=1)
    written = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    again = ("--no-cache", "--jobs", "2", "--overwrite", "--table", "two.csv")
    two = run("shots", *films, *UNIFORM, "--json", *again, code=1)
    assert Path("two.csv").read_bytes() == Path("one.csv").read_bytes()
    assert two.out == one.out
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == written
    assert [line["exit_code"] for line in two.json_lines] == [0, 3, 0, 0]


@pytest.mark.deep
def test_jobs_end_at_the_first_failure_with_fail_fast(run: Run, film: Path) -> None:
    films = make_films(film, "a.mp4", "bad.mp4", "b.mp4")
    ran = run("shots", *films, *UNIFORM, "--json", "--jobs", "2", "--fail-fast", code=1)
    assert [line["exit_code"] for line in ran.json_lines] == [0, 3]


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process can be started."""

    def fail(process: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(SpawnProcess, "start", fail)


@pytest.mark.usefixtures("no_processes")
def test_inputs_fail_if_no_worker_can_be_started(run: Run, film: Path) -> None:
    ran = run("info", *make_films(film, "a.mp4", "b.mp4"), "--json", "--jobs", "2", code=1)
    faults = [line["errors"][0]["message"] for line in ran.json_lines]
    assert faults == [f"{name}: no worker process can be started" for name in ("a.mp4", "b.mp4")]


@pytest.mark.usefixtures("no_processes")
def test_a_single_job_needs_no_worker(run: Run, film: Path) -> None:
    run("info", *make_films(film, "a.mp4", "b.mp4"), "--json", "--jobs", "1")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """Pickled messages to workers: the work, and a task."""
    messages: list[tuple[bytes, bytes]] = []

    def send(self: Worker, work: Work[Reply], item: BatchInput, **more: Any) -> "Future[Reply]":
        messages.append((pickle.dumps(work), pickle.dumps(item)))
        return really_send(self, work, item, **more)

    really_send = Worker.start
    monkeypatch.setattr(Worker, "start", send)
    return messages


@pytest.mark.deep
def test_workers_are_sent_the_same_work_and_one_input(
    run: Run, film: Path, sent: list[tuple[bytes, bytes]]
) -> None:
    Path("films").mkdir()
    make_films(film, *(f"films/film{number}.mp4" for number in range(4)), "other.mp4")
    Path("list").write_text("other.mp4\n")
    options = ("-o", "out/{n}.json", "--shots", "uniform", "--no-cache")
    ran = run("shots", "films", "--from-file", "list", *options, "--json", "--jobs", "2")
    outputs = [line["data"]["outputs"]["json"] for line in ran.json_lines]
    assert outputs == [f"out/{number}.json" for number in range(1, 6)]
    assert len({work for work, _ in sent}) == 1
    assert [work.count(b".mp4") + task.count(b".mp4") for work, task in sent] == [1] * 5


@pytest.mark.deep
@pytest.mark.usefixtures("sent")
def test_results_of_workers_name_the_config_file(run: Run, film: Path) -> None:
    Path("config.yaml").write_text("shots:\n  shots: uniform\n")
    films = make_films(film, "a.mp4", "b.mp4")
    lines = run("info", *films, "--config", "config.yaml", "--jobs", "2", "--json").json_lines
    assert [line["data"]["config"] for line in lines] == ["config.yaml"] * 2


@pytest.mark.deep
def test_sent_work_needs_no_config_file(run: Run, film: Path, sent: list[tuple[bytes, bytes]]) -> None:
    Path("config.yaml").write_text("shots:\n  shots: uniform\n")
    films = make_films(film, "a.mp4", "b.mp4")
    run("shots", *films, "--config", "config.yaml", "--jobs", "2", "--output-dir", "out")
    Path("config.yaml").unlink()
    work = pickle.loads(sent[-1][0])
    artifacts = Artifacts(Path("c.json"), {"json": Path("c.json")})
    result = work(BatchInput("a.mp4", artifacts=artifacts), None)
    assert (result.exit_code, result.data["outputs"]["json"], result.data["method"]) == (
        0,
        "c.json",
        "uniform",
    )


@pytest.mark.deep
def test_queries_on_stdin(run: Run, sent: list[tuple[bytes, bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a man chops wood\n")))
    ran = run("ground", "none.mp4", "no.mp4", "--queries", "-", "--json", "--jobs", "2", code=1)
    assert ["no such file" in line["errors"][0]["message"] for line in ran.json_lines] == [True, True]
    assert all(b"a man chops wood" in work for work, _ in sent)


def test_jobs_killed_worker(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_prepare", odd_worker.prepare)
    films = make_films(film, "a.mp4", "deadly.mp4", "b.mp4", "deadly2.mp4", "c.mp4")
    ran = run("info", *films, "--json", "--jobs", "2", code=1)
    lines = ran.json_lines
    assert [line["exit_code"] for line in lines] == [0, 1, 0, 1, 0]
    assert all("SIGKILL" in line["errors"][0]["message"] for line in lines if not line["ok"])


@pytest.mark.deep
@pytest.mark.parametrize(("size", "jobs"), [(8, 1), (8, 2), (40, 1), (40, 2)])
def test_files_that_kill_their_reader(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, size: int, jobs: int
) -> None:
    monkeypatch.setattr(workers, "_prepare", odd_worker.prepare)
    deadly = (1, size // 2, size - 1)
    names = [f"{'deadly' if number in deadly else 'film'}{number}.mp4" for number in range(size)]
    films = make_films(film, *names)
    ran = run("shots", *films, *UNIFORM, "--json", "--no-cache", "--jobs", jobs, code=1)
    assert [line["input"] for line in ran.json_lines] == names
    failed = [line for line in ran.json_lines if not line["ok"]]
    messages = [line["errors"][0]["message"] for line in failed]
    end = "its worker process was killed by SIGKILL, twice"
    assert messages == [f"deadly{number}.mp4: {end}" for number in deadly]
    assert {line["exit_code"] for line in failed} == {1}
    assert len(list(Path("out").iterdir())) == size - len(deadly)
    read = Counter(Path("read").read_text().split())
    assert {name for name in names if read[name] != 1} == {line["input"] for line in failed}
    assert {read[line["input"]] for line in failed} == {2}


_SIX = ("a.mp4", "deadly.mp4", "b.mp4", "c.mp4", "deadly2.mp4", "d.mp4")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("names", "jobs"), [(("a.mp4", "deadly.mp4", "b.mp4"), 2), deep(_SIX, 1), deep(_SIX, 2)]
)
def test_index_outlives_its_readers(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], jobs: int
) -> None:
    monkeypatch.setattr(workers, "_prepare", odd_worker.prepare)
    films = make_films(film, *names)
    ran = run("index", *films, "--archive", "a.vidsum", "--json", "--jobs", jobs, code=1)
    deadly = [name for name in names if "deadly" in name]
    assert [line["exit_code"] for line in ran.json_lines] == [int(name in deadly) for name in names]
    faults = [line["errors"][0]["message"].split(":")[0] for line in ran.json_lines if not line["ok"]]
    assert faults == deadly
    assert len(Archive("a.vidsum").videos()) == len(names) - len(deadly)


@pytest.mark.deep
def test_index_outlives_the_reader_of_a_single_file(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_prepare", odd_worker.prepare)
    (deadly,) = make_films(film, "deadly.mp4")
    error = "error: deadly.mp4: its worker process was killed by SIGKILL, twice\n  try: "
    run("index", deadly, "--archive", "a.vidsum", code=1, error=error)


@pytest.mark.deep
@pytest.mark.parametrize("command", [("shots", *UNIFORM), deep(("index", "--archive", "a.vidsum"))])
def test_a_worker_that_dies_once_costs_nothing(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(workers, "_prepare", odd_worker.prepare)
    films = make_films(film, "a.mp4", "mortal.mp4", "b.mp4")
    ran = run(*command, *films, "--json", "--jobs", "2")
    assert [line["exit_code"] for line in ran.json_lines] == [0, 0, 0]
    assert {line["data"].get("change") for line in ran.json_lines} <= {None, "added"}


@pytest.mark.deep
@pytest.mark.parametrize("jobs", [deep(1), 2, deep(3)])
@pytest.mark.parametrize(("size", "seed"), [(10, 51), deep(25, 0), deep(25, 1), deep(25, 2)])
def test_results_are_neither_lost_nor_made_twice(jobs: int, size: int, seed: int) -> None:
    kinds = random.Random(seed).choices(
        ["fine", "mortal", "deadly", "segfault", "leaving"], [9, 2, 1, 1, 1], k=size
    )
    inputs = plain_inputs([f"{kind}{number}" for number, kind in enumerate(kinds)])
    finished, steps = Counter[str](), Counter[str]()

    def count(item: BatchInput, result: str) -> None:
        finished[result] += 1

    def progress_of(item: BatchInput) -> Callable[[str, float, float], None]:
        return lambda step, done, total: steps.update([f"{item.path} {step}"])

    def fail(item: BatchInput, error: Exception) -> str:
        return f"failed {item.path}"

    results = list(in_workers(dying.work, inputs, progress_of, count, fail, jobs))
    fine = ("fine", "mortal")
    expected = [f"{'done' if item.path.startswith(fine) else 'failed'} {item.path}" for item in inputs]
    assert results == expected
    assert finished == Counter(expected)
    worked = Counter(Path("worked").read_text().split())
    assert worked == {item.path: 1 + (not item.path.startswith("fine")) for item in inputs}
    assert set(steps) <= {f"{item.path} step {item.path}" for item in inputs}


@pytest.mark.parametrize("is_second", [True, False], ids=["second try", "first try"])
def test_input_runs_alone_in_its_second_try(is_second: bool) -> None:
    """The first died, perhaps for lack of memory."""
    first, second = plain_inputs(["1.mp4", "2.mp4"])
    future: Future[None] = Future()
    future.set_result(None)
    begun: list[BatchInput] = []
    batch = SimpleNamespace(
        _retried={first.number} if is_second else set(),
        _running={future: (first, None)},
        _again=deque(),
        _waiting=deque([second]),
        _free=[None],
        _start=lambda item: (begun.append(item), batch._free.pop()),
        _collect=lambda future: None,
    )
    workers._Workers.advance(batch)  # type: ignore[arg-type]
    assert begun == ([] if is_second else [second])


def test_a_worker_that_dies_between_two_tasks_costs_nothing() -> None:
    def kill_children(item: BatchInput, result: str) -> None:
        for process in multiprocessing.active_children():
            process.kill()
            connection.wait([process.sentinel])
        time.sleep(0.5)  # the executor notices it

    inputs = plain_inputs([f"fine{number}" for number in range(4)])
    fail: Any = None
    results = in_workers(dying.work, inputs, lambda _: None, kill_children, fail, 1)
    assert list(results) == [f"done fine{number}" for number in range(4)]


@pytest.mark.deep
def test_a_batch_reads_what_is_open_in_this_process(film: Path) -> None:
    (other,) = make_films(film, "b.mp4")
    command = [sys.executable, "-m", "vidsum", "shots", "/dev/stdin", other, *UNIFORM, "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with film.open("rb") as stdin:
        done = subprocess.run(command, stdin=stdin, env=environment, stdout=subprocess.PIPE, check=False)
    assert [json.loads(line)["exit_code"] for line in done.stdout.splitlines()] == [0, 0]


@pytest.mark.deep
def test_jobs_stopped_batch_summary(film: Path) -> None:
    films = make_films(film, "slow.mp4", "b.mp4", "slow2.mp4")
    command = [sys.executable, "-c", ODD_PARENT, "shots", *films, *UNIFORM, "--jobs", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "VIDSUM_SHOTS_TABLE": "batch.csv"}
    with subprocess.Popen(command, env=environment, preexec_fn=heed_interruptions) as process:
        _wait_until(lambda: len(list(Path("out").glob(".*slow2*part*"))) == 1)  # b.mp4 is done
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
    states = [line.split(",")[1] for line in Path("batch.csv").read_text().splitlines()]
    assert states == ["state", "not run", "done", "not run"]
    assert [path.name for path in Path("out").iterdir()] == ["b_shots.json"]


@pytest.fixture
def held(film: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A batch in two workers, one of which is held while it writes."""
    films = make_films(film, "a.mp4", "slow.mp4", "b.mp4")
    words = ["shots", *films, *UNIFORM, "--jobs", "2", "--table", "table.csv"]
    command = [sys.executable, "-c", ODD_PARENT, *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    options: Any = {"start_new_session": True, "preexec_fn": heed_interruptions}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **options) as process:
        _wait_until(lambda: Path("held").exists() and Path("held").read_text() != "")
        assert list(Path("out").glob(".*part*"))
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("number", "code", "to_all"),
    [deep(signal.SIGINT, 130, True), (signal.SIGTERM, 143, False), deep(signal.SIGHUP, 129, True)],
)
def test_jobs_interrupted(
    held: "subprocess.Popen[bytes]", number: signal.Signals, code: int, to_all: bool
) -> None:
    worker = int(Path("held").read_text())
    (os.killpg if to_all else os.kill)(held.pid, number)  # as a terminal does
    _, message = held.communicate(timeout=300)
    assert held.returncode == code
    last = message.decode().splitlines()[-1]  # lines of progress come before it where the machine is slow
    assert last in ("interrupted", "stopped")
    assert "resource_tracker" not in message.decode()
    assert "not run" in [row["state"] for row in csv_rows("table.csv")]
    assert not _is_running(worker)
    assert {path.name for path in Path("out").iterdir()} <= {"a_shots.json", "b_shots.json"}


@pytest.mark.deep
def test_jobs_end_with_parent(held: "subprocess.Popen[bytes]") -> None:
    worker = int(Path("held").read_text())
    held.kill()
    _wait_until(lambda: not _is_running(worker))
    assert not list(Path("out").glob(".*part*"))


@pytest.mark.deep
def test_workers_share_the_threads(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    shares = []

    def start(n_threads: int, writer: Any) -> Worker:
        shares.append(n_threads)
        return Worker(n_threads, writer)

    monkeypatch.setattr(workers, "Worker", start)
    films = make_films(film, *(f"{letter}.mp4" for letter in "abcd"))
    ran = run("info", *films, "--json", "--jobs", "4")
    assert [line["input"] for line in ran.json_lines] == [str(path) for path in films]
    assert set(shares) == {1}


def test_jobs_unpicklable_work() -> None:
    fail: Any = None
    inputs = plain_inputs(["a.mp4"])
    results = in_workers(lambda *_: Reply(), inputs, lambda _: None, lambda *_: None, fail, 2)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        next(results)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "State:\tZ" in status.read_text())


def _wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(3000):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to this in five minutes")
