"""A current folder of the test's own, and the program in it."""

from pathlib import Path

import pytest

from tests.program import Run
from vidsum.io.paths import home


@pytest.fixture
def vidsum(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `vidsum ARGUMENTS`."""
    return Run(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A folder to work in, and a cache that is empty, but for weights in tests of real ones."""
    values = tmp_path / "home"
    if request.node.get_closest_marker("weights") is not None:
        values.mkdir()
        for name in ("weights", "onnx"):  # a transcript of the sample in the user's cache would count
            (home() / name).mkdir(parents=True, exist_ok=True)
            (values / name).symlink_to(home() / name)
    monkeypatch.setenv("VIDSUM_HOME", str(values))
    monkeypatch.setattr("vidsum.pipelines.voice_pauses.has_extra", lambda name: False)  # not everywhere
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"
