"""The knapsack where items repeat each other: which shots to take if a repetition is worth less. Exact.

As in `knapsack`, a relaxation settles most items, and what is left goes through a dynamic programme. Here the
relaxation puts a price on each frame, so that groups of repetitions can be judged one by one.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.summary.knapsack import BoolArray, IntArray, knapsack

Floats = npt.NDArray[np.float64]

_PRICE_STEPS = 60
"""Thirds by which the price of a frame is found."""


def grouped_knapsack(
    values: IntArray, again: IntArray, weights: IntArray, groups: IntArray, capacity: int
) -> BoolArray:
    """Which items to take for the highest total value, where items of a group repeat each other.

    Of the items taken of a group one counts in full, that with the highest `values - again`; the others count
    with `again`. Exact. With groups of one item it is `knapsack`; otherwise it takes any of several best
    choices, the same each time. No item with a value is left that would still fit.

    Args:
        values: [S] whole numbers >= 0, their sum below 2^62.
        again: [S] from 1 to the value; 0 for items without value, which are not taken.
        weights: [S] whole numbers >= 1.
        groups: [S] the number of each item's group.
        capacity: maximum total weight, >= 0.

    Returns:
        [S] whether each is taken.
    """
    useful = np.flatnonzero((values > 0) & (weights <= capacity))
    if len(np.unique(groups[useful])) == len(useful):
        return knapsack(values, weights, capacity)
    taken = np.zeros(len(values), np.bool_)
    if weights[useful].sum() <= capacity:
        taken[useful] = True
        return taken
    order = useful[np.lexsort((useful, groups[useful]))]
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    is_in, is_open = _settle_groups(values[order], again[order], weights[order], starts, capacity)
    # where the item that would count in full is in, the others of its group count again, by themselves
    gains = np.where(is_in | is_open, values[order] - again[order], -1)
    leads = _first_of_highest(gains, starts)
    is_settled = np.repeat(is_in[leads], np.diff(starts, append=len(order)))
    taken[order[is_in & is_settled]] = True
    left = capacity - int(weights[taken].sum())
    is_core = ~(is_in & is_settled) & (is_in | is_open) & (weights[order] <= left)
    core, alone = order[is_core], is_settled[is_core]
    worth = values.copy()
    worth[core[alone]] = again[core[alone]]
    members = [*core[alone][:, None], *_members(core[~alone], groups[core[~alone]], values - again)]
    taken[_grouped_programme(worth, again, weights, members, left)] = True
    return taken


def _first_of_highest(numbers: npt.NDArray[Any], starts: IntArray) -> IntArray:
    """Index of the highest number of each group, the first of several."""
    groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(numbers)))
    return np.lexsort((-numbers, groups))[starts]


def _members(items: IntArray, groups: IntArray, gains: IntArray) -> list[IntArray]:
    """The items of each group, that first which counts in full if it is taken."""
    of_groups = np.split(items, np.flatnonzero(np.diff(groups)) + 1) if len(items) else []
    return [members[np.argsort(-gains[members], kind="stable")] for members in of_groups]


def _settle_groups(
    values: IntArray, again: IntArray, weights: IntArray, starts: IntArray, capacity: int
) -> tuple[BoolArray, BoolArray]:
    """As `_settle`, for items in order of their groups, which begin at `starts`; by Lagrangian relaxation.

    With a price p per frame, groups do not depend on each other, and

        bound(p) = p capacity + sum over groups ( sum r_i + max(0, max f_i) ),
        r_i = max(0, again_i - p weight_i),   f_i = value_i - p weight_i - r_i

    is at least the best value: f_i is what item i adds if it is the one that counts in full. An item is
    settled where the bound with its other choice falls short of a known solution.
    """

    def bound(price: float) -> float:
        return float(_relaxed(values, again, weights, starts, price)[2].sum() + price * capacity)

    high, low = float((values / weights).max()), 0.0
    for _ in range(_PRICE_STEPS):  # the bound is convex in the price
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if bound(first) <= bound(second) else (first, high)
    price = (low + high) / 2
    repeated, gains, of_groups = _relaxed(values, again, weights, starts, price)
    sizes = np.diff(starts, append=len(values))
    without = np.maximum(_best_of_others(gains, starts, sizes), 0)
    rest = np.repeat(np.add.reduceat(repeated, starts), sizes) - repeated
    other_groups = of_groups.sum() + price * capacity - np.repeat(of_groups, sizes)
    if_out = other_groups + rest + without
    if_in = other_groups + rest + np.maximum(values, again + without) - price * weights
    least = _filled(values, again, weights, _first_of_highest(gains, starts), capacity)
    least -= 1 + 1e-9 * least  # more than the rounding of the bounds
    is_in, is_out = if_out < least, if_in < least
    return is_in & ~is_out, is_in == is_out


def _relaxed(
    values: IntArray, again: IntArray, weights: IntArray, starts: IntArray, price: float
) -> tuple[Floats, Floats, Floats]:
    """r and f of the items, and the sum of each group."""
    repeated = np.maximum(again - price * weights, 0)
    gains = values - price * weights - repeated
    best = np.maximum(np.maximum.reduceat(gains, starts), 0)
    return repeated, gains, np.add.reduceat(repeated, starts) + best


def _best_of_others(gains: Floats, starts: IntArray, sizes: IntArray) -> Floats:
    """For each item the highest gain among the others of its group; -inf if it is alone."""
    best = np.repeat(np.maximum.reduceat(gains, starts), sizes)
    rank = np.lexsort((-gains, np.repeat(np.arange(len(starts)), sizes)))
    second = np.full(len(starts), -np.inf)
    several = sizes > 1
    second[several] = gains[rank[starts[several] + 1]]
    is_best = np.zeros(len(gains), np.bool_)
    is_best[rank[starts]] = True
    return np.where(is_best, np.repeat(second, sizes), best)


def _filled(values: IntArray, again: IntArray, weights: IntArray, leads: IntArray, capacity: int) -> float:
    """Value of a good solution: the leading items in full, the others again, the most worth a frame first."""
    worth = again.copy()
    worth[leads] = values[leads]
    total, room = 0, capacity
    order = np.argsort(-worth / weights, kind="stable")
    for value, weight in zip(worth[order].tolist(), weights[order].tolist(), strict=True):
        if weight <= room:
            total, room = total + value, room - weight
    return float(max(total, int(values.max())))


def _grouped_programme(
    values: IntArray, again: IntArray, weights: IntArray, groups: list[IntArray], capacity: int
) -> list[int]:
    """Indices of the items to take; of each group the first one taken counts in full.

    From the last item of the last group to the first: `best` has the value of what comes later, if no item of
    the group is taken before, and `repeated` if one is. The bits of both choices are kept.
    """
    best = np.zeros(capacity + 1, np.int64)
    takes: list[tuple[int, npt.NDArray[np.uint8], npt.NDArray[np.uint8]]] = []
    for members in reversed(groups):
        repeated = best.copy()
        for item in reversed(members.tolist()):
            weight = int(weights[item])
            first = repeated[: capacity + 1 - weight] + values[item]
            later = repeated[: capacity + 1 - weight] + again[item]
            takes.append((item, np.packbits(first >= best[weight:]), np.packbits(later >= repeated[weight:])))
            np.maximum(best[weight:], first, out=best[weight:])
            np.maximum(repeated[weight:], later, out=repeated[weight:])
    chosen, starts, is_repeated = list[int](), {int(members[0]) for members in groups}, False
    for item, as_first, as_repetition in reversed(takes):
        is_repeated = is_repeated and item not in starts
        bits, bit = as_repetition if is_repeated else as_first, capacity - int(weights[item])
        if bit >= 0 and bits[bit >> 3] & (128 >> (bit & 7)):
            chosen.append(item)
            capacity, is_repeated = bit, True
    return chosen
