"""Tests of the shared folder: skipped by their marker, listed, and refused without it."""

import subprocess
import sys
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


def run_tests(
    folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run the tests of a text with our hooks, and without the shared folder."""
    monkeypatch.setenv("VIDSUM_SHARED", str(folder / "missing"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (folder / "test_made.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = shared\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", *options, "test_made.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_marked_tests_are_skipped_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_tests(tmp_path, MARKED, monkeypatch, "--list-skips=skipped")
    assert (result.returncode, "1 passed, 2 skipped" in result.stdout) == (0, True), result.stdout
    names = ["test_made.py::test_marked", "test_made.py::test_marked_with_fixture"]
    assert (tmp_path / "skipped").read_text().splitlines() == names
    assert not (tmp_path / "is_run").exists()


def test_unmarked_test_of_the_shared_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_tests(tmp_path, UNMARKED, monkeypatch)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "mark these tests `shared`, they use its fixture: test_made.py::test_unmarked" in result.stderr
