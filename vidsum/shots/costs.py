"""Scatter of every stretch of a feature sequence up to a given length, without an n x n matrix."""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def cost_band(rows: npt.NDArray[np.floating], longest: int, shortest: int = 1) -> Matrix:
    """Sum of squared distances to the mean, for every stretch of `shortest` to `longest` rows.

    The scatter of a stretch is the sum of the squared distances of all its pairs of rows, over its length.
    Adding up those numbers, none of which is negative, loses no digits: neither far from the origin nor far
    into a video.

    Args:
        rows: [n, D] features.
        longest: L, most rows in a stretch.
        shortest: fewest rows in a stretch.

    Returns:
        [n + 1, L]; at [j, q] the scatter of rows[j - L + q : j], infinite where that stretch starts before
        row 0 or is too short. It takes 8 n L bytes.
    """
    n = len(rows)
    band = np.full((n + 1, longest), np.inf)
    block = max(longest, 256)
    lengths = np.arange(longest, 0, -1)
    for first_end in range(1, n + 1, block):
        last_end = min(first_end + block - 1, n)
        origin = max(0, first_end - longest)
        sums = _pair_sums(rows[origin:last_end])
        for end in range(first_end, last_end + 1):
            start = max(end - longest, 0)
            band[end, longest - (end - start) :] = sums[end - origin, start - origin : end - origin]
        band[first_end : last_end + 1] /= lengths
    if shortest > 1:
        band[:, longest - shortest + 1 :] = np.inf
    return band


def _pair_sums(rows: npt.NDArray[np.floating]) -> Matrix:
    """[w + 1, w + 1]; at [j, i] the sum of the squared distances of all pairs of rows in rows[i:j]."""
    local = rows.astype(np.float64)
    local -= local.mean(axis=0)
    squares = np.einsum("td,td->t", local, local)
    distances = squares[:, None] + squares[None, :] - 2 * (local @ local.T)
    earlier = np.tril(np.maximum(distances, 0), k=-1)
    to_row = np.cumsum(earlier[:, ::-1], axis=1)[:, ::-1]
    sums = np.zeros((len(rows) + 1, len(rows)))
    np.cumsum(to_row, axis=0, out=sums[1:])
    return sums
