"""The image-text space that `weights pull best` fetches."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checkpoints.conftest import UseRegistry, child_environ, model
from tests.checkpoints.server import Server
from tests.checkpoints.test_hub import COMMIT, PLACE, WEIGHTS, hub_file
from tests.checkpoints.test_obtain import visible
from tests.program import Run
from vidsum.checkpoints import best, registry
from vidsum.checkpoints.best import Machine, choose_best, describe_cost, fits
from vidsum.checkpoints.registry import RegistryEntry, SpaceFacts
from vidsum.errors import UsageError
from vidsum.results.settings import ClipName

GB = 1_000_000_000
LARGE = Machine(64 * GB, 8, has_gpu=False)
FREE = {"MIT", "Apache-2.0", "BSD-3-Clause"}


def spaces() -> dict[str, RegistryEntry]:
    return {name: entry for name, entry in registry.builtin_entries().items() if entry.space}


@pytest.mark.parametrize(("machine", "name"), [
    (LARGE, "siglip2-b16-256"),
    (replace(LARGE, threads=2), "siglip2-b16-256"),
    (replace(LARGE, threads=1), "clip-b32-256"),  # too slow without a GPU
    (replace(LARGE, threads=1, has_gpu=True), "siglip2-b16-256"),
    (replace(LARGE, memory_bytes=None), "siglip2-b16-256"),
    (replace(LARGE, memory_bytes=4 * GB), "clip-b32-256"),
    (replace(LARGE, memory_bytes=3 * GB), "pe-core-s16-384"),
])  # fmt: skip
def test_the_best_space_of_a_machine(machine: Machine, name: str) -> None:
    assert choose_best(spaces().values(), machine).name == name


def test_a_machine_without_memory_gets_none() -> None:
    with pytest.raises(UsageError, match="no image-text space fits"):
        choose_best(spaces().values(), replace(LARGE, memory_bytes=GB))


def test_spaces_stand_in_the_order_of_their_published_accuracy() -> None:
    names = get_args(ClipName)
    assert spaces().keys() == set(names)
    accuracies = [entry.space.accuracy for name in names if (entry := spaces()[name]).space]
    assert accuracies == sorted(accuracies, reverse=True)


def test_licences_without_terms_are_free() -> None:
    assert {name for name, entry in spaces().items() if entry.licence not in FREE} == {
        name for name, entry in spaces().items() if entry.terms
    }


facts = st.builds(
    SpaceFacts,
    st.floats(1, 99),
    st.just("a test"),
    st.integers(1, 3000),
    st.floats(0.1, 100),
)
entries = st.builds(
    RegistryEntry,
    st.uuids().map(str),
    st.just(""),
    st.just("MIT"),
    st.just(()),
    terms=st.sampled_from([None, "for research only"]),
    space=st.none() | facts,
)
machines = st.builds(Machine, st.none() | st.integers(0, 20 * GB), st.integers(1, 64), has_gpu=st.booleans())


@given(st.lists(entries, max_size=8), machines)
def test_nothing_better_is_free_and_fits(offered: list[RegistryEntry], machine: Machine) -> None:
    allowed = [entry for entry in offered if entry.space and entry.terms is None and fits(entry, machine)]
    if not allowed:
        with pytest.raises(UsageError):
            choose_best(offered, machine)
        return
    chosen = choose_best(offered, machine)
    assert chosen in allowed
    assert all(
        chosen.space.accuracy >= entry.space.accuracy for entry in allowed if chosen.space and entry.space
    )


@given(entries, machines, st.integers(0, 20 * GB), st.integers(0, 64))
def test_a_larger_machine_runs_what_a_smaller_one_runs(
    entry: RegistryEntry, machine: Machine, memory_bytes: int, threads: int
) -> None:
    larger = Machine(
        None if machine.memory_bytes is None else machine.memory_bytes + memory_bytes,
        machine.threads + threads,
        has_gpu=True,
    )
    assert fits(entry, larger) or not fits(entry, machine)


def test_a_container_limits_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(best, "_MEMORY_LIMIT", limit)
    whole = best.this_machine().memory_bytes
    limit.write_text("max\n")
    assert best.this_machine().memory_bytes == whole
    limit.write_text("1000\n")
    assert best.this_machine().memory_bytes == 1000


def toy_space(accuracy: float, name: str = "toy", **fields: Any) -> dict[str, Any]:
    source = {"hub": f"ann/{name}", "revision": COMMIT, "file": "model.safetensors"}
    file = {"name": f"{name}.safetensors", "format": "safetensors", "sha256": "", "sources": [source]}
    space = {"accuracy": accuracy, "accuracy_from": "a test", "megabytes": 1, "cpu_s": 1.5}
    return model(file, space=space, **fields)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch)


@pytest.fixture
def hub(hub_server: Server, use_registry: UseRegistry, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A hub with two spaces; the better one is for research only."""
    use_registry({"toy": toy_space(60), "better": toy_space(70, "better", terms="for research only")})
    monkeypatch.setattr(best, "builtin_entries", registry.builtin_entries)
    monkeypatch.setattr(best, "this_machine", lambda: LARGE)
    hub_server.serve(PLACE, hub_file(WEIGHTS))
    return hub_server


@pytest.mark.filterwarnings("ignore:toy is downloaded")
def test_pull_best_names_its_cost_and_fetches_it(hub: Server, home: Path, run: Run) -> None:
    ran = run("weights", "pull", "best", "best")
    cost = "toy: about 1 MB, MIT, about 1.5 s of one CPU core per minute of video"
    assert cost in ran.err.splitlines()
    assert visible(home) == {"toy/toy.safetensors", "toy/record.json"}
    assert describe_cost(registry.builtin_entries()["toy"]) == cost


@pytest.mark.filterwarnings("ignore:toy is downloaded")
def test_pull_best_stores_no_truncated_download(hub: Server, home: Path, run: Run) -> None:
    hub.serve(PLACE, hub_file(WEIGHTS[:-9]))
    run("weights", "pull", "best", code=4, error="broke off the transfer")
    assert not visible(home)


def test_pull_best_asks_nobody_offline(hub: Server, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    run("weights", "pull", "best", code=4, error="VIDSUM_OFFLINE forbids downloads")
    assert not hub.received


def test_pull_best_needs_its_extra(hub: Server, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.io.packages.find_spec", lambda _: None)
    run("weights", "pull", "best", error="toy needs torch", code=1)
    assert not hub.received


def test_best_is_no_name_of_weights() -> None:
    assert best.BEST_SPACE not in registry.builtin_entries()


def test_pull_best_prints_its_cost_before_a_failed_download(server: Server, home: Path) -> None:
    """The program itself: a hub that has nothing; exit code 4."""
    environ = child_environ() | {"VIDSUM_HOME": str(home), "HF_ENDPOINT": server.url, "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "vidsum", "weights", "pull", "best"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert ran.returncode == 4, ran.stderr
    assert " per minute of video" in ran.stderr.splitlines()[0]
