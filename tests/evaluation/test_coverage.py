"""Coverage against the best summary of the same length, found by trying all."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.evaluation.coverage import coverages


@given(votes=st.lists(st.integers(0, 5), min_size=1, max_size=7), seed=st.integers(0, 1000))
def test_it_is_the_share_of_what_as_many_frames_could_hold(votes: list[int], seed: int) -> None:
    summary = np.random.default_rng(seed).random(len(votes)) < 0.5
    best = max(sum(choice) for choice in combinations(votes, int(summary.sum())))
    held = sum(vote for vote, chosen in zip(votes, summary, strict=True) if chosen)
    assert coverages(summary, votes).item() == pytest.approx(held / best if best else 0)


def test_the_most_wanted_frames_cover_all_and_the_unwanted_nothing() -> None:
    votes = [3, 0, 2, 0, 1]
    assert coverages([[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], votes).tolist() == [1, 0, 0]


def test_a_longer_summary_has_no_advantage() -> None:
    one, all_frames = coverages([[1, 0, 0], [1, 1, 1]], [2, 1, 1])
    assert one == all_frames == 1
