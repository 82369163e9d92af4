"""Moments that a page asks to save."""

from types import SimpleNamespace
from typing import Any

import pytest

from vidsum.archive.answers import parse_moments
from vidsum.errors import UsageError

NO_ARCHIVE: Any = None


@pytest.fixture(autouse=True)
def source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each id is a video of ten seconds whose first picture is at 2 s of the player's clock."""
    video = SimpleNamespace(path="/film.mp4", start_offset_s=2.0, duration_s=10.0)
    monkeypatch.setattr("vidsum.archive.answers._find_verified", lambda archive, number: video)


def moment(start_s: Any, end_s: Any) -> dict[str, Any]:
    return {"id": 1, "start_s": start_s, "end_s": end_s}


def test_times_of_a_moment_are_moved_from_the_players_clock_to_the_first_picture() -> None:
    (match,) = parse_moments(NO_ARCHIVE, {"moments": [moment(3, 5.5)]})
    assert (match.start_s, match.end_s, match.start_offset_s) == (1, 3.5, 2)


@pytest.mark.parametrize("end_s", [12, 13])
def test_moment_may_end_a_second_behind_its_video(end_s: float) -> None:
    assert len(parse_moments(NO_ARCHIVE, {"moments": [moment(3, end_s)]})) == 1


@pytest.mark.parametrize("span", [(-1, 3), (5, 5), (6, 5), (3, 13.1), ("x", 5), (None, 5)])
def test_moment_outside_its_video_is_refused(span: tuple[Any, Any]) -> None:
    with pytest.raises(UsageError, match="moments must be up to"):
        parse_moments(NO_ARCHIVE, {"moments": [moment(*span)]})


@pytest.mark.parametrize("document", [{}, [], {"moments": 3}, {"moments": [{"id": 1}]}])
def test_document_without_moments_is_refused(document: Any) -> None:
    with pytest.raises(UsageError, match="moments must be up to"):
        parse_moments(NO_ARCHIVE, document)


def test_empty_list_of_moments_is_refused() -> None:
    with pytest.raises(UsageError, match="no moments"):
        parse_moments(NO_ARCHIVE, {"moments": []})


def test_number_of_moments_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.archive.answers._MAX_SAVED", 2)
    assert len(parse_moments(NO_ARCHIVE, {"moments": [moment(3, 5)] * 2})) == 2
    with pytest.raises(UsageError, match="up to 2"):
        parse_moments(NO_ARCHIVE, {"moments": [moment(3, 5)] * 3})
