"""Several processes that ask for moments of one film add their queries to one file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLOURS = ("blue", "green", "red")


def ask(film: Path, *words: str, home: Path | None = None) -> "subprocess.Popen[bytes]":
    """Start a process that asks for a colour, perhaps with a folder of its own for weights and cache."""
    command = [sys.executable, "-m", "tests.commands.coloured", "ground", film, "--device", "cpu", "-k", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | ({"VIDSUM_HOME": str(home)} if home else {})
    return subprocess.Popen([*command, *words], env=environment, stderr=subprocess.PIPE)


@pytest.mark.deep
def test_no_query_of_parallel_runs_is_lost(film: Path) -> None:
    processes = [ask(film, "--query", colour, "--clips") for colour in COLOURS]
    errors = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(COLOURS), errors
    document = json.loads(Path("film_moments.json").read_text())
    assert [query["query"] for query in document["queries"]] == sorted(COLOURS)
    clips = {path.name for path in Path().glob("*.mp4")}
    assert {name.partition("_")[0] for name in clips} == set(COLOURS)
    assert clips == set(document["outputs"])


@pytest.mark.deep
def test_no_query_is_lost_where_each_run_has_a_home(film: Path, tmp_path: Path) -> None:
    processes = [ask(film, "--query", colour, home=tmp_path / colour) for colour in COLOURS[:2]]
    errors = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    document = json.loads(Path("film_moments.json").read_text())
    assert [query["query"] for query in document["queries"]] == sorted(COLOURS[:2])
    assert not list(Path().glob(".*"))
