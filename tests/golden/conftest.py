"""A current folder of the test's own, and the program in it."""

from pathlib import Path

import pytest

from tests.golden.stored import Program
from tests.lab.training.conftest import one_thread as one_thread


@pytest.fixture
def vidsum(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    """Run `vidsum ARGUMENTS`."""
    return Program(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A folder to work in, and a cache that is empty, but for tests of real weights."""
    if request.node.get_closest_marker("weights") is None:
        monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"
