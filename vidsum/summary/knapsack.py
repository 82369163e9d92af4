"""The exact 0/1 knapsack: which shots give the highest sum of values within a number of frames.

The dynamic programme over frames, from the last item to the first. Values are whole numbers, so that sums are
exact and ties are ties.
"""

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

SCORE_STEPS = 2**32  # scores are compared in steps of 1 / SCORE_STEPS, finer than float32


def values_of(scores: npt.ArrayLike) -> IntArray:
    """Scores in [0, 1] as whole numbers for `knapsack`, which may be multiplied by numbers of frames."""
    return np.round(np.asarray(scores, np.float64) * SCORE_STEPS).astype(np.int64)


def knapsack(values: IntArray, weights: IntArray, capacity: int) -> BoolArray:
    """Return [S] which items to take for the highest total of whole `values` [S] within the capacity.

    Whole `weights` [S] are at least 1. Of several best choices, that which takes the first item if any of
    them does, then the second, and so on. Items without value are not taken. It takes O(S capacity) time, and
    as many bits of memory.
    """
    taken = np.zeros(len(values), np.bool_)
    useful = np.flatnonzero((values > 0) & (weights <= capacity))
    if weights[useful].sum() <= capacity:
        taken[useful] = True
        return taken
    unit = int(np.gcd.reduce(weights[useful]))
    sizes, room = (weights[useful] // unit).tolist(), capacity // unit
    best = np.zeros(room + 1, np.int64)  # highest total of the items so far within each capacity
    takes = list[npt.NDArray[np.uint8]]()  # of each item, a bit for each capacity that it fits into
    for size, value in zip(sizes[::-1], values[useful][::-1].tolist(), strict=True):
        with_item = best[: room + 1 - size] + value
        takes.append(np.packbits(with_item >= best[size:]))
        np.maximum(best[size:], with_item, out=best[size:])
    for item, size, bits in zip(useful, sizes, takes[::-1], strict=True):
        bit = room - size
        if bit >= 0 and bits[bit >> 3] & (128 >> (bit & 7)):
            taken[item] = True
            room -= size
    return taken
