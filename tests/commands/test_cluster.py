"""Batches on a Ray cluster of two nodes, one of which is lost; skipped where Ray is not installed."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import copies
from tests.program import Run
from vidsum.batch.cluster import _finish_next
from vidsum.batch.reply import Reply

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: vidsum[ray]"),
    pytest.mark.weights,
    pytest.mark.filterwarnings("default"),
]
ROOT = Path(__file__).parents[2]
LOCAL = """
import os, sys
import psutil
from vidsum.batch import cluster
from vidsum.commands.app import main

def watched(*arguments):
    finished = really(*arguments)
    process = psutil.Process()
    for member in (process, *process.children(recursive=True)):
        for connection in member.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                print("listens:", connection.laddr.ip, file=sys.stderr)
    os.write(1, b"what C++ prints")
    return finished

really, cluster._finish_next = cluster._finish_next, watched
main()
"""


@pytest.fixture(autouse=True)
def own_home(default_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder of the test's own, with the user's weights; each node finds these and vidsum."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@pytest.fixture
def cluster(own_home: None) -> Iterator[Any]:
    """A head that takes no tasks; each node that is added takes one at a time."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    made.shutdown()


def test_lost_node(run: Run, film: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    films = copies(film, *(f"{number}.mp4" for number in range(6)))
    options = ("--json", "--no-cache")
    item = run("shots", *films, *options, "--output-dir", "out")
    written = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    for path in Path("out").iterdir():
        path.unlink()
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    finished = list[int]()

    def lose_the_node(*arguments: Any) -> tuple[int, Reply]:
        number, result = _finish_next(*arguments)
        finished.append(number)
        if len(finished) == len(nodes):  # what the node does next is under way, or about to be
            cluster.remove_node(nodes[0], allow_graceful=False)
        return number, result

    monkeypatch.setattr("vidsum.batch.cluster._finish_next", lose_the_node)
    many = run("shots", *films, *options, "--output-dir", "out", "--ray", cluster.address)
    assert len(cluster.worker_nodes) == 1
    assert [line for line in many.out.splitlines() if line[:1] != "{"] == []
    lines = many.json_lines
    # the node may have written a result that it could not report: the task's second run finds that one
    assert sum(line["data"].pop("up_to_date", False) for line in lines) <= 1
    assert lines == item.json_lines
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == written


def test_local_cluster_listens_locally(film: Path, tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    user = tmp_path / "user"
    user.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    ran = subprocess.run(
        [sys.executable, "-c", LOCAL, "info", film, "none.mp4", "--json"],
        env=environment
        | {"VIDSUM_INFO_RAY": "local", "HOME": str(user), "VIDSUM_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
    )
    assert [json.loads(line)["exit_code"] for line in ran.stdout.splitlines()] == [0, 3]
    addresses = [line.split()[1] for line in ran.stderr.splitlines() if line.startswith("listens:")]
    assert len(addresses) > 6  # GCS, raylet, object manager, agent, driver, workers
    assert set(addresses) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert list(user.iterdir()) == []


def test_cluster_without_server(run: Run, film: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"  # nobody listens there
        run("shots", film, "--ray", address, code=2, error=f"no Ray cluster at {address}")


@pytest.mark.parametrize("address", ["auto", "ray://far.example:10001", "192.0.2.1:6379", "far.example"])
def test_offline_addresses(run: Run, film: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    monkeypatch.setattr("ray.init", lambda *_, **__: pytest.fail("connects"))
    run("shots", film, "--ray", address, code=2, error=f"{address}: VIDSUM_OFFLINE forbids")
