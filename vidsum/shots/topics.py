"""Topic boundaries: where a talk, or a film, is best cut into chapters. The optimum is exact.

Utiyama and Isahara, "A statistical model for domain-independent text segmentation", ACL 2001, cut a text by
the shortest path over its sentences. Here a chapter costs its scatter, the weighted sum of the squared
distances of its rows to their mean, and a price: of all cuts, the cheapest is returned.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from vidsum.types import BoolArray, FloatArray, IntArray, TimeArray

_Costs = tuple[list[int], npt.NDArray[np.float64]]

_BLOCK = 256  # ends whose costs are in memory at once


def cut_topics(
    rows: FloatArray,
    starts_s: TimeArray,
    end_s: float,
    price: npt.ArrayLike,
    *,
    weights: npt.ArrayLike = 1.0,
    min_s: float = 0.0,
    count: int = 1,
    or_more: bool = True,
) -> list[int] | None:
    """Return the first row of each chapter of the cheapest cut; None where no cut obeys the limits.

    A cut costs the sum of the scatters and the prices of its chapters. The dynamic programme takes
    O(n^2 (D + count)) time and O(n (D + count)) memory.

    Args:
        rows: [n, D] of sentences or shots, in time order.
        starts_s: [n] seconds, ascending; the first chapter may begin earlier, with the video at 0.
        end_s: the video's end.
        price: of a chapter, in squared distance, [n] by its first row or one for all; larger gives fewer
            chapters.
        weights: [n] how much each row counts.
        min_s: shortest chapter.
        count: number of chapters; with `or_more` the least number.
        or_more: whether there may be more chapters than `count`.
    """
    n = len(rows)
    prices = np.broadcast_to(np.asarray(price, np.float64), n)
    edges_s = np.append(np.asarray(starts_s, np.float64), end_s)
    edges_s[:1] = min(0.0, edges_s[0])
    best = np.full((count + 1, n + 1), np.inf)  # [k, j] of the first j rows in k chapters
    best[0, 0] = 0
    before = np.zeros((count + 1, n + 1), np.int64)  # the first row of the last of these chapters
    stays = np.zeros(n + 1, bool)  # whether row `count` was reached from itself: by one more chapter
    for ends, costs in _iter_scatter(rows, np.broadcast_to(np.asarray(weights, np.float64), n)):
        for end, cost in zip(ends, costs, strict=True):
            n_starts = int(np.searchsorted(edges_s[:end], edges_s[end] - min_s, side="right"))
            if n_starts == 0:
                continue
            totals = best[:, :n_starts] + cost[:n_starts] + prices[:n_starts]
            starts = totals.argmin(axis=1)
            least = totals[np.arange(count + 1), starts]
            best[1:, end], before[1:, end] = least[:-1], starts[:-1]
            if or_more and least[-1] < best[-1, end]:
                best[-1, end], before[-1, end], stays[end] = least[-1], starts[-1], True
    return _trace(before, stays) if np.isfinite(best[-1, n]) else None


def _iter_scatter(rows: FloatArray, weights: npt.NDArray[np.float64]) -> Iterator[_Costs]:
    """Yield ends [B], and costs [B, n]: at [b, i] the scatter of the rows from i to the end b."""
    local = np.asarray(rows, np.float64)
    local = local - np.average(local, axis=0, weights=weights)
    sums = np.vstack([np.zeros(local.shape[1]), np.cumsum(local * weights[:, None], axis=0)])
    mass = np.append(0.0, np.cumsum(weights))
    energy = np.append(0.0, np.cumsum(weights * (local**2).sum(axis=1)))
    squares = (sums**2).sum(axis=1)
    for first in range(1, len(mass), _BLOCK):
        ends = np.arange(first, min(first + _BLOCK, len(mass)))
        lengths = mass[ends, None] - mass[None, : ends[-1]]
        apart = squares[ends, None] + squares[None, : ends[-1]] - 2 * sums[ends] @ sums[: ends[-1]].T
        with np.errstate(divide="ignore", invalid="ignore"):  # starts at or behind an end, which are not read
            costs = energy[ends, None] - energy[None, : ends[-1]] - apart / lengths
        yield ends.tolist(), costs


def _trace(before: IntArray, stays: BoolArray) -> list[int]:
    chapters, end = len(before) - 1, before.shape[1] - 1
    starts = list[int]()
    while end > 0:
        is_last = chapters == len(before) - 1
        start = int(before[chapters, end])
        chapters -= not (is_last and stays[end])
        end = start
        starts.append(start)
    return starts[::-1]
