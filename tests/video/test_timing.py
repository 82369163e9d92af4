"""The rhythm of frames: holes do not slow it, and are counted in frames."""

import numpy as np
import pytest

from vidsum.video.timing import _rhythm


@pytest.mark.parametrize("lengths", [(), (12,), (12, 40)])
def test_holes_are_left_out_and_counted_in_frames(lengths: tuple[int, ...]) -> None:
    starts = 50 * (1 + np.arange(len(lengths)))
    is_lost = np.zeros(200, bool)
    for start, length in zip(starts, lengths, strict=True):
        is_lost[start : start + length] = True
    step_s, is_vfr, n_missing = _rhythm(np.flatnonzero(~is_lost) / 25, 1.0)
    assert (step_s, is_vfr, n_missing) == (pytest.approx(0.04), False, sum(lengths))


def test_gaps_of_every_length_are_a_rate_that_varies() -> None:
    frames_s = np.cumsum(np.random.default_rng(0).uniform(0.02, 0.06, 100))
    step_s, is_vfr, n_missing = _rhythm(frames_s, 1.0)
    assert (step_s, is_vfr, n_missing) == (pytest.approx(np.diff(frames_s).mean()), True, 0)


def test_one_frame_has_the_step_that_is_given() -> None:
    assert _rhythm(np.zeros(1), 0.04) == (0.04, False, 0)
