"""Chapters of copied videos."""

from pathlib import Path

import pytest

from tests.media import make_video
from tests.video.clips import chapters_of, decode_all, numbers_by_pyav, packets_of
from vidsum.video.chapter_marks import copy_with_chapters
from vidsum.video.probe import probe
from vidsum.video.write import write_segments


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".mov"])
def test_chapters_count_from_the_first_picture_where_sound_is_earlier(tmp_path: Path, suffix: str) -> None:
    """AAC begins with packets that are not played."""
    made = make_video(tmp_path / "made.mkv", n_frames=100, sound=True)
    film, target = tmp_path / "film.mp4", tmp_path / f"copy{suffix}"
    write_segments(probe(made.path), [(0.0, 4.0)], film)
    assert min(packet.pts for packet in packets_of(film, "audio")) < 0
    copy_with_chapters(probe(film), target, [(0.0, 2.0, "one"), (2.0, 4.0, "two")], "x")
    (first_s, _, first), (second_s, _, second) = chapters_of(target)
    assert (first_s, first, second) == (0.0, "one", "two")
    on_screen = [frame for frame in decode_all(target) if frame.time <= second_s + 1e-6]
    assert numbers_by_pyav(target)[len(on_screen) - 1] == 50


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_each_chapter_ends_where_the_next_begins(tmp_path: Path, suffix: str) -> None:
    made, target = make_video(tmp_path / "made.mkv", n_frames=100, sound=True), tmp_path / f"copy{suffix}"
    film = tmp_path / "film.mp4"
    write_segments(probe(made.path), [(0.0, 4.0)], film)
    copy_with_chapters(probe(film), target, [(0.0, 1.5, "one"), (1.5, 4.0, "two")], "x")
    (_, first_end_s, _), (second_start_s, second_end_s, _) = chapters_of(target)
    assert first_end_s == second_start_s
    assert second_end_s - second_start_s == pytest.approx(2.5, abs=1e-3)
