"""Scatter of every segment, beside the mean and the distances written out."""

import numpy as np
import pytest

from vidsum.shots.kts import cost_band


def _written_out(rows: np.ndarray, longest: int, shortest: int) -> np.ndarray:
    band = np.full((len(rows) + 1, longest), np.inf)
    for end in range(1, len(rows) + 1):
        for start in range(max(0, end - longest), end - shortest + 1):
            segment = rows[start:end].astype(np.longdouble)
            band[end, start - end + longest] = ((segment - segment.mean(axis=0)) ** 2).sum()
    return band


@pytest.mark.parametrize(
    ("n", "longest", "shortest"), [(1, 1, 1), (7, 7, 1), (40, 6, 3), (300, 20, 1), (530, 4, 4), (270, 270, 1)]
)
def test_band_holds_the_scatter_of_each_segment(n: int, longest: int, shortest: int) -> None:
    rows = np.random.default_rng(n).standard_normal((n, 5)).astype(np.float32)
    np.testing.assert_allclose(
        cost_band(rows, longest, shortest), _written_out(rows, longest, shortest), rtol=1e-10, atol=1e-12
    )


def test_scatter_loses_no_digits_far_from_the_origin() -> None:
    near = np.random.default_rng(0).integers(0, 8, (600, 3)).astype(np.float64)
    np.testing.assert_allclose(cost_band(near + 2.0**24, 30), cost_band(near, 30), rtol=1e-9, atol=1e-9)


def test_rows_that_are_the_same_have_no_scatter() -> None:
    band = cost_band(np.full((400, 7), 0.1, np.float32), 50)
    assert np.abs(band[np.isfinite(band)]).max() < 1e-12
