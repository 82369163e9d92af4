"""Clips of results: what a copy without encoding says of its length. Key frames of summaries."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import vidsum
from tests.media import make_video
from vidsum.outputs.picture_files import choose_key_frames, draw_plot, draw_sheet
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary, Trim
from vidsum.types import Picture
from vidsum.video.probe import probe


def test_strip_of_a_sheet_lasts_as_long_as_its_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list[tuple[Any, ...]]()
    monkeypatch.setattr(
        "vidsum.summary.storyboard.contact_sheet",
        lambda *facts: drawn.append(facts) or np.zeros((4, 4, 3), np.uint8),
    )
    video = replace(probe(make_video(tmp_path / "film.mp4", n_frames=50).path), start_offset_s=0.0)
    shots = Shots(np.array([0.0, 1.0, 2.0]), "kts", provenance={"vidsum": "0"}, video=video)
    draw_sheet(shots, tmp_path / "sheet.png")
    *_, spans, end_s = drawn[0]
    assert (spans, end_s) == ([(0.0, pytest.approx(2.0))], pytest.approx(2.0))


def warnings_of_copy(folder: Path, gop: int, *segments: tuple[float, float]) -> tuple[str, ...]:
    path = make_video(folder / "film.mp4", n_frames=100, gop=gop, b_frames=0).path
    trim = Trim(
        provenance={"vidsum": "0", "video": {}},
        video=probe(path),
        segments=segments,
        removed=(),
        by="loudness",
        threshold_db=-40.0,
        video_duration_s=4.0,
    )
    return tuple(vidsum.write_video(trim, folder / "clip.mp4", copy=True))


@pytest.mark.parametrize(
    "segments", [((1.0, 2.0),), ((0.0, 0.52), (2.0, 3.48)), ((1.01, 2.0),), ((1.0, 1.985),)]
)
def test_a_copy_of_the_same_length_needs_no_note(
    segments: tuple[tuple[float, float], ...], tmp_path: Path
) -> None:
    assert warnings_of_copy(tmp_path, 1, *segments) == ()


def test_copy_that_is_longer_has_a_note_of_the_length(tmp_path: Path) -> None:
    (note,) = warnings_of_copy(tmp_path, 25, (1.5, 2.0))
    assert note.endswith("instead of 0:00.50")


def test_key_frame_of_a_segment_is_its_sharpest_picture(tmp_path: Path) -> None:
    """The film is in focus from 1 to 1.4 s alone."""
    scene = np.random.default_rng(0).integers(0, 255, (30, 40, 3)).astype(np.uint8)

    def paint(number: int, width: int, height: int) -> Picture:
        sharp: Picture = cv2.resize(scene, (width, height), interpolation=cv2.INTER_NEAREST)
        return sharp if 25 <= number < 35 else cv2.GaussianBlur(sharp, (0, 0), 6)

    path = make_video(tmp_path / "film.mp4", n_frames=75, fps=25, paint=paint).path
    summary = vidsum.summarize(path, budget="100%", model=np.ones(6), cache=False, device="cpu")
    assert isinstance(summary, Summary)
    assert choose_key_frames(summary) == [1.0]


def test_plot_has_the_times_that_a_player_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Summary] = []
    monkeypatch.setattr(
        "vidsum.summary.storyboard.importance_plot", lambda result, path: drawn.append(result)
    )
    path = make_video(tmp_path / "late.mkv", n_frames=50, sound=True, late_s=1.0).path
    summary = vidsum.summarize(path, budget="100%", model=np.ones(4), cache=False, device="cpu")
    assert isinstance(summary, Summary)
    draw_plot(summary, tmp_path / "plot.png")
    assert summary.segments[0][0] == 0
    assert drawn[0].segments[0][0] == pytest.approx(1.0, abs=0.01)
