"""Documents that somebody edited, and those that vidsum wrote."""

import re
from copy import deepcopy
from typing import Any

import pytest

from tests.fuzz.good import film_and_results
from vidsum.results.load import find_fault

SUMMARY, MOMENTS, HIGHLIGHTS, SHOTS = range(4)


def edited(kind: int, place: str, value: Any) -> dict[str, Any]:
    """A document with another value at a place such as `shots.0.end_s`."""
    copy = deepcopy(film_and_results()[1][kind])
    *above, name = (int(step) if step.isdecimal() else step for step in place.split("."))
    holder: Any = copy
    for step in above:
        holder = holder[step]
    holder[name] = value
    return copy


@pytest.mark.parametrize("kind", [SUMMARY, MOMENTS, HIGHLIGHTS, SHOTS])
def test_document_of_vidsum_has_no_fault(kind: int) -> None:
    assert find_fault(film_and_results()[1][kind]) is None


@pytest.mark.parametrize("kind", [SUMMARY, MOMENTS, HIGHLIGHTS, SHOTS])
def test_document_without_a_video_has_no_fault(kind: int) -> None:
    assert find_fault({**film_and_results()[1][kind], "video": None}) is None


@pytest.mark.parametrize(
    ("kind", "place", "value", "fault"),
    [
        (SUMMARY, "schema", "vidsum.nothing/1", "no schema"),
        (SUMMARY, "segments.1.end_s", 7.0, r"segments\[1\]: ends at 7 s, but begins at 8"),
        (SUMMARY, "segments.1.end_s", 8.0, "ends at 8 s"),
        (SUMMARY, "segments.1.end_s", 12.1, "the video has 10 s"),
        (SUMMARY, "segments.1.end_s", 11.9, None),  # headers and decoders disagree
        (SUMMARY, "segments.0.start_s", -1.0, "does not fit"),
        (SUMMARY, "shots.0.start_s", 3.0, r"shots\[0\]"),
        (SUMMARY, "shots.0", {}, "is a required"),
        (SUMMARY, "duration_s", 0, "duration_s"),
        (SUMMARY, "duration_s", 1e10, "duration_s"),
        (SUMMARY, "budget.used_s", 1e308, "budget.used_s: 1e.308 is too large"),
        (SUMMARY, "budget.asked_s", 1e300, None),
        (SUMMARY, "provenance.summary.seed", 10**300, None),
        (SUMMARY, "importance.scores", [0.5], "1 scores for 20 times"),
        (SUMMARY, "importance.timestamps_s.1", 0.0, "do not increase"),
        (SUMMARY, "video.path", "a\0b", "not a path"),
        (SUMMARY, "video.path", "\ud800", "not a path"),
        (SUMMARY, "video.path", "a" * 5000, "not a path"),
        (SUMMARY, "video.fps", 1e300, "too large"),
        (SUMMARY, "video.fps", 5e-324, "does not fit"),
        (SUMMARY, "video.n_frames", 10**400, "too large"),
        (MOMENTS, "queries.0.moments.1.end_s", 0.5, r"queries\[0\].moments\[1\]"),
        (MOMENTS, "queries.0.moments.0.end_s", 500.0, None),  # said, after the last picture
        (MOMENTS, "queries.0.said", [], r"queries\[0\].said"),
        (MOMENTS, "timestamps_s", [], "20 scores for 0 times"),
        (HIGHLIGHTS, "moments.0.score", True, "does not fit"),
        (SHOTS, "shots.1.start_s", 3.5, r"shots\[1\]: does not begin where"),
        (SHOTS, "shots.0.last_frame", -1, "does not fit"),
        (SHOTS, "shots.1.first_frame", 900, "last_frame is before"),
    ],
)
def test_fault_of_an_edited_document_is_named_by_its_place(
    kind: int, place: str, value: Any, fault: str | None
) -> None:
    message = find_fault(edited(kind, place, value))
    assert (message is None) == (fault is None)
    if message and fault:
        assert re.search(fault, message), message
        assert "\n" not in message
        assert len(message) < 500


def test_deep_document_is_a_fault() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    assert find_fault(edited(SUMMARY, "provenance.summary", deep)) == "is nested too deep"
