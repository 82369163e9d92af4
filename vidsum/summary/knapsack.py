"""The exact 0/1 knapsack: which shots give the highest sum of values within a number of frames.

First the linear relaxation settles most shots: one whose other choice cannot reach a known good solution is
in, or out, for good (Dembo and Hammer 1980). What is left, the core, goes through the dynamic programme over
frames. Values are whole numbers, so that sums are exact and ties are ties.
"""

import numpy as np
import numpy.typing as npt

from vidsum.types import BoolArray, IntArray

SCORE_STEPS = 2**32  # scores are compared in steps of 1 / SCORE_STEPS, finer than float32


def values_of(scores: npt.ArrayLike) -> IntArray:
    """Scores in [0, 1] as whole numbers for `knapsack`, which may be multiplied by numbers of frames."""
    return np.round(np.asarray(scores, np.float64) * SCORE_STEPS).astype(np.int64)


def knapsack(values: IntArray, weights: IntArray, capacity: int) -> BoolArray:
    """Return [S] which items to take for the highest total of whole `values` [S] within the capacity.

    Whole `weights` [S] are at least 1. Of several best choices, that which takes the first item if any of
    them does, then the second, and so on. Items without value are not taken.
    """
    taken = np.zeros(len(values), np.bool_)
    useful = np.flatnonzero((values > 0) & (weights <= capacity))
    if weights[useful].sum() <= capacity:
        taken[useful] = True
        return taken
    certain, is_open = _settle(values[useful], weights[useful], capacity)
    taken[useful[certain]] = True
    room = capacity - int(weights[taken].sum())
    core = useful[is_open & (weights[useful] <= room)]
    taken[core] = _dynamic_programme(values[core], weights[core], room)
    return taken


def _settle(values: IntArray, weights: IntArray, capacity: int) -> tuple[BoolArray, BoolArray]:
    """Return which items are certainly in, and which are still open; the others are certainly out.

    The bound on what an item's other choice can still reach is compared with a known solution. Only what
    falls strictly short is settled: every best choice, ties too, is left possible.
    """
    order = np.argsort(-values / weights, kind="stable")
    filled = np.cumsum(weights[order])
    n_before = int(np.searchsorted(filled, capacity, side="right"))  # items that the relaxation takes whole
    inside = np.zeros(len(values), np.bool_)
    inside[order[:n_before]] = True
    room = capacity - int(filled[n_before - 1] if n_before else 0)
    break_value, break_weight = int(values[order[n_before]]), int(weights[order[n_before]])
    # room after the item's other choice; the products stay below 2^62 for 2^28 frames worth 2^32 each
    room_then = np.where(inside, room + weights, room - weights)
    value_then = int(values[inside].sum()) + np.where(inside, -values, values)
    per_frame, remainder = divmod(break_value, break_weight)
    bound = value_then + room_then * per_frame + room_then * remainder // break_weight
    # one more, as float densities may put two in the wrong order that are nearly the same
    settled = bound + 1 < _greedy(values, weights, capacity, order)
    return settled & inside, ~settled


def _greedy(values: IntArray, weights: IntArray, capacity: int, order: IntArray) -> int:
    """Return the value of a good solution: each item in turn, the most worth a frame first, if it fits."""
    total, room = 0, capacity
    for value, weight in zip(values[order].tolist(), weights[order].tolist(), strict=True):
        if weight <= room:
            total, room = total + value, room - weight
    return max(total, int(values.max()))


def _dynamic_programme(values: IntArray, weights: IntArray, capacity: int) -> BoolArray:
    """Return [S] which items to take, by the best value of each capacity, from the last item to the first."""
    unit = int(np.gcd.reduce(weights)) or 1
    sizes, room = (weights // unit).tolist(), capacity // unit
    best = np.zeros(room + 1, np.int64)
    takes = list[npt.NDArray[np.uint8]]()  # of each item, a bit for each capacity that it fits into
    for size, value in zip(sizes[::-1], values[::-1].tolist(), strict=True):
        with_item = best[: room + 1 - size] + value
        takes.append(np.packbits(with_item >= best[size:]))
        np.maximum(best[size:], with_item, out=best[size:])
    taken = np.zeros(len(values), np.bool_)
    for item, (size, bits) in enumerate(zip(sizes, takes[::-1], strict=True)):
        bit = room - size
        if bit >= 0 and bits[bit >> 3] & (128 >> (bit & 7)):
            taken[item] = True
            room -= size
    return taken
