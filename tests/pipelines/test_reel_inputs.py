"""The inputs of a reel: their days by the recorder's clock."""

from pathlib import Path

from tests.commands.test_reel import clip, photograph
from vidsum.pipelines.reel_inputs import describe_order, read_recordings
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
