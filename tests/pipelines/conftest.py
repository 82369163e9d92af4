"""Fixtures for the tests of pipelines."""

from pathlib import Path
from typing import Any

import pytest

from tests import media
from vidsum.pipelines import decoding


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of frames that show their numbers."""
    return media.make_video(tmp_path_factory.mktemp("film") / "film.mp4", n_frames=100).path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lists, for each decode pass, how many samplings it served."""
    counts: list[int] = []
    read_frames = decoding.read_frames

    def counted(path: str, samplings: list[Any], **options: Any) -> Any:
        counts.append(len(samplings))
        return read_frames(path, samplings, **options)

    monkeypatch.setattr(decoding, "read_frames", counted)
    return counts
