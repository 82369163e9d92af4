"""Rows of videos and their shots in an archive."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.archive.made import count, film
from vidsum.archive.archive import Archive


@pytest.fixture
def path(archive: Archive, tmp_path: Path) -> Path:
    """A film of five shots in the archive."""
    made = film(tmp_path / "film.mp4", ("red", "green", "blue", "yellow", "red"))
    archive.add(made)
    return made


def test_stored_shots_end_where_the_next_begins_and_the_last_with_the_video(
    archive: Archive, path: Path
) -> None:
    spans = [row[2:4] for row in archive.rows("SELECT * FROM shots ORDER BY id")]
    assert spans[0][0] == 0
    assert [end_s for _, end_s in spans[:-1]] == [start_s for start_s, _ in spans[1:]]
    assert spans[-1][1] == archive.rows("SELECT duration_s FROM videos")[0][0]
    assert all(start_s < after_s for (start_s, _), (after_s, _) in pairwise(spans))


def test_stored_video_knows_its_first_shot_and_their_number(
    archive: Archive, path: Path, tmp_path: Path
) -> None:
    archive.add(film(tmp_path / "other.mp4", ("blue", "red"), seed=1))
    for number, first, n_shots in archive.rows("SELECT id, first_shot, n_shots FROM videos"):
        shots = archive.rows("SELECT id FROM shots WHERE video = ? ORDER BY id", number)
        assert [row[0] for row in shots] == [*range(first, first + n_shots)]


def test_video_that_is_stored_again_leaves_no_old_shots(archive: Archive, path: Path) -> None:
    archive.add(film(path.with_name("fast.mp4"), ("blue", "red"), seed=1), fast=True)
    archive.add(path.with_name("fast.mp4"))
    counted = archive.rows("SELECT sum(n_shots) FROM videos")[0][0]
    assert (count(archive, "videos"), count(archive, "shots")) == (2, counted)
