"""Grids of clips, compared with a slow direct average, and sliding windows: every moment is whole in one."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.grounding.windows import (
    WindowProposals,
    best_at,
    grid,
    place_proposals,
    resample,
    resample_clips,
    sliding_windows,
    to_grid,
)
from vidsum.results.features import Features

T = 16
PROPOSALS = np.array([(first / T, (last + 1) / T) for first in range(T) for last in range(first, T)])
"""All proposals of a model of 16 clips."""


def features(starts_s: npt.ArrayLike, covers_s: float, duration_s: float = 60.0) -> Features:
    """Features with these clips; row n is (n, n squared)."""
    numbers = np.arange(len(np.atleast_1d(starts_s)), dtype=np.float32)
    return Features(
        array=np.stack([numbers, numbers**2], axis=1),
        timestamps=np.asarray(starts_s, np.float64),
        step_s=1.0,
        covers_s=covers_s,
        duration_s=duration_s,
        video_fps=25.0,
    )


@pytest.mark.parametrize(
    ("duration_s", "step_s", "starts"),
    [(3.0, 1.0, [0, 1, 2]), (3.01, 1.0, [0, 1, 2, 3]), (0.2, 1.0, [0]), (2.0, 0.64, [0, 0.64, 1.28, 1.92])],
)
def test_a_grid_covers_the_whole_video(duration_s: float, step_s: float, starts: list[float]) -> None:
    np.testing.assert_allclose(grid(duration_s, step_s), starts)
    assert len(grid(0.1 * 3, 0.1)) == 3  # 0.30000000000000004


@given(
    gaps=st.lists(st.floats(0.05, 4), min_size=1, max_size=12),
    covers_s=st.floats(0.1, 5),
    step_s=st.floats(0.2, 3),
)
def test_each_clip_is_the_mean_of_the_features_by_the_time_shared(
    gaps: list[float], covers_s: float, step_s: float
) -> None:
    one = features(np.cumsum(gaps), covers_s)
    times = grid(sum(gaps) + covers_s + 2, step_s)
    found = to_grid(one.array, one, times, step_s)
    for time, row in zip(times, found, strict=True):
        shared = [
            max(0.0, min(begin + covers_s, time + step_s) - max(begin, time)) for begin in one.timestamps
        ]
        if sum(shared) > 1e-9:
            expected = np.average(one.array, axis=0, weights=shared)
            np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-4)
        elif sum(shared) == 0:
            assert row.tolist() in one.array.tolist()


def test_clips_that_no_feature_covers_take_the_nearest() -> None:
    one = features([2.0, 10.0], covers_s=1.0)
    found = to_grid(one.array, one, grid(14.0, 1.0), 1.0)[:, 0]
    assert found.tolist() == [0] * 7 + [1] * 7  # the middles of the two are at 2.5 and 10.5
    single = features([0.0], covers_s=0.5)
    assert to_grid(single.array + 7, single, grid(3.0, 1.0), 1.0).tolist() == [[7, 7]] * 3


@given(n=st.integers(1, 700), n_clips=st.sampled_from([1, 16, 64, 75, 128, 256]))
def test_rows_are_averaged_by_the_published_rule(n: int, n_clips: int) -> None:
    """Clip by clip, with the borders computed as the published code does."""
    rows = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    shares = np.arange(n_clips + 1, dtype=np.float32) / np.float32(n_clips)
    borders = np.minimum(np.round(shares * np.float32(n)).astype(int), n - 1)
    pairs = pairwise(borders.tolist())
    expected = [rows[start:end].mean(axis=0) if end > start else rows[start] for start, end in pairs]
    np.testing.assert_allclose(resample(rows, n_clips), expected, atol=1e-5)
    assert resample([[0.0], [2.0], [4.0], [8.0]], 2).tolist() == [[1.0], [4.0]]  # the last is dropped
    assert resample([[1.0], [5.0]], 4).tolist() == [[1.0], [1.0], [5.0], [5.0]]


@given(st.integers(1, 300), st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_clips_are_of_the_length_given_unless_there_would_be_too_many(
    n_rows: int, step_s: float, clip_s: float
) -> None:
    rows = np.random.default_rng(0).random((n_rows, 3), np.float32)
    clips = resample_clips(rows, step_s, clip_s, most=40)
    n_clips = len(clips)
    assert n_clips == 40 or (n_clips - 1) * clip_s < n_rows * step_s <= n_clips * clip_s
    np.testing.assert_array_equal(clips[:, :3], resample(rows, n_clips))
    np.testing.assert_allclose(clips[:, 3], np.arange(n_clips) / n_clips, atol=1e-6)
    np.testing.assert_allclose(clips[:, 4] - clips[:, 3], 1 / n_clips, atol=1e-6)


def proposals_of(n_rows: int, duration_s: float) -> WindowProposals:
    """Return the proposals of all windows of a video with clips of 1 s."""
    return place_proposals(sliding_windows(T, n_rows), PROPOSALS, 1.0, duration_s, margins=0.5 / T)


@given(n_rows=st.integers(1, 2000), shortest=st.integers(4, 64))
def test_windows_of_each_length_cover_the_video_and_the_last_is_all_of_it(n_rows: int, shortest: int) -> None:
    windows = sliding_windows(shortest, n_rows)
    by_length: dict[int, np.ndarray] = {}
    for window in windows:
        covered = by_length.setdefault(window.stop - window.start, np.zeros(n_rows, np.bool_))
        covered[window] = True
    assert all(covered.all() for covered in by_length.values())
    assert windows[-1] == slice(0, n_rows)
    assert min(by_length) == min(shortest, n_rows)


@given(data=st.data(), n_rows=st.integers(1, 2000))
def test_every_moment_is_met_by_a_whole_proposal(data: st.DataObject, n_rows: int) -> None:
    """Of clips of a second, moments of two seconds or more have a proposal of IoU .5 or more."""
    start = data.draw(st.integers(0, n_rows - 1))
    end = data.draw(st.integers(min(start + 2, n_rows), n_rows))
    windows = proposals_of(n_rows, float(n_rows))
    begins, ends = windows.intervals_s[windows.is_whole].T
    common = np.maximum(np.minimum(ends, end) - np.maximum(begins, start), 0)
    overlap = common / (np.maximum(ends, end) - np.minimum(begins, start))
    assert overlap.max() >= 0.5


def test_a_proposal_at_an_inner_edge_is_not_whole() -> None:
    windows = proposals_of(40, 40.0)
    rows = zip(sliding_windows(T, 40), windows.intervals_s, windows.is_whole, strict=True)
    for window, of_window, whole in rows:
        touches_start = (of_window[:, 0] == window.start) & (window.start > 0)
        touches_end = (of_window[:, 1] == window.stop) & (window.stop < 40)
        assert np.array_equal(whole, ~(touches_start | touches_end))


def test_nothing_lies_beyond_the_end_of_the_video() -> None:
    windows = proposals_of(11, 10.3)
    assert windows.intervals_s.max() == 10.3
    kept = windows.intervals_s[windows.is_whole]
    assert (kept[:, 1] > kept[:, 0]).all()
    assert not windows.is_whole[0, -1]  # the last of 16 clips begins at 10.31 s


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_a_clip_has_the_score_of_its_best_proposal(n_clips: int, n_proposals: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n_clips + 1, (n_proposals, 2)).astype(np.float64)
    intervals, scores = np.sort(edges, axis=1), rng.normal(size=n_proposals).astype(np.float32)
    found = best_at(intervals, scores, np.arange(n_clips) + 0.5)
    for clip, value in enumerate(found):
        over = [s for (a, b), s in zip(intervals, scores, strict=True) if a <= clip and clip + 1 <= b]
        assert value == max(over, default=scores.min())
