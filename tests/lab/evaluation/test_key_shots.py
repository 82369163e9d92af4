"""Key shots compared with the published procedure, F-measure and coverage with direct computations."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.lab.evaluation import reference as module
from vidsum.lab.evaluation.reference import KNAPSACKS, at_every_frame, coverages, f_measures, key_shots


def cut(n_frames: int, n_shots: int, rng: np.random.Generator) -> np.ndarray:
    """Change points of a video cut at random."""
    starts = np.sort(rng.choice(np.arange(1, n_frames), n_shots - 1, replace=False))
    edges = np.array([0, *starts, n_frames])
    return np.stack([edges[:-1], edges[1:] - 1], axis=1)


def worth(scores: np.ndarray, shots: np.ndarray, knapsack: str) -> list[float]:
    """What each shot is worth, one at a time."""
    means = [float(scores[first : last + 1].mean()) for first, last in shots]
    return [int(1000 * mean) for mean in means] if knapsack == "dsnet" else means


def chosen_shots(summary: np.ndarray, shots: np.ndarray) -> list[bool]:
    """Which shots are in a summary; each must be so wholly or not at all."""
    parts = [summary[first : last + 1] for first, last in shots]
    assert all(part.all() or not part.any() for part in parts)
    return [bool(part.all()) for part in parts]


@pytest.mark.parametrize("knapsack", KNAPSACKS)
@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n_shots=st.integers(2, 9), levels=st.sampled_from([3, 1000]))
def test_no_choice_within_the_budget_is_better(knapsack: str, seed: int, n_shots: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    shots, scores = cut(100, n_shots, rng), (rng.integers(0, levels, 100) / levels).astype(np.float32)
    chosen = chosen_shots(key_shots(scores[None], shots, knapsack)[0], shots)
    values, lengths = worth(scores, shots, knapsack), (shots[:, 1] - shots[:, 0] + 1).tolist()

    def total(numbers: list[float], choice: tuple[bool, ...] | list[bool]) -> float:
        return sum(number for number, taken in zip(numbers, choice, strict=True) if taken)

    fitting = [choice for choice in product((False, True), repeat=n_shots) if total(lengths, choice) <= 15]
    assert total(lengths, chosen) <= 15
    assert total(values, chosen) == pytest.approx(max(total(values, choice) for choice in fitting), abs=1e-12)


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
def test_ties_are_broken_as_in_the_published_code(knapsack: str, levels: int) -> None:
    rng = np.random.default_rng(levels)
    for _ in range(20):
        shots = cut(400, 30, rng)
        scores = np.repeat(rng.integers(1, levels + 1, 40) / levels, 10).astype(np.float32)
        lengths = (shots[:, 1] - shots[:, 0] + 1).tolist()
        expected = published_choice(worth(scores, shots, knapsack), lengths, 60)
        assert chosen_shots(key_shots(scores[None], shots, knapsack)[0], shots) == expected


def test_rows_do_not_depend_on_each_other_nor_on_how_many_fit_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    shots, scores = cut(500, 20, rng), rng.random((7, 500), np.float32)
    together = key_shots(scores, shots, "pgl-sum")
    monkeypatch.setattr(module, "_CELLS", 2 * 20 * 76)
    np.testing.assert_array_equal(key_shots(scores, shots, "pgl-sum"), together)
    np.testing.assert_array_equal(key_shots(scores[[3]], shots, "pgl-sum"), together[[3]])


def test_the_conventions_differ_in_rounding() -> None:
    shots = np.array([[0, 14], [15, 29], [30, 99]])
    scores = np.repeat(np.array([0.5001, 0.5009, 0.1], np.float32), [15, 15, 70])[None]
    assert chosen_shots(key_shots(scores, shots, "pgl-sum")[0], shots) == [False, True, False]
    assert chosen_shots(key_shots(scores, shots, "dsnet")[0], shots) == [True, False, False]


def test_the_conventions_differ_in_the_budget() -> None:
    shots = np.array([[0, 14], [15, 89]])  # ten frames at the end are in no shot
    scores = np.ones((1, 100), np.float32)
    assert key_shots(scores, shots, "dsnet").sum() == 15
    assert key_shots(scores, shots, "pgl-sum").sum() == 0


def test_dsnet_takes_a_first_shot_that_is_worth_nothing_where_it_fits() -> None:
    shots = np.array([[0, 4], [5, 9], [10, 19], [20, 99]])
    scores = np.repeat(np.array([0, 0, 1, 0], np.float32), [5, 5, 10, 80])[None]
    assert chosen_shots(key_shots(scores, shots, "dsnet")[0], shots) == [True, False, True, False]
    assert chosen_shots(key_shots(scores, shots, "pgl-sum")[0], shots) == [False, False, True, False]


def test_a_video_of_one_shot_has_an_empty_summary() -> None:
    assert not key_shots(np.ones((1, 50), np.float32), np.array([[0, 49]]), "dsnet").any()


def test_a_score_holds_until_the_next_pick() -> None:
    picks = np.array([1, 3, 6])
    frames = at_every_frame([[1, 2, 3], [4, 5, 6]], picks, 8)
    assert frames.tolist() == [[0, 1, 1, 2, 2, 2, 3, 3], [0, 4, 4, 5, 5, 5, 6, 6]]


def test_f_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    summaries, references = rng.random((4, 500)) < 0.15, rng.random((3, 500)) < 0.3
    from sklearn.metrics import f1_score

    expected = [[f1_score(reference, summary) for reference in references] for summary in summaries]
    np.testing.assert_allclose(f_measures(summaries, references, np.ones(500)), expected, rtol=1e-12)


def test_precision_and_recall_by_hand() -> None:
    summary, reference = [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0]
    precision, recall = 1 / 3, 1 / 2
    assert f_measures(summary, reference, [1] * 6).item() == pytest.approx(
        2 * precision * recall / (precision + recall)
    )


@pytest.mark.parametrize("reference", [[0, 0, 0], [0, 0, 1]])
def test_without_overlap_the_f_measure_is_zero(reference: list[int]) -> None:
    assert f_measures([[0, 0, 0], [1, 1, 0]], reference, [1, 1, 1]).tolist() == [[0], [0]]


@settings(max_examples=50)
@given(votes=st.lists(st.integers(0, 5), min_size=1, max_size=7), seed=st.integers(0, 1000))
def test_coverage_is_the_fraction_of_the_votes_that_as_many_frames_could_hold(
    votes: list[int], seed: int
) -> None:
    summary = np.random.default_rng(seed).random(len(votes)) < 0.5
    best = max(sum(choice) for choice in combinations(votes, int(summary.sum())))
    held = sum(vote for vote, chosen in zip(votes, summary, strict=True) if chosen)
    assert coverages(summary, votes, [1] * len(votes)).item() == pytest.approx(held / best if best else 0)


def test_frames_of_most_votes_cover_all_and_those_of_none_nothing() -> None:
    summaries = [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]]
    assert coverages(summaries, [3, 0, 2, 0, 1], [1] * 5).tolist() == [1, 0, 0]


def test_a_longer_summary_has_no_advantage() -> None:
    one, all_frames = coverages([[1, 0, 0], [1, 1, 1]], [2, 1, 1], [1, 1, 1])
    assert one == all_frames == 1


def test_summaries_may_have_different_votes() -> None:
    rng = np.random.default_rng(1)
    summaries, votes, lengths = rng.random((4, 9)) < 0.5, rng.integers(0, 5, (4, 9)), rng.integers(1, 9, 9)
    each = [coverages(summaries[row], votes[row], lengths).item() for row in range(4)]
    assert coverages(summaries, votes, lengths) == pytest.approx(each)


def test_a_segment_counts_as_all_its_frames() -> None:
    rng = np.random.default_rng(0)
    summaries, references = rng.random((4, 9)) < 0.5, rng.random((3, 9)) < 0.5
    votes, lengths = rng.integers(0, 5, 9), rng.integers(1, 9, 9)
    rows, others, counts = (np.repeat(array, lengths, axis=-1) for array in (summaries, references, votes))
    ones = np.ones(lengths.sum())
    assert f_measures(summaries, references, lengths) == pytest.approx(f_measures(rows, others, ones))
    assert coverages(summaries, votes, lengths) == pytest.approx(coverages(rows, counts, ones))
