"""Test videos that are made once and shared by the tests that only read them."""

import gc
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import av
import pytest

from tests.conftest import deep_but
from tests.media import GOOD_VIDEOS, MadeVideo, make_video
from vidsum.video.read import READERS

Made = Callable[[str], MadeVideo]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    folder = tmp_path / "written"
    folder.mkdir()
    return folder / "clip.mp4"


@pytest.fixture(params=deep_but(["pyav"], READERS))
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


@pytest.fixture(scope="session")
def live_film(tmp_path_factory: pytest.TempPathFactory) -> MadeVideo:
    """Seven seconds of MPEG-TS with sound; its time stamps do not begin at 0, every fifth frame is a key."""
    options = {"x264-params": "keyint=5:min-keyint=5:scenecut=0:bframes=0"}
    path = tmp_path_factory.mktemp("live") / "film.ts"
    return make_video(path, n_frames=70, fps=10, gop=5, start_s=3.0, sound=True, codec_options=options)


def reading_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "vidsum reader"]


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    yield
    for thread in reading_threads():  # of a reader that is closed, or was collected just now
        thread.join(timeout=0.5)
    if reading_threads():  # of a reader that is forgotten, but not yet collected
        gc.collect()
    for thread in reading_threads():
        thread.join(timeout=10)
    assert not reading_threads()
