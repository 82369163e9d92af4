"""Reels: the titles of days."""

from vidsum.results.reel import ReelSegment, ReelSource, title_days


def test_a_day_is_not_titled_again_for_another_time_zone() -> None:
    """A clip in UTC lies between photographs of the next day on the camera's clock."""
    days = (
        "2024-07-13T20:00:00+00:00",
        "2024-07-14T00:10:00+02:00",
        "2024-07-13T22:30:00+00:00",
        None,
        "2024-07-14T01:00:00+02:00",
    )
    sources = [ReelSource(f"{number}.mp4", "video", 9, "0" * 64, day, 8.0) for number, day in enumerate(days)]
    segments = [ReelSegment(number, 0.0, 2.0, "time", 0.5) for number in range(len(days))]
    titles = [segment.title for segment in title_days(segments, sources)]
    assert titles == ["13 July 2024", "14 July 2024", "", "", ""]
