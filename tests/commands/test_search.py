"""The lines below the moments of a search."""

from pathlib import Path

import pytest

from vidsum.archive.matches import Match
from vidsum.commands.search import _closing_lines, _read_videos
from vidsum.errors import UsageError
from vidsum.outputs.names import Written, check_outputs

REMARK = "matches below 25 % are unlikely to show it"


def matches(*present: float | None) -> list[Match]:
    return [Match(f"{number}.mp4", 0.0, 1.0, value, value or 0.5) for number, value in enumerate(present)]


@pytest.mark.parametrize(
    ("present", "lines"),
    [
        ([], ["no moments found"]),
        ([0.9, 0.8], []),
        ([0.9, 0.2], [REMARK]),
        ([0.2, None], [REMARK]),
        ([None], []),
    ],
    ids=["none", "all likely", "one unlikely", "unlikely beside a picture", "picture"],
)
def test_unlikely_moments_among_others_have_a_remark(present: list[float | None], lines: list[str]) -> None:
    assert _closing_lines(matches(*present), [], None) == lines


def test_clips_that_were_written_are_counted() -> None:
    rows = [{"clip": "a.mp4"}, {}, {"clip": "b.mp4"}]
    assert _closing_lines(matches(0.9), rows, Path("cuts")) == ["2 clips in cuts"]


def test_output_over_a_video_that_was_found_is_refused() -> None:
    written = Written()
    check_outputs("the archive", [Path("0.mp4")], {}, written)
    with pytest.raises(UsageError, match="is read, and would be written for the archive"):
        _read_videos(matches(0.9), written)
