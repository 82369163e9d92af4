"""The exact 0/1 knapsack: which shots give the highest sum of values within a number of frames.

First the linear relaxation settles most shots: one whose other choice cannot reach a known good solution is
in, or out, for good (Dembo and Hammer 1980). What is left, the core, goes through the dynamic programme over
frames. Values are whole numbers, so that sums are exact and ties are ties.
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
    them does, then the second, and so on. Items without value are not taken.
    """
    taken = np.zeros(len(values), np.bool_)
    useful = np.flatnonzero((values > 0) & (weights <= capacity))
    if weights[useful].sum() <= capacity:
        taken[useful] = True
        return taken
    certain, is_open = _settle(values[useful], weights[useful], capacity)
    taken[useful[certain]] = True
    left = capacity - int(weights[taken].sum())
    core = useful[is_open & (weights[useful] <= left)]
    taken[core[_dynamic_programme(values[core], weights[core], left)]] = True
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
    """Value of a good solution: each item in turn, the most worth a frame first, if it still fits."""
    total, room = 0, capacity
    for value, weight in zip(values[order].tolist(), weights[order].tolist(), strict=True):
        if weight <= room:
            total, room = total + value, room - weight
    return max(total, int(values.max()))


def _dynamic_programme(values: IntArray, weights: IntArray, capacity: int) -> IntArray:
    """Indices of the items to take: the best value for each capacity, from the last item to the first.

    With item i only capacities between `low` (all items before it taken) and `high` (room for all from it on)
    matter: the higher the capacity, the fewer they are again.
    """
    if len(values) == 0:
        return np.zeros(0, np.int64)
    unit = int(np.gcd.reduce(weights))
    weights, capacity = weights // unit, capacity // unit
    before = np.concatenate([[0], np.cumsum(weights)])
    highs = np.minimum(before[-1] - before[:-1], capacity).tolist()
    lows = np.clip(capacity - before[:-1], 0, highs).tolist()
    best = np.zeros(capacity + 1, np.int64)
    takes: list[npt.NDArray[np.uint8]] = []
    high_after, all_after = 0, 0
    for item in range(len(values) - 1, -1, -1):
        weight, value, low, high = int(weights[item]), int(values[item]), lows[item], highs[item]
        best[high_after + 1 : high + 1] = all_after
        start = max(low, weight)
        with_item = best[start - weight : high + 1 - weight] + value
        takes.append(np.packbits(with_item >= best[start : high + 1]))
        np.maximum(best[start : high + 1], with_item, out=best[start : high + 1])
        high_after, all_after = high, all_after + value
    return _trace(takes[::-1], weights.tolist(), lows, highs, capacity)


def _trace(
    takes: list[npt.NDArray[np.uint8]], weights: list[int], lows: list[int], highs: list[int], capacity: int
) -> IntArray:
    """Follow the choices from the first item on; `takes[i]` has a bit per capacity."""
    chosen = []
    for item, (bits, weight, low, high) in enumerate(zip(takes, weights, lows, highs, strict=True)):
        bit = min(capacity, high) - max(low, weight)
        if bit >= 0 and bits[bit >> 3] & (128 >> (bit & 7)):
            chosen.append(item)
            capacity -= weight
    return np.array(chosen, np.int64)
