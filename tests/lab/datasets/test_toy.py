"""Toy data: the windows are where they are said to be, and the same seeds give the same."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import DIM_QUERY, DIM_VIDEO, Toy, draw_highlights, draw_moments, patterns_of

FEW = Toy(n_videos=3)


@given(
    clips=st.integers(4, 40),
    segments=st.integers(1, 10),
    n_queries=st.integers(1, 10),
    seed=st.integers(0, 99),
)
def test_each_query_is_true_in_its_window_and_nowhere_else(
    clips: int, segments: int, n_queries: int, seed: int
) -> None:
    if n_queries > segments or clips < 2 * segments:
        with pytest.raises(UsageError, match="do not fit into"):
            Toy(clips=clips, segments=segments, queries=n_queries)
        return
    how = Toy(n_videos=1, clips=clips, segments=segments, queries=n_queries, noise=0)
    for example in draw_moments(how, seed):
        assert example.video.shape == (clips, DIM_VIDEO)
        assert example.queries.shape == (n_queries, DIM_QUERY)
        for pattern, window in zip(patterns_of(example.queries), example.windows, strict=True):
            shown = np.isclose(example.video, pattern, atol=1e-5).all(axis=1)
            first, end = np.round(window * clips).astype(int)
            assert end - first >= 2
            assert np.flatnonzero(shown).tolist() == list(range(first, end))


@pytest.mark.parametrize("draw", [draw_moments, draw_highlights])
def test_seeds_decide_the_draw(draw: Any) -> None:
    first, again, other, later = (draw(FEW, *seeds) for seeds in [(1, 2), (1, 2), (2, 2), (1, 3)])
    for one, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.video, same.video)
        np.testing.assert_array_equal(one.windows, same.windows)
    for different in (other, later):
        assert not np.allclose(first[0].video, different[0].video)
    per_query = [0, 0, 1, 1, 2, 2] if draw is draw_highlights else [0, 1, 2]
    assert [example.name for example in first] == [f"toy_{number}" for number in per_query]


def test_words_add_up_to_the_query_whose_clips_are_salient() -> None:
    how = Toy(n_videos=30, noise=0, clips=12, segments=2, queries=1)
    examples = draw_highlights(how, 3)
    assert {len(example.words) for example in examples} == {1, 2, 3, 4}
    for example in examples:
        (pattern,) = patterns_of(example.words.sum(axis=0, keepdims=True))
        shown = np.isclose(example.video[:, :DIM_VIDEO], pattern, atol=1e-4).all(axis=1)
        assert np.array_equal(example.saliency, 12 * shown)
        first, end = np.round(example.windows[0] * how.clips).astype(int)
        assert np.flatnonzero(shown).tolist() == list(range(first, end))
