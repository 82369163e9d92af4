"""Coverage against the best summary of the same length, found by trying all."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.evaluation.key_shots import coverages


@given(votes=st.lists(st.integers(0, 5), min_size=1, max_size=7), seed=st.integers(0, 1000))
def test_it_is_the_share_of_what_as_many_frames_could_hold(votes: list[int], seed: int) -> None:
    summary = np.random.default_rng(seed).random(len(votes)) < 0.5
    best = max(sum(choice) for choice in combinations(votes, int(summary.sum())))
    held = sum(vote for vote, chosen in zip(votes, summary, strict=True) if chosen)
    assert coverages(summary, votes, [1] * len(votes)).item() == pytest.approx(held / best if best else 0)


def test_the_most_wanted_frames_cover_all_and_the_unwanted_nothing() -> None:
    summaries = [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]]
    assert coverages(summaries, [3, 0, 2, 0, 1], [1] * 5).tolist() == [1, 0, 0]


def test_a_longer_summary_has_no_advantage() -> None:
    one, all_frames = coverages([[1, 0, 0], [1, 1, 1]], [2, 1, 1], [1, 1, 1])
    assert one == all_frames == 1


def test_a_stretch_counts_as_all_its_frames() -> None:
    rng = np.random.default_rng(0)
    summaries, votes, lengths = rng.random((4, 9)) < 0.5, rng.integers(0, 5, 9), rng.integers(1, 9, 9)
    frames = np.repeat(summaries, lengths, axis=1), np.repeat(votes, lengths)
    assert coverages(summaries, votes, lengths) == pytest.approx(coverages(*frames, np.ones(lengths.sum())))


def test_each_summary_may_have_votes_of_its_own() -> None:
    rng = np.random.default_rng(1)
    summaries, votes, lengths = rng.random((4, 9)) < 0.5, rng.integers(0, 5, (4, 9)), rng.integers(1, 9, 9)
    each = [coverages(summaries[row], votes[row], lengths).item() for row in range(4)]
    assert coverages(summaries, votes, lengths) == pytest.approx(each)
