"""Moments of videos whose pictures begin after their sound."""

import csv
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from tests.archive.made import COLOURS
from tests.media import make_video
from vidsum.archive import answers
from vidsum.archive.archive import Archive
from vidsum.errors import InputError


def test_pages_tables_and_ranges_are_by_the_clock_of_players(archive: Archive, tmp_path: Path) -> None:
    def paint(number: int, width: int, height: int) -> np.ndarray:
        colour = COLOURS["red" if number < 100 else "blue"]
        return np.full((height, width, 3), colour, np.uint8)

    path = make_video(tmp_path / "late.mkv", n_frames=200, sound=True, late_s=3.0, paint=paint).path
    archive.add(path)
    (match,) = archive.search("blue", top_k=1)
    assert (match.start_s, match.start_offset_s) == pytest.approx((4.0, 3.0), abs=0.03)
    shown_s = match.start_s + match.start_offset_s
    found = answers.search(archive, {"q": ["blue"], "k": ["1"]})["moments"][0]
    assert found["start_s"] == pytest.approx(shown_s)
    (row,) = csv.DictReader(answers.to_csv([{"rank": 1, **asdict(match)}]).splitlines())
    assert float(row["start_s"]) == pytest.approx(shown_s)
    about = answers.video(archive, found["id"])
    assert about["duration_s"] == pytest.approx(11.0, abs=0.03)
    assert about["shots"][0]["start_s"] == pytest.approx(3.0, abs=0.03)
    wanted = {"id": found["id"], "start_s": found["start_s"], "end_s": found["end_s"]}
    (saved,) = answers.parse_moments(archive, {"moments": [wanted]})
    assert (saved.start_s, saved.end_s) == pytest.approx((match.start_s, match.end_s))
    (alike,) = archive.search(like=(f"{path}@{shown_s:.2f}-{shown_s + 2:.2f}",), top_k=1)
    assert alike.start_s == match.start_s
    with pytest.raises(InputError, match="before the video's first picture"):
        archive.search(like=(f"{path}@0-2",))
    # as in the archive of an earlier version
    archive._connection.execute("UPDATE videos SET start_offset_s = NULL")
    assert archive.search("blue", top_k=1) == [match]
    archive.add(path)
    assert archive.rows("SELECT start_offset_s FROM videos") == [(match.start_offset_s,)]
