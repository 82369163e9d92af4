"""Tests of the shared folder: skipped by their marker, listed, and refused without it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MARKED = """
import pytest

@pytest.mark.shared
def test_marked(): open("is_run", "w").close()

@pytest.mark.shared
def test_marked_with_fixture(shared): open("is_run", "w").close()

@pytest.mark.parametrize("shared", [True])
def test_argument_of_that_name(shared): assert shared is True
"""

UNMARKED = """
import pytest

@pytest.fixture
def clips(shared): return shared / "videos"

def test_unmarked(clips): pass
"""


def run_tests(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a text with our hooks, and without the shared folder."""
    environment = os.environ | {"VIDSUM_SHARED": str(folder / "missing"), "PYTHONPATH": str(ROOT)}
    (folder / "test_made.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = shared\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", *options, "test_made.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class MarkedRun:
    """The run of `MARKED` in a folder, which lists what it skips in a file."""

    folder: Path
    result: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def marked_run(tmp_path_factory: pytest.TempPathFactory) -> MarkedRun:
    folder = tmp_path_factory.mktemp("marked")
    return MarkedRun(folder, run_tests(folder, MARKED, "--list-skips=skipped"))


@pytest.mark.deep
def test_marked_tests_are_skipped_without_the_shared_folder(marked_run: MarkedRun) -> None:
    assert marked_run.result.returncode == 0, marked_run.result.stdout
    assert "1 passed, 2 skipped" in marked_run.result.stdout
    assert not (marked_run.folder / "is_run").exists()


def test_skipped_tests_are_listed(marked_run: MarkedRun) -> None:
    names = ["test_made.py::test_marked", "test_made.py::test_marked_with_fixture"]
    assert (marked_run.folder / "skipped").read_text().splitlines() == names


def test_unmarked_test_of_the_shared_folder_is_refused(tmp_path: Path) -> None:
    result = run_tests(tmp_path, UNMARKED)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "mark these tests `shared`, they use its fixture: test_made.py::test_unmarked" in result.stderr
