"""Whether key frames are close enough together to be decoded alone."""

from pathlib import Path

import pytest

from tests.conftest import deep
from tests.media import make_video
from vidsum.video.key_frames import describe_sparse
from vidsum.video.probe import probe

SUFFIXES = [".mp4", ".mkv", ".ts"]
EXACT = {"x264-params": "scenecut=0"}


def film(path: Path, n_frames: int, gop: int, b_frames: int = 0) -> Path:
    """Ten frames a second."""
    return make_video(path, n_frames=n_frames, fps=10, gop=gop, b_frames=b_frames, codec_options=EXACT).path


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("n_frames", "gop"), [(200, 10), (200, 40), (120, 40), (9, 1)])
def test_close_key_frames_are_not_sparse(suffix: str, n_frames: int, gop: int, tmp_path: Path) -> None:
    assert describe_sparse(probe(film(tmp_path / f"film{suffix}", n_frames, gop))) is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_key_frames_count_from_the_first_picture(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"film{suffix}"
    make_video(path, n_frames=200, fps=10, gop=10, start_s=20.0, codec_options=EXACT)
    assert describe_sparse(probe(path)) is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_key_frame_up_to_the_end_is_sparse(suffix: str, tmp_path: Path) -> None:
    times_s = [*(i / 10 for i in range(31)), *(4.0 + i for i in range(9))]
    path = make_video(tmp_path / f"film{suffix}", times_s=times_s, fps=10, gop=10, codec_options=EXACT).path
    assert "no key frame for 9.1 s" in str(describe_sparse(probe(path)))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("b_frames", [2, deep(0)])
@pytest.mark.parametrize(("n_frames", "gop", "reason"), [
    (200, 50, "no key frame for 5.0 s"),
    (300, 250, "2 key frames"),
    (300, 999, "1 key frame:"),
    (60, 30, "2 key frames"),
])  # fmt: skip
def test_few_or_distant_key_frames_are_sparse(
    suffix: str, b_frames: int, n_frames: int, gop: int, reason: str, tmp_path: Path
) -> None:
    assert reason in str(describe_sparse(probe(film(tmp_path / f"film{suffix}", n_frames, gop, b_frames))))


def test_key_frames_without_times_are_sparse(tmp_path: Path) -> None:
    assert "does not say when" in str(describe_sparse(probe(film(tmp_path / "film.h264", 60, 10))))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_long_row_without_key_frames_is_sparse(suffix: str, tmp_path: Path) -> None:
    times_s = [i / 10 for i in range(100)] + [16 + i / 10 for i in range(100)]
    path = make_video(tmp_path / f"film{suffix}", times_s=times_s, fps=10, gop=10, codec_options=EXACT).path
    assert "no key frame for 7.0 s" in str(describe_sparse(probe(path)))
