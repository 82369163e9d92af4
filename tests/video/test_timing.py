"""The rhythm of frames: holes do not slow it, and are counted in frames."""

from pathlib import Path

import av
import numpy as np
import pytest

from tests.media import make_video, read_number
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at
from vidsum.video.timing import _rhythm, read_frame_times, read_jumps


@pytest.mark.parametrize("lengths", [(), (12,), (12, 40)])
def test_holes_are_left_out_and_counted_in_frames(lengths: tuple[int, ...]) -> None:
    starts = 50 * (1 + np.arange(len(lengths)))
    is_lost = np.zeros(200, bool)
    for start, length in zip(starts, lengths, strict=True):
        is_lost[start : start + length] = True
    step_s, is_vfr, n_missing = _rhythm(np.flatnonzero(~is_lost) / 25, 1.0)
    assert (step_s, is_vfr, n_missing) == (pytest.approx(0.04), False, sum(lengths))


def test_gaps_of_every_length_are_a_rate_that_varies() -> None:
    frames_s = np.cumsum(np.random.default_rng(0).uniform(0.02, 0.06, 100))
    step_s, is_vfr, n_missing = _rhythm(frames_s, 1.0)
    assert (step_s, is_vfr, n_missing) == (pytest.approx(np.diff(frames_s).mean()), True, 0)


def test_one_frame_has_the_step_that_is_given() -> None:
    assert _rhythm(np.zeros(1), 0.04) == (0.04, False, 0)


@pytest.mark.parametrize("b_frames", [0, 2])
def test_pictures_without_time_stamps_are_kept(b_frames: int, tmp_path: Path) -> None:
    """As those before 0, which Matroska cannot express: FFmpeg decodes them, without a time."""
    path, early = tmp_path / "early.mkv", {"avoid_negative_ts": "disabled"}
    made = make_video(path, n_frames=150, b_frames=b_frames, gop=30, start_s=-1.0, container_options=early)
    with av.open(str(path)) as container:
        assert [frame.pts for frame in container.decode(video=0)].count(None) == 25
    info = probe(path)
    assert (info.n_frames, info.is_vfr, info.fps) == (150, False, 25)
    assert info.duration_s == pytest.approx(6.0, abs=0.002)
    (warning,) = read_jumps(info).describe("x")
    assert "25 pictures have no time stamps" in warning
    frames = read_frames_at(info, [number / 25 + 0.01 for number in range(150)])
    assert [read_number(frame.image) for frame in frames] == list(range(150))
    assert read_frame_times(info) == pytest.approx(np.array(made.times_s), abs=0.002)
