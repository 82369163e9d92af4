"""Windows of a video: every moment is whole in one of them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.grounding.windows import windows_of

T = 16
SHARES = np.array([(first / T, (last + 1) / T) for first in range(T) for last in range(first, T)])
"""Of all proposals of a model of 16 clips."""


@given(n_rows=st.integers(1, 2000), shortest=st.integers(4, 64))
@settings(max_examples=60, deadline=None)
def test_windows_of_each_length_cover_the_video_and_the_last_is_all_of_it(n_rows: int, shortest: int) -> None:
    windows = windows_of(SHARES, shortest, n_rows, 1.0, float(n_rows))
    by_length: dict[int, np.ndarray] = {}
    for one in windows.rows:
        seen = by_length.setdefault(one.stop - one.start, np.zeros(n_rows, np.bool_))
        seen[one] = True
    assert all(seen.all() for seen in by_length.values())
    assert windows.rows[-1] == slice(0, n_rows)
    assert min(by_length) == min(shortest, n_rows)


@given(data=st.data(), n_rows=st.integers(1, 2000))
@settings(max_examples=100, deadline=None)
def test_every_moment_is_met_by_a_whole_proposal(data: st.DataObject, n_rows: int) -> None:
    """Of clips of a second, moments of two seconds or more have a proposal of IoU .5 or more."""
    start = data.draw(st.integers(0, n_rows - 1))
    end = data.draw(st.integers(min(start + 2, n_rows), n_rows))
    windows = windows_of(SHARES, T, n_rows, 1.0, float(n_rows))
    begins, ends = windows.intervals_s[windows.is_whole].T
    common = np.maximum(np.minimum(ends, end) - np.maximum(begins, start), 0)
    overlap = common / (np.maximum(ends, end) - np.minimum(begins, start))
    assert overlap.max() >= 0.5


def test_a_proposal_at_an_inner_edge_is_not_whole() -> None:
    windows = windows_of(SHARES, T, 40, 1.0, 40.0)
    for rows, of_window, whole in zip(windows.rows, windows.intervals_s, windows.is_whole, strict=True):
        touches = ((of_window[:, 0] == rows.start) & (rows.start > 0)) | (
            (of_window[:, 1] == rows.stop) & (rows.stop < 40)
        )
        assert np.array_equal(whole, ~touches)


def test_nothing_lies_beyond_the_end_of_the_video() -> None:
    windows = windows_of(SHARES, T, 11, 1.0, 10.3)
    assert windows.intervals_s.max() == 10.3
    kept = windows.intervals_s[windows.is_whole]
    assert (kept[:, 1] > kept[:, 0]).all()
    assert not windows.is_whole[0, -1]  # the last of 16 clips begins at 10.31 s
