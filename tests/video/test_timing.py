"""Rates and lengths: of files with holes, long gaps, lost ends and frames without time stamps."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest

from tests.conftest import deep
from tests.media import MadeVideo, cut_short, make_video, read_number
from vidsum.video import timing as timing_module
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at
from vidsum.video.timing import _rhythm, read_frame_times, read_jumps


@pytest.mark.parametrize(
    ("format", "head_bytes", "is_unlikely"),
    [("mpegts", 1_000, False), ("mpegts", 100_000, True), ("mpegts", 10, True), ("mov", 100_000, False)],
)
def test_transport_stream_whose_head_is_of_another_byte_rate_has_an_unlikely_length(
    format: str, head_bytes: int, is_unlikely: bool
) -> None:
    head: Any = SimpleNamespace(n_bytes=head_bytes, end_s=1.0, frames_s=np.zeros(1))
    container: Any = SimpleNamespace(
        format=SimpleNamespace(name=format), duration=10 * av.time_base, size=10_000
    )
    assert timing_module._is_rate_unlikely(head, container) == is_unlikely


@pytest.mark.parametrize("suffix", [".mkv", deep(".ts")])
def test_large_file_is_measured_by_its_ends(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = make_video(tmp_path / f"long{suffix}", n_frames=750, gop=25, sound=True)
    monkeypatch.setattr(timing_module, "_WHOLE_SCAN_BYTES", 0)
    monkeypatch.setattr(timing_module, "_HEAD_SCAN_BYTES", video.path.stat().st_size // 4)
    info = probe(video.path)
    assert (info.n_frames, info.is_vfr) == (750, False)
    assert info.duration_s == pytest.approx(30.0, abs=0.001)


@pytest.mark.parametrize("lengths", [(), (12,), (12, 40)])
def test_lost_frames_leave_a_constant_rate(lengths: tuple[int, ...]) -> None:
    starts = 50 * (1 + np.arange(len(lengths)))
    is_lost = np.zeros(200, bool)
    for start, length in zip(starts, lengths, strict=True):
        is_lost[start : start + length] = True
    step_s, is_vfr, n_missing = _rhythm(np.flatnonzero(~is_lost) / 25, 1.0)
    assert (step_s, is_vfr, n_missing) == (pytest.approx(0.04), False, sum(lengths))


def test_varying_rate_is_the_mean_and_misses_nothing() -> None:
    frames_s = np.cumsum(np.random.default_rng(0).uniform(0.02, 0.06, 100))
    step_s, is_vfr, n_missing = _rhythm(frames_s, 1.0)
    assert (step_s, is_vfr, n_missing) == (pytest.approx(np.diff(frames_s).mean()), True, 0)


def test_frames_missing_around_a_hole_are_damage_too() -> None:
    lost = [100, 102, *range(104, 160), 161]
    step_s, is_vfr, n_missing = _rhythm(np.delete(np.arange(720), lost) / 25, 1.0)
    assert (step_s, is_vfr, n_missing) == (pytest.approx(0.04), False, len(lost))
    far = np.delete(np.arange(720), [50, *range(104, 160)]) / 25
    assert _rhythm(far, 1.0)[1]  # a single frame left out elsewhere is a varying rate


def test_one_frame_has_the_declared_rate() -> None:
    assert _rhythm(np.zeros(1), 0.04) == (0.04, False, 0)


def test_cut_mp4_of_a_varying_rate_is_as_long_as_its_index_says(tmp_path: Path) -> None:
    times_s = [*np.arange(200) / 10, *(20 + np.arange(200) / 5)]  # a varying rate
    path = make_video(
        tmp_path / "film.mp4",
        times_s=times_s,
        fps=10,
        b_frames=2,
        container_options={"movflags": "faststart"},
    ).path
    whole = probe(path)
    info = probe(cut_short(path, tmp_path / "cut.mp4", keep=2 / 3))
    assert (info.n_frames, info.is_vfr) == (whole.n_frames, True)
    assert info.duration_s == pytest.approx(whole.duration_s, abs=0.2)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
@pytest.mark.parametrize("b_frames", [0, 2])
@pytest.mark.parametrize("n_last", [1, 3, 20])
def test_length_ends_behind_the_last_frames_after_a_long_gap(
    suffix: str, b_frames: int, n_last: int, tmp_path: Path
) -> None:
    """The header of an MP4 has times of decoding, which end before these frames are shown."""
    times_s = [*np.arange(20) / 10, *(10 + np.arange(20) / 10), *(30 + np.arange(n_last) / 10)]
    path = make_video(tmp_path / f"film{suffix}", times_s=times_s, fps=10, b_frames=b_frames).path
    assert probe(path).duration_s == pytest.approx(times_s[-1] + 0.1, abs=0.002)


@pytest.fixture(scope="module", params=[0, 2], ids=["no B-frames", "B-frames"])
def early(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MadeVideo:
    """Six seconds from -1 s on, which Matroska cannot express: FFmpeg decodes 25 frames without a time."""
    path = tmp_path_factory.mktemp("early") / "early.mkv"
    options = {"avoid_negative_ts": "disabled"}
    made = make_video(
        path, n_frames=150, b_frames=request.param, gop=30, start_s=-1.0, container_options=options
    )
    with av.open(str(path)) as container:
        assert [frame.pts for frame in container.decode(video=0)].count(None) == 25
    return made


def test_frames_without_time_stamps_count(early: MadeVideo) -> None:
    info = probe(early.path)
    assert (info.n_frames, info.is_vfr, info.fps) == (150, False, 25)
    assert info.duration_s == pytest.approx(6.0, abs=0.002)


def test_frames_without_time_stamps_warn(early: MadeVideo) -> None:
    (warning,) = read_jumps(probe(early.path)).describe()
    assert "25 pictures have no time stamps" in warning


def test_frames_without_time_stamps_are_read_by_time(early: MadeVideo) -> None:
    frames = read_frames_at(probe(early.path), [number / 25 + 0.01 for number in range(150)])
    assert [read_number(frame.image) for frame in frames] == list(range(150))


def test_frames_without_time_stamps_get_their_times(early: MadeVideo) -> None:
    assert read_frame_times(probe(early.path)) == pytest.approx(np.array(early.times_s), abs=0.002)
