"""Examples for a search by similarity: a picture, or a part of a video."""

from pathlib import Path
from typing import Any

import pytest

from tests.archive.made import film
from vidsum.archive.archive import Archive
from vidsum.archive.like import embed_example
from vidsum.errors import InputError

pytestmark = pytest.mark.usefixtures("colours")


def test_example_that_ends_at_the_first_picture_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.archive.like.file_offset_s", lambda *_: 5.0)
    nothing: Any = None
    with pytest.raises(InputError, match="ends before the video's first picture"):
        embed_example(nothing, "vse", f"{film(tmp_path / 'film.mp4')}@0:01-0:05")


def test_example_that_is_no_file_names_both_forms(archive: Archive, tmp_path: Path) -> None:
    archive.add(film(tmp_path / "film.mp4"))
    with pytest.raises(InputError, match="no such file") as raised:
        archive.search(like="none.jpg@0:01-0:02")
    assert "VIDEO@1:20-1:25" in str(raised.value.hint)


def test_example_behind_the_end_of_its_video_is_refused(archive: Archive, tmp_path: Path) -> None:
    archive.add(film(tmp_path / "other.mp4", ("red", "blue")))
    with pytest.raises(InputError, match=r"starts after the video's end \(10\.0 s\)"):
        archive.search(like=f"{film(tmp_path / 'film.mp4')}@0:11-0:12")


def test_example_is_the_part_of_its_video_that_is_named(archive: Archive, tmp_path: Path) -> None:
    path = film(tmp_path / "film.mp4")
    archive.add(path)
    for start_s in (0, 2, 4):
        best = archive.search(like=f"{path}@0:0{start_s}-0:0{start_s + 2}", top_k=1)[0]
        assert (best.start_s, best.end_s) == (start_s, start_s + 2)


def test_example_in_an_archive_is_not_decoded_again(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = film(tmp_path / "film.mp4")
    archive.add(path)
    monkeypatch.setattr("vidsum.archive.like.plan_video", lambda *_: pytest.fail("is decoded"))
    assert archive.search(like=f"{path}@0:02-0:04", top_k=1)[0].start_s == 2
