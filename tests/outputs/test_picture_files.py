"""Clips of results: what a copy without encoding says of its length."""

from pathlib import Path

import pytest

import vidsum
from tests.media import make_video
from vidsum.results.summary import Trim
from vidsum.video.probe import probe


def warnings_of_copy(folder: Path, gop: int, *segments: tuple[float, float]) -> tuple[str, ...]:
    path = make_video(folder / "film.mp4", n_frames=100, gop=gop, b_frames=0).path
    trim = Trim(
        provenance={"vidsum": "0", "video": {}},
        video=probe(path),
        segments=segments,
        removed=(),
        by="loudness",
        threshold_db=-40.0,
        video_duration_s=4.0,
    )
    return tuple(vidsum.write_video(trim, folder / "clip.mp4", copy=True))


@pytest.mark.parametrize(
    "segments", [((1.0, 2.0),), ((0.0, 0.52), (2.0, 3.48)), ((1.01, 2.0),), ((1.0, 1.985),)]
)
def test_a_copy_of_the_same_length_needs_no_note(
    segments: tuple[tuple[float, float], ...], tmp_path: Path
) -> None:
    assert warnings_of_copy(tmp_path, 1, *segments) == ()


def test_a_longer_copy_says_so(tmp_path: Path) -> None:
    (note,) = warnings_of_copy(tmp_path, 25, (1.5, 2.0))
    assert note.endswith("instead of 0:00.50")
