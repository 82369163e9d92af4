"""Summaries of real films with the real network."""

from itertools import groupby, pairwise
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

import vidsum
from tests.media import join_clips
from vidsum.results.summary import Summary

CLIPS = ("yoga.mp4", "hitting_baseball.mp4", "jesse_dance.mp4", "making_cake.mp4", "pancake.mkv", "bikes.mp4")

pytestmark = [pytest.mark.deep, pytest.mark.shared, pytest.mark.weights]


def thumbnails(path: Path) -> np.ndarray:
    """[N, 36, 64] of all frames, as numbers that differences can be taken of."""
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="gray") for frame in container.decode(video=0)]
    return np.array([cv2.resize(frame, (64, 36), interpolation=cv2.INTER_AREA) for frame in frames], float)


def nearest(frame: np.ndarray, film: np.ndarray) -> int:
    return int(np.abs(film - frame).mean(axis=(1, 2)).argmin())


def test_no_frame_of_a_neighbouring_shot_is_inside(
    shared: Path, default_weights: Path, tmp_path: Path
) -> None:
    film, moments = join_clips(shared, tmp_path, CLIPS, "--seconds=30", "--size=320x180")
    # with 30 %, the last shot would be in to its end, which is found .3 s late
    summary = vidsum.summarize(film, "25%", device="cpu", cache=False)
    vidsum.write_video(summary, tmp_path / "short.mp4")
    bounds = [round(25 * moment["start"]) for moment in moments]

    def clip_of(frame: int) -> int:
        return int(np.searchsorted(bounds, frame, side="right")) - 1

    expected = [{clip_of(round(25 * start)), clip_of(round(25 * end) - 1)} for start, end in summary.segments]
    assert all(len(clips) == 1 for clips in expected)
    assert all(end - start <= 5 for start, end in summary.segments)
    of_film, of_summary = thumbnails(film), thumbnails(tmp_path / "short.mp4")
    shown = [clip_of(nearest(frame, of_film)) for frame in of_summary]
    runs = [number for number, _ in groupby(shown)]
    assert runs == [number for number, _ in groupby(clip for (clip,) in expected)]
    lengths = [round(25 * (end - start)) for start, end in summary.segments]
    assert len(shown) == sum(lengths)
    starts = np.cumsum([0, *lengths])
    for (start, end), (clip,) in zip(pairwise(starts), expected, strict=True):
        assert set(shown[start:end]) == {clip}


@pytest.fixture(scope="module")
def summaries(shared: Path, default_weights: Path) -> dict[str, Summary]:
    """Summaries of half of the real clips, by name."""
    folders = (shared / "videos", shared / "videos" / "wide")
    clips = sorted(path for folder in folders for path in folder.glob("*.m[pk][4v]"))[::2]
    return {clip.name: vidsum.summarize(clip, device="cpu", cache=False) for clip in clips}


def test_importance_of_real_clips_varies(summaries: dict[str, Summary]) -> None:
    for name, summary in summaries.items():
        spread = summary.importance.max() - summary.importance.min()
        assert spread > 0.05 * summary.importance.mean(), name


def test_summary_shows_one_of_its_best_shots(summaries: dict[str, Summary]) -> None:
    for name, summary in summaries.items():
        long = [shot for shot in summary.shots if shot.end_s - shot.start_s >= 2]  # others are no segments
        shots = long or summary.shots
        best = [shot for shot in shots if shot.score > max(part.score for part in shots) - 0.01]
        shown = (
            shot
            for shot in best
            for start, end in summary.segments
            if start < shot.end_s and end > shot.start_s
        )
        assert any(shown), name


def test_summaries_do_not_usually_open_with_the_film(summaries: dict[str, Summary]) -> None:
    openings = sum(summary.segments[0][0] == 0 for summary in summaries.values())
    # half of most clips is shown; of all 40, eight open and eight end so
    assert openings <= len(summaries) / 2
