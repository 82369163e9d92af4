"""TVSum's highlight protocol: cases by hand, a direct loop, and the real annotations."""

from itertools import pairwise
from pathlib import Path
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.benchmarks.top_clips import TEST_VIDEOS, clip_annotations, measure_top_clips, top_precisions
from vidsum.lab.datasets.labels import Labels, read_tvsum_mat


@pytest.mark.parametrize(
    ("hits", "precision"),
    [
        ("11111", 1),
        ("00000", 0),
        ("10000", 1),
        ("00001", (0 + 1 / 5) / 2),
        ("01010", ((0 + 1 / 2) / 2 + (1 / 3 + 2 / 4) / 2) / 2),
        ("11001", (1 + 1 + (2 / 4 + 3 / 5) / 2) / 3),
    ],
)
def test_the_area_under_five_clips(hits: str, precision: float) -> None:
    scores = np.linspace(1, 0, 20)
    annotator = np.array([5.0 if hit == "1" else 1.0 for hit in hits.ljust(20, "0")])
    assert top_precisions(scores[None], annotator[None]) == pytest.approx(precision)


def direct(scores: list[float], annotator: list[int]) -> float:
    """Trapezoids under the curve of precision over recall, point by point."""
    middle = median_low(annotator)
    ranked = sorted(range(len(scores)), key=lambda clip: (-scores[clip], clip))[:5]
    labels = [annotator[clip] > middle for clip in ranked]
    points = [(0.0, 1.0)]
    for seen in range(1, len(labels) + 1):
        if not any(labels):
            return 0.0
        points.append((sum(labels[:seen]) / sum(labels), sum(labels[:seen]) / seen))
    return sum(
        (recall - before) * (precision + previous) / 2
        for (before, previous), (recall, precision) in pairwise(points)
    )


@given(st.data(), st.integers(1, 12), st.integers(1, 3), st.integers(1, 3))
def test_all_rows_and_annotators_as_a_direct_loop_has_them(
    data: st.DataObject, clips: int, rows: int, users: int
) -> None:
    def drawn(count: int, values: st.SearchStrategy[int]) -> list[list[int]]:
        return data.draw(
            st.lists(st.lists(values, min_size=clips, max_size=clips), min_size=count, max_size=count)
        )

    scores, annotators = drawn(rows, st.integers(-3, 3)), drawn(users, st.integers(1, 5))
    expected = [[direct([float(each) for each in row], user) for user in annotators] for row in scores]
    np.testing.assert_allclose(top_precisions(scores, annotators), expected, atol=1e-12)


def annotated(category: str, *users: list[int], fps: int = 10) -> Labels:
    """A video whose last second is no whole clip."""
    frames = np.repeat(np.array(users, np.float32), 2 * fps, axis=1)
    frames = np.pad(frames, ((0, 0), (0, fps)), constant_values=5)
    length_s = frames.shape[1] / fps
    return Labels("n", "v", frames.shape[1], length_s, user_scores=frames, category=category)


def test_the_mean_is_over_annotators_then_videos_then_categories() -> None:
    first = annotated("VT", [5, 1, 1], [1, 1, 5])
    second, third = annotated("VT", [1, 1, 1]), annotated("BK", [1, 5, 1])
    np.testing.assert_array_equal(clip_annotations(first), [[5, 1, 1], [1, 1, 5]])
    videos = {"a": first, "b": second, "c": third}
    found = measure_top_clips(videos, {"a": [3, 2, 1], "b": [3, 2, 1], "c": [[2, 3, 1], [1, 2, 3]]})
    last = (0 + 1 / 3) / 2  # the only hit is the third clip
    assert found.videos == pytest.approx({"a": (1 + last) / 2, "b": 0, "c": (1 + (0 + 1 / 2) / 2) / 2})
    assert found.categories == pytest.approx({"VT": (1 + last) / 4, "BK": 0.625})
    assert found.mean == pytest.approx(((1 + last) / 4 + 0.625) / 2)


@pytest.mark.shared
def test_the_real_clips_are_the_published_ones(shared: Path) -> None:
    """Counts and rows as in `tvsum_val.jsonl` of QD-DETR; each annotator gave a clip one score."""
    videos = read_tvsum_mat(shared / "data" / "tvsum" / "ydata-tvsum50.mat")
    by_file = {video.file_name: video for video in videos.values()}
    assert {by_file[file].category: file for file in TEST_VIDEOS.values()} == TEST_VIDEOS
    crash = clip_annotations(by_file["sTEELN-vY30"])
    assert (crash.shape, clip_annotations(by_file["J0nA4VgnoCo"]).shape) == ((20, 74), (20, 292))
    assert "".join(str(int(score)) for score in crash[:, 0]) == "53221434144343323223"
    assert "".join(str(int(score)) for score in crash[:, 5]) == "35545535255552554554"
    assert "".join(str(int(score)) for score in crash[:, 73]) == "11111113111211211111"
    for video in videos.values():
        clips = clip_annotations(video)
        fps = video.n_frames / video.length_s
        for clip in range(clips.shape[1]):
            frames = video.user_scores[:, int(2 * clip * fps) + 5 : int(2 * (clip + 1) * fps) - 5]
            assert (frames == clips[:, clip, None]).all()
