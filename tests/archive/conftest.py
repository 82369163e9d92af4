"""Archives in the space of colours, each in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.made import use_archive
from vidsum.archive.archive import Archive


@pytest.fixture
def colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No real network is loaded, and the cache is the test's own."""
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    use_archive(monkeypatch)


@pytest.fixture
def archive(tmp_path: Path, colours: None) -> Iterator[Archive]:
    """An empty one."""
    with Archive(tmp_path / "a.vidsum") as opened:
        yield opened
