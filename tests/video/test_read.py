"""Reading: errors, its end and memory."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from tests.media import damage, make_video
from tests.video.conftest import Made
from vidsum.errors import InputError, UsageError
from vidsum.video.frames import Sampling
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc only"
)


def test_strict_is_kept_where_pyav_replaces_opencv(tmp_path: Path) -> None:
    film = make_video(tmp_path / "whole.mkv", n_frames=100)
    path = damage(film.path, tmp_path / "a%b.mkv")  # OpenCV would take it for a series of pictures
    with pytest.raises(InputError):
        list(read_frames(probe(path), [Sampling(2.0)], reader="opencv", strict=True))


@pytest.mark.parametrize("reader", ["pyav", "opencv"])
def test_strict_reader_skips_no_frame(reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film = make_video(tmp_path / "a%b.mkv", n_frames=50)  # which PyAV reads instead of OpenCV
    monkeypatch.setattr("vidsum.video.read.FrameSkipper", None)
    assert len(list(read_frames(probe(film.path), [Sampling(2.0)], reader=reader, strict=True))) == 4


def test_error_of_the_consumer_ends_reading(made: Made) -> None:
    def consume() -> None:
        for _ in read_frames(probe(made("plain").path), [Sampling(None)]):
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        consume()


def test_unknown_reader_is_refused(made: Made) -> None:
    with pytest.raises(UsageError, match="unknown reader 'vlc'") as caught:
        read_frames(probe(made("plain").path), [Sampling(2.0)], reader="vlc")
    assert "pyav" in str(caught.value.hint)


def test_reading_without_samplings_is_refused(made: Made) -> None:
    with pytest.raises(UsageError, match="no sampling"):
        read_frames(probe(made("plain").path), [])


def test_reader_that_is_not_installed_is_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "decord", None)
    monkeypatch.delitem(sys.modules, "vidsum.video.decord_reader", raising=False)
    with pytest.raises(UsageError, match="decord is not installed") as caught:
        read_frames(probe(made("plain").path), [Sampling(2.0)], reader="decord")
    assert "reader='pyav'" in str(caught.value.hint)


def test_file_that_is_gone_is_refused(made: Made, tmp_path: Path) -> None:
    info = replace(probe(made("plain").path), path=str(tmp_path / "gone.mp4"))
    with pytest.raises(InputError, match="no such file"):
        next(read_frames(info, [Sampling(2.0)]))


@pytest.fixture
def own_film(made: Made, tmp_path: Path) -> Path:
    """A film that no other test opens: a reader that failed keeps its file open until it is collected."""
    return Path(shutil.copy(made("plain").path, tmp_path))


@needs_proc
def test_file_is_closed_behind_its_last_frame(own_film: Path) -> None:
    frames = read_frames(probe(own_film), [Sampling(2.0)])
    assert len(list(frames)) == 5
    assert not is_open(own_film)


@needs_proc
def test_file_is_closed_where_its_reader_is_left(own_film: Path) -> None:
    with read_frames(probe(own_film), [Sampling(None)]) as frames:
        next(frames)
        assert is_open(own_film)
    assert not is_open(own_film)


def is_open(path: Path) -> bool:
    return any(link.exists() and link.resolve() == path.resolve() for link in Path("/proc/self/fd").iterdir())


@pytest.mark.deep
def test_memory_does_not_grow_with_the_video(tmp_path: Path) -> None:
    short = make_video(tmp_path / "short.mp4", n_frames=100, width=320, height=240)
    long = make_video(tmp_path / "long.mp4", n_frames=500, width=320, height=240)
    assert peak_megabytes(long.path) < peak_megabytes(short.path) + 40  # all its pictures would take 115 MB


def peak_megabytes(path: Path) -> float:
    """Peak memory of a process that reads every frame of a video, slower than it decodes."""
    program = f"""
        import resource, time
        from vidsum.video.frames import Sampling
        from vidsum.video.probe import probe
        from vidsum.video.read import read_frames
        for number, _ in enumerate(read_frames(probe({str(path)!r}), [Sampling(None)])):
            if number % 100 == 0:
                time.sleep(0.02)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True)
    return float(done.stdout)
