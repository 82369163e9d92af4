"""Reels: the titles of days, and documents that no film can be made of."""

import json
from dataclasses import replace
from typing import Any

import pytest

from vidsum.results.load import find_fault
from vidsum.results.reel import Canvas, Reel, ReelSegment, ReelSource, title_days
from vidsum.results.result import to_text


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


def document(**changes: Any) -> dict[str, Any]:
    """Return the document of a reel of a clip of 8 s and a photograph; `changes` are of its first segment."""
    sources = (
        ReelSource("a.mp4", "video", 9, "0" * 64, None, 8.0),
        ReelSource("b.jpg", "photograph", 9, "1" * 64, None, 0.0),
    )
    segments = (
        replace(ReelSegment(0, 0.0, 8.0, "time", 0.5), **changes),
        ReelSegment(1, 0.0, 60.0, "time", 0.5),
    )
    made = Reel(
        segments,
        sources,
        Canvas(160, 90, 25.0),
        68.0,
        68.0,
        provenance={"vidsum": "0", "reel": {}, "inputs": [{"bytes": 9, "sha256": "0" * 64}]},
    )
    return dict(json.loads(to_text(made.to_dict())))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, None),
        ({"end_s": 8.01}, "its source"),
        ({"end_s": 1e8}, "its source"),
        ({"source": 1, "end_s": 61.0}, "its source"),
        ({"source": 2}, "no source 2"),
        ({"title": "a" * 100}, None),
        ({"title": "a" * 101}, "title"),
        ({"title": "14 July\n2024"}, "not one line"),
    ],
)
def test_segments_that_no_film_shows(changes: dict[str, Any], fault: str | None) -> None:
    words = find_fault(document(**changes))
    assert (words is None) if fault is None else (fault in (words or ""))


@pytest.mark.parametrize(
    ("name", "value"), [("fps", 1e-6), ("fps", 1e6), ("width", 100_000), ("height", 100_000), ("width", 3)]
)
def test_canvases_that_no_film_has(name: str, value: float) -> None:
    made = document()
    made["canvas"][name] = value
    assert f"canvas.{name}" in (find_fault(made) or "")
