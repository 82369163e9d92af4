"""Test videos that are made once and shared by the tests that only read them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import av
import pytest

from tests.media import GOOD_VIDEOS, MadeVideo
from vidsum.video.read import READERS

Made = Callable[[str], MadeVideo]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    folder = tmp_path / "written"
    folder.mkdir()
    return folder / "clip.mp4"


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """made(kind) is that kind of `GOOD_VIDEOS`; skips the test where PyAV was built without its encoder."""
    folder = tmp_path_factory.mktemp("made")

    @cache
    def make(kind: str) -> MadeVideo:
        try:
            return GOOD_VIDEOS[kind](folder)
        except av.codec.codec.UnknownCodecError:
            pytest.skip(f"PyAV has no encoder for {kind}")

    return make
