"""Kernel temporal segmentation: the change points of a feature sequence, exactly, in O(n L) per trial price.

Potapov et al., "Category-specific video summarization", ECCV 2014, with a linear kernel: choose the number m
of change points and their positions so that

    scatter(m) / n + penalty * m / (2 n) * (log(n / m) + 1)

is least, where scatter is the sum over all shots of the squared distances of their features to the shot's
mean. docs/algorithms/kts.md proves why a search over prices of a shot finds the same minimum as all n layers
of the paper's dynamic programme.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt

from vidsum.types import IntArray

Matrix = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]

_TIE = 1e-12  # two totals closer than this fraction of the larger are a tie: rounding must not decide it


@dataclass(frozen=True)
class _Cut:
    """A segmentation: edges in rows [0, ..., n], scatter, and the price of a shot that led to it."""

    edges: tuple[int, ...]
    scatter: float
    price: float

    @property
    def shots(self) -> int:
        return len(self.edges) - 1


def change_points(
    rows: npt.NDArray[np.floating],
    *,
    penalty: float = 1.0,
    shortest: int = 1,
    longest: int | None = None,
    max_shots: int | None = None,
    weights: Weights | None = None,
    lengths: Weights | None = None,
) -> IntArray:
    """Return the rows at which a new shot starts, of the best segmentation.

    Ties go to fewer change points, then to the last change point that comes first, then the last but one, and
    so on.

    Args:
        rows: [n, D] features; the penalty suits rows of unit length.
        penalty: C vmax of the paper's g(m, n); positive. Larger gives fewer shots.
        shortest, longest: rows in a shot, both inclusive; `longest` None is no limit, and takes 8 n^2 bytes.
        max_shots: maximum number of shots; None is no limit.
        weights: [n] how often a row counts, 1 or more; as if it were repeated, and no shot began inside.
        lengths: [n] what a row adds to a shot's length for `shortest`; `longest` counts rows.

    Returns [m] ascending, each in 1 ... n - 1.

    Raises ValueError where no segmentation obeys the limits.
    """
    n = len(rows)
    longest = min(longest or n, n)
    most = min(max_shots or n, n if lengths is not None else n // shortest)
    if most * longest < n:
        raise ValueError(f"{n} rows do not fit into shots of {shortest} to {longest} rows, {most} at most")
    if n == 1:
        return np.zeros(0, np.int64)
    band = cost_band(rows, longest, shortest, weights, lengths)
    total = float(n if weights is None else weights.sum())
    best = _search_prices(band, penalty, total)
    if best.shots > most:
        best = _search_layers(band, penalty, most, total)
    return np.array(best.edges[1:-1], np.int64)


def _objective(scatter: float, shots: float, n: float, penalty: float) -> float:
    """Return n times the paper's objective; `shots` may lie between two whole numbers."""
    changes = shots - 1
    return scatter + (penalty / 2 * changes * (math.log(n / changes) + 1) if changes > 0 else 0.0)


def _search_prices(band: Matrix, penalty: float, n: float) -> _Cut:
    """Return the best segmentation into any number of shots; `n` is the sum of the rows' weights.

    The penalty is concave in the number of shots. So the optimum is a corner of the lower convex hull of
    scatter over the number of shots, and is the cheapest segmentation for some price of a shot between the
    penalty's last and first step. Each round splits the intervals of the hull that may still hold something
    better, or as good with fewer shots.
    """
    most = len(band) - 1
    first_step = _objective(0, 2, n, penalty)
    last_step = _objective(0, most, n, penalty) - _objective(0, most - 1, n, penalty)
    few, many = _cheapest(band, [first_step, last_step])
    cuts = [few, many]
    intervals = [(few, many)]
    while True:
        least = min(_objective(cut.scatter, cut.shots, n, penalty) for cut in cuts)
        ties = least + _TIE * least
        intervals = [pair for pair in intervals if _bound(*pair, n, penalty) <= ties]
        if not intervals:
            break
        # the price at which two segmentations cost the same
        chords = [(few.scatter - many.scatter) / (many.shots - few.shots) for few, many in intervals]
        middles = _cheapest(band, chords)
        split = []
        for (few, many), middle in zip(intervals, middles, strict=True):
            if few.shots < middle.shots < many.shots:
                cuts.append(middle)
                split += [(few, middle), (middle, many)]
        intervals = split
    best = (cut for cut in cuts if _objective(cut.scatter, cut.shots, n, penalty) <= ties)
    return min(best, key=lambda cut: cut.shots)


def _bound(few: _Cut, many: _Cut, n: float, penalty: float) -> float:
    """Return a lower bound on the objective strictly between two corners of the hull.

    Scatter lies above the tangents at the two corners; on each tangent the objective is concave, so
    it is least at the tangents' crossing or at a corner, which is known already.
    """
    if many.shots - few.shots < 2 or few.price <= many.price:
        return math.inf
    level_few = few.scatter + few.price * few.shots
    level_many = many.scatter + many.price * many.shots
    shots = (level_few - level_many) / (few.price - many.price)
    shots = min(max(shots, few.shots), many.shots)
    return _objective(level_few - few.price * shots, shots, n, penalty)


def _cheapest(band: Matrix, prices: list[float]) -> list[_Cut]:
    """Return, for each price of a shot, the segmentation with the least scatter + price * shots."""
    n, longest = len(band) - 1, band.shape[1]
    price = np.array(prices)
    # best[:, longest + j] is for the first j rows; the columns before stand for starts that do not exist
    best = np.full((len(prices), longest + n + 1), np.inf)
    best[:, longest] = 0
    for end in range(1, n + 1):
        best[:, longest + end] = (best[:, end : end + longest] + band[end]).min(axis=1) + price
    rows = zip(best, prices, strict=True)
    return [_trace(band, repeat(row), _TIE * row[-1], shot_price) for row, shot_price in rows]


def _trace(band: Matrix, totals: Iterable[npt.NDArray[np.float64]], slack: float, price: float) -> _Cut:
    """Return the segmentation that led to some totals: those before its last shot come first."""
    longest = band.shape[1]
    end = len(band) - 1
    edges, scatter = [end], 0.0
    for before in totals:
        column = _first_least(before[end : end + longest] + band[end], slack)
        scatter += float(band[end, column])
        end += column - longest
        edges.append(end)
        if end == 0:
            break
    return _Cut(tuple(reversed(edges)), scatter, price)


def _first_least(totals: npt.NDArray[np.float64], slack: float) -> int:
    return int(np.argmax(totals <= totals.min() + slack))


def _search_layers(band: Matrix, penalty: float, max_shots: int, total: float) -> _Cut:
    """Return the best segmentation into at most `max_shots` shots, by the paper's dynamic programme."""
    n, longest = len(band) - 1, band.shape[1]
    layers = np.full((max_shots + 1, longest + n + 1), np.inf)
    layers[0, longest] = 0
    for shots in range(1, max_shots + 1):
        _fill_layer(band, layers[shots - 1], layers[shots, longest:])
    totals = np.array([_objective(layers[k, -1], k, total, penalty) for k in range(1, max_shots + 1)])
    shots = 1 + _first_least(totals, _TIE * totals.min())
    return _trace(band, layers[shots - 1 :: -1], _TIE * layers[shots, -1], price=0.0)


def _fill_layer(band: Matrix, before: npt.NDArray[np.float64], layer: npt.NDArray[np.float64]) -> None:
    """Fill in the scatter of the first j rows in one shot more than `before`, in blocks of cache size."""
    windows = np.lib.stride_tricks.sliding_window_view(before, band.shape[1])
    block = max(1, 2**16 // band.shape[1])
    for start in range(0, len(band), block):
        stop = min(start + block, len(band))
        layer[start:stop] = (windows[start:stop] + band[start:stop]).min(axis=1)


def cost_band(
    rows: npt.NDArray[np.floating],
    longest: int,
    shortest: float = 1,
    weights: Weights | None = None,
    lengths: Weights | None = None,
) -> Matrix:
    """Return the sum of squared distances to the mean of every segment of `shortest` to `longest` rows.

    The scatter of a segment is the sum of the squared distances of all its pairs of rows, over its length.
    None of these is negative, so their sum loses no digits, far from the origin or far into a video.

    Args:
        rows: [n, D] features.
        longest: L, maximum number of rows in a segment.
        shortest: minimum number of rows in a segment, or of their `lengths` [n].
        weights: [n] how often each row counts.

    Returns [n + 1, L]; at [j, q] the scatter of rows[j - L + q : j], infinite where that segment starts
    before row 0 or is too short. It takes 8 n L bytes.
    """
    n = len(rows)
    band = np.full((n + 1, longest), np.inf)
    block = max(longest, 256)
    for first_end in range(1, n + 1, block):
        last_end = min(first_end + block - 1, n)
        origin = max(0, first_end - longest)
        sums = _pair_sums(rows[origin:last_end], None if weights is None else weights[origin:last_end])
        for end in range(first_end, last_end + 1):
            start = max(end - longest, 0)
            band[end, longest - (end - start) :] = sums[end - origin, start - origin : end - origin]
    # in place: of a long video, the band is most of the memory
    band /= np.arange(longest, 0, -1) if weights is None else _sums_before(weights, longest)
    if lengths is not None:
        band[_sums_before(lengths, longest) < shortest] = np.inf
    elif shortest > 1:
        band[:, longest - int(shortest) + 1 :] = np.inf
    return band


def _sums_before(values: Weights, longest: int) -> Matrix:
    """Return [n + 1, L]; at [j, q] the sum of values[j - L + q : j]; 1 where that starts before the first."""
    sums = np.append(0.0, np.cumsum(values, dtype=np.float64))
    starts = np.arange(len(sums))[:, None] + np.arange(-longest, 0)
    return np.where(starts < 0, 1.0, sums[:, None] - sums[np.maximum(starts, 0)])


def _pair_sums(rows: npt.NDArray[np.floating], weights: Weights | None = None) -> Matrix:
    """Return [w + 1, w + 1]; at [j, i] the sum of the squared distances of all pairs of rows in rows[i:j]."""
    local = rows.astype(np.float64)
    local -= local.mean(axis=0)
    squares = np.einsum("td,td->t", local, local)
    distances = squares[:, None] + squares[None, :] - 2 * (local @ local.T)
    if weights is not None:
        distances *= weights[:, None] * weights
    earlier = np.tril(np.maximum(distances, 0), k=-1)
    to_row = np.cumsum(earlier[:, ::-1], axis=1)[:, ::-1]
    sums = np.zeros((len(rows) + 1, len(rows)))
    np.cumsum(to_row, axis=0, out=sums[1:])
    return sums
