"""Key shots, F-measure and rank correlation against published and direct computations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import f1_score

from vidsum.lab.datasets.labels import read_summe_protocol
from vidsum.lab.evaluation.reference import (
    DRAWN,
    KNAPSACKS,
    SEGMENTATIONS,
    at_every_frame,
    f_measures,
    key_shots,
)
from vidsum.lab.evaluation.summary_metrics import kendall_tau_b, spearman_rho


def cut(n_frames: int, n_shots: int, rng: np.random.Generator) -> np.ndarray:
    """Change points of a video cut at random."""
    starts = np.sort(rng.choice(np.arange(1, n_frames), n_shots - 1, replace=False))
    edges = np.array([0, *starts, n_frames])
    return np.stack([edges[:-1], edges[1:] - 1], axis=1)


def worth(scores: np.ndarray, shots: np.ndarray, knapsack: str) -> list[float]:
    """Return the value of each shot, one at a time."""
    means = [float(scores[first : last + 1].mean()) for first, last in shots]
    return [int(1000 * mean) for mean in means] if knapsack == "dsnet" else means


def chosen_shots(summary: np.ndarray, shots: np.ndarray) -> list[bool]:
    """Which shots are in a summary; each must be so wholly or not at all."""
    parts = [summary[first : last + 1] for first, last in shots]
    assert all(part.all() or not part.any() for part in parts)
    return [bool(part.all()) for part in parts]


def published_choice(values: list[float], lengths: list[int], budget: int) -> list[bool]:
    """The table of the published code, cell by cell: shot by shot, read from the last to the first."""
    table = [[0.0] * (budget + 1) for _ in range(len(values) + 1)]
    for shot, (value, length) in enumerate(zip(values, lengths, strict=True)):
        for room in range(budget + 1):
            table[shot + 1][room] = table[shot][room]
            if length <= room:
                table[shot + 1][room] = max(table[shot][room], value + table[shot][room - length])
    chosen, room = [False] * len(values), budget
    for shot in range(len(values) - 1, -1, -1):
        chosen[shot] = table[shot + 1][room] != table[shot][room]
        room -= lengths[shot] * chosen[shot]
    return chosen


@pytest.mark.parametrize("knapsack", KNAPSACKS)
@pytest.mark.parametrize("levels", [1, 4, 10_000])
def test_key_shots_are_those_of_the_published_code(knapsack: str, levels: int) -> None:
    rng = np.random.default_rng(levels)
    for _ in range(20):
        shots = cut(400, 30, rng)
        scores = np.repeat(rng.integers(1, levels + 1, 40) / levels, 10).astype(np.float32)
        lengths = (shots[:, 1] - shots[:, 0] + 1).tolist()
        expected = published_choice(worth(scores, shots, knapsack), lengths, 60)
        assert chosen_shots(key_shots(scores[None], shots, knapsack)[0], shots) == expected


def test_key_shots_of_a_row_do_not_depend_on_others() -> None:
    rng = np.random.default_rng(0)
    shots, scores = cut(500, 20, rng), rng.random((7, 500), np.float32)
    together = key_shots(scores, shots, "pgl-sum")
    np.testing.assert_array_equal(key_shots(scores[[3]], shots, "pgl-sum"), together[[3]])


@pytest.mark.parametrize(
    ("edges", "scores", "pgl_sum", "dsnet"),
    [
        ([0, 15, 30, 100], [0.5001, 0.5009, 0.1], [1], [0]),  # values are rounded
        ([0, 15, 90, 100], [1, 1, -1], [], [0]),  # the last ten frames are in no shot
        ([0, 5, 10, 20, 100], [0, 0, 1, 0], [2], [0, 2]),  # a first shot that is worth nothing, where it fits
        ([0, 50], [1], [], []),
    ],
)
def test_conventions_of_key_shots(
    edges: list[int], scores: list[float], pgl_sum: list[int], dsnet: list[int]
) -> None:
    frames = np.repeat(np.array(scores, np.float32), np.diff(edges))[None]
    shots = np.stack([edges[:-1], np.array(edges[1:]) - 1], axis=1)[np.array(scores) >= 0]
    for knapsack, expected in (("pgl-sum", pgl_sum), ("dsnet", dsnet)):
        chosen = chosen_shots(key_shots(abs(frames), shots, knapsack)[0], shots)
        assert np.flatnonzero(chosen).tolist() == expected


def test_a_score_holds_until_the_next_pick() -> None:
    picks = np.array([1, 3, 6])
    frames = at_every_frame([[1, 2, 3], [4, 5, 6]], picks, 8)
    assert frames.tolist() == [[0, 1, 1, 2, 2, 2, 3, 3], [0, 4, 4, 5, 5, 5, 6, 6]]


def test_f_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    summaries, references = rng.random((4, 500)) < 0.15, rng.random((3, 500)) < 0.3
    expected = [[f1_score(reference, summary) for reference in references] for summary in summaries]
    np.testing.assert_allclose(f_measures(summaries, references, np.ones(500)), expected, rtol=1e-12)


def test_a_segment_counts_as_all_its_frames() -> None:
    rng = np.random.default_rng(0)
    summaries, references = rng.random((4, 9)) < 0.5, rng.random((3, 9)) < 0.5
    lengths = rng.integers(1, 9, 9)
    rows, others = (np.repeat(array, lengths, axis=-1) for array in (summaries, references))
    ones = np.ones(lengths.sum())
    assert f_measures(summaries, references, lengths) == pytest.approx(f_measures(rows, others, ones))


# --- shots that know nothing of the video ---


@pytest.mark.parametrize("name", SEGMENTATIONS)
@pytest.mark.parametrize("n_frames", [1, 59, 60, 61, 5000])
def test_segmentations_fill_the_video(name: str, n_frames: int) -> None:
    shots = SEGMENTATIONS[name](n_frames, np.random.default_rng(n_frames))
    assert shots[0, 0] == 0
    assert shots[-1, 1] == n_frames - 1
    assert (shots[1:, 0] == shots[:-1, 1] + 1).all()
    assert (shots[:, 1] >= shots[:, 0]).all()


@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("uniform-60", 60, 0),
        ("one-peak", 60, 60**0.5),
        # of a mixture: the mean of the variances, and the square of half the distance of the means
        ("two-peak", 60, (60 + 30**2) ** 0.5),
        ("two-peak-30-300", 165, (165 + 135**2) ** 0.5),
    ],
)
def test_lengths_of_segmentations_are_distributed_as_named(name: str, mean: float, deviation: float) -> None:
    shots = SEGMENTATIONS[name](1_000_000, np.random.default_rng(0))[:-1]
    lengths = shots[:, 1] - shots[:, 0] + 1
    assert lengths.mean() == pytest.approx(mean, rel=0.02)
    assert lengths.std() == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize("name", SEGMENTATIONS)
def test_only_drawn_segmentations_depend_on_the_seed(name: str) -> None:
    one, other = (SEGMENTATIONS[name](5000, np.random.default_rng(seed)) for seed in (0, 1))
    assert np.array_equal(one, other) == (name not in DRAWN)


# --- rank correlation ---


def rows_of(seed: int, n_samples: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Three rows of so many levels and two without ties, none of them constant."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, levels, (3, n_samples)).astype(np.float32)
    second = rng.random((2, n_samples), np.float32)
    second[:, :2] = 0, 1
    first[:, :2] = 1, 0
    return first, second


@pytest.mark.parametrize(
    ("correlation", "by_scipy"), [(kendall_tau_b, kendalltau), (spearman_rho, spearmanr)], ids=["tau", "rho"]
)
@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n_samples=st.integers(2, 40), levels=st.sampled_from([2, 5, 1000]))
def test_correlation_of_each_pair_of_rows_is_scipys(
    correlation: Callable[..., np.ndarray],
    by_scipy: Callable[..., Any],
    seed: int,
    n_samples: int,
    levels: int,
) -> None:
    first, second = rows_of(seed, n_samples, levels)
    expected = [[by_scipy(row, other).statistic for other in second] for row in first]
    np.testing.assert_allclose(correlation(first, second), expected, atol=1e-9)


@pytest.mark.parametrize("correlation", [kendall_tau_b, spearman_rho])
def test_constant_row_agrees_with_nothing(correlation: Callable[..., np.ndarray]) -> None:
    assert correlation(np.ones(5), [np.arange(5.0), np.ones(5)]).tolist() == [[0, 0]]


# --- published summaries ---


@pytest.mark.shared
def test_csnet_scores_on_summe_as_published(shared: Path) -> None:
    """CSNet as run by Kanafani et al., ICMR 2021: each video's F-measure with its nearest annotator."""
    folder = shared / "data" / "summe"
    videos = read_summe_protocol(folder / "summe_protocol.npz")
    with np.load(folder / "csnet_summaries.npz") as published:
        assert len(videos) == 25 == len(published.files) / 2
        scores = []
        for name, video in videos.items():
            key = name.partition("/")[2]
            summary = published[f"{key}/machine_summary"]
            f = f_measures(summary, video.user_summary, np.ones(video.n_frames)).max()
            assert f"{100 * f:.5g}" == f"{published[f'{key}/f_max_percent'].item():.5g}", name
            scores.append(f)
    assert f"{100 * np.mean(scores):.3f}" == "43.744"
