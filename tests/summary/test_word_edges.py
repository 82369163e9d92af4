"""Edges of shots that keep clear of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.summary.selection import select
from vidsum.summary.word_edges import clear_of_words, inside_words, longest_run
from vidsum.types import Features, Shots


def cleared(edges: list[int], words: list[tuple[float, float]], fps: float = 10.0) -> list[int]:
    rows = np.array(edges)
    return clear_of_words(rows, inside_words(words, fps, edges[-1])).tolist()


def test_an_edge_inside_a_word_moves_to_the_nearest_frame_outside() -> None:
    words = [(1.0, 2.0), (2.0, 3.0), (5.02, 5.98)]
    moved = cleared([0, 11, 27, 40, 52, 100], words)
    assert moved == [0, 10, 30, 40, 50, 100]  # 2.0 s lies between two words, 5.0 s before one


def test_edges_that_meet_become_one_and_the_ends_stay() -> None:
    assert cleared([0, 3, 5, 9], [(0.0, 0.9)]) == [0, 9]
    assert cleared([0, 4, 9], [(-1.0, 5.0)]) == [0, 9]


def test_the_longest_speech_without_a_place_to_cut() -> None:
    assert longest_run(inside_words([(1.0, 2.0), (1.95, 2.5), (4.0, 4.3)], 10.0, 100)) == 14
    assert longest_run(inside_words([], 10.0, 100)) == 0


@given(
    st.lists(st.integers(1, 99), max_size=8),
    st.lists(st.tuples(st.floats(0, 9), st.floats(0.05, 1.5)), max_size=8),
)
def test_no_edge_lies_inside_a_word(inner: list[int], spans: list[tuple[float, float]]) -> None:
    words = [(start, start + length) for start, length in spans]
    for edge in cleared([0, *sorted(set(inner)), 100], words)[1:-1]:
        assert not any(start < edge / 10 < end for start, end in words)


@pytest.mark.parametrize("budget_s", [9.0, 1.5])
def test_a_summary_has_no_cut_inside_a_word(budget_s: float) -> None:
    features = Features.from_array(np.random.default_rng(0).normal(size=(60, 8)), fps=2.0)
    shots = Shots(np.arange(0, 31, 2.0), "uniform")
    importance = np.random.default_rng(1).random(60).astype(np.float32)
    words = [(start + 0.3, start + 0.9) for start in np.arange(1.5, 29, 1.0).tolist()]
    without = select(features, shots, importance, budget_s).segments
    chosen = select(features, shots, importance, budget_s, words=words).segments

    def cuts(segments: tuple[tuple[float, float], ...]) -> int:
        edges = [edge for segment in segments for edge in segment]
        return sum(start < edge < end for edge in edges for start, end in words)

    assert cuts(without) > 0
    assert cuts(chosen) == 0
    assert 0 < sum(end - start for start, end in chosen) <= budget_s


def test_what_is_kept_is_kept_to_the_frame() -> None:
    features = Features.from_array(np.ones((20, 4)), fps=2.0)
    shots = Shots(np.array([0.0, 5.0, 10.0]), "uniform")
    importance = np.ones(20, np.float32)
    keep, words = [(2.0, 3.0)], [(1.8, 2.2), (4.8, 5.2)]
    chosen = select(features, shots, importance, 1.0, keep=keep, words=words)
    assert chosen.segments == ((2.0, 3.0),)
    assert not any(shot.end_s == pytest.approx(5.0) for shot in chosen.shots)
