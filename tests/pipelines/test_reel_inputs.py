"""The inputs of a reel: their days by the recorder's clock, and the rate of the film."""

import os
from pathlib import Path

import pytest

from tests.commands.test_reel import clip, photograph
from tests.media import video_info
from vidsum.pipelines.reel_inputs import Recording, choose_canvas, describe_order, read_recordings
from vidsum.summary.settings import ReelSettings


def test_a_clip_in_utc_has_the_clock_of_the_nearest_input(tmp_path: Path) -> None:
    paths = [
        photograph(tmp_path / "a.jpg", "red", "2024:07:04 00:25:00", "+02:00"),
        clip(tmp_path / "b.mp4", "blue", "2024-07-03T22:30:00Z", seconds=1),
        photograph(tmp_path / "c.jpg", "red", "2024:07:04 00:35:00", "+02:00"),
        clip(tmp_path / "d.mp4", "blue", "2024-07-20T22:30:00Z", seconds=1),
        photograph(tmp_path / "e.jpg", "red", "2024:07:20 22:30:00"),
    ]
    recordings, _ = read_recordings([*map(str, paths)], None)
    assert [part.day[-2:] for part in recordings] == ["04", "04", "04", "20", "20"]
    assert describe_order(recordings, ReelSettings(titles=True)) == []


def test_days_without_any_clock_are_in_utc(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.mp4", "blue", "2024-07-03T22:30:00Z", seconds=1)
    recordings, _ = read_recordings([str(path)], None)
    assert recordings[0].day == "2024-07-03"
    assert describe_order(recordings, ReelSettings(titles=True)) == [
        "no time zone in a.mp4: the day is in UTC"
    ]
    assert describe_order(recordings, ReelSettings()) == []


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([20.0], 20.0),
        ([5.0], 5.0),
        ([12.5], 12.5),
        ([120.0], 60.0),
        ([30.0, 25.0, 24.0, 20.0], 30.0),
        ([25.0, 25.0, 50.0], 25.0),
        ([29.97003], 29.97003),
    ],
)
def test_the_film_has_the_commonest_rate(rates: list[float], expected: float) -> None:
    clips = [Recording("a.mp4", video_info("a.mp4", fps=fps), {}, None) for fps in rates]
    assert choose_canvas(clips).fps == pytest.approx(expected)


def test_a_rate_that_varies_is_a_common_one() -> None:
    assert (
        choose_canvas([Recording("a.mp4", video_info("a.mp4", fps=29.83, is_vfr=True), {}, None)]).fps == 30
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["a.mp4", "a.jpg"])
def test_a_pipe_is_left_out_and_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / name)
    recordings, (left_out,) = read_recordings([str(path)], None)
    assert not recordings
    assert left_out.fault == "is a pipe or device; only files can be read"
