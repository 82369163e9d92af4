"""Maximise a submodular objective under a budget: lazy greedy, then exchange.

Greedy takes the unit with the highest gain that fits; again by gain per frame, and again without the shortest
units; and with each unit as the first where they are few. The best has at least (1 - 1/e) / 2 of the optimum
where the budget is the only constraint (Leskovec et al. 2007). Then the least useful units give way, if
others in their place raise the value.
"""

import heapq
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from vidsum.summary.objective import Objective
from vidsum.types import BoolArray, FloatArray, IntArray, TimeArray

_STARTS: Final = (0.0, False), (0.0, True), (0.3, True), (0.6, True)
"""For each start of greedy, the share of units that are too short to come first, and whether gain counts per
frame."""
_GIVING: Final = 20  # units of a choice, the least useful ones, that give way on trial
_LEFT_OUT: Final = 5  # units of a choice that are left out, on trial, for longer ones
_CANDIDATES: Final = 100  # units that may take the place of another
_PASSES: Final = 3  # of exchange, at most
_ROUNDING: Final = 1e-6
_AT_ONCE: Final = 32  # units whose gains are computed again together
_BLOCK: Final = 200  # units whose gains are computed at once: they stay in the cache of the processor

Excluded = Callable[[Sequence[int], int], IntArray]
"""A function from chosen units, and one that joins them, to the units that may then not join any more: the
unit itself, those that it excludes, and those that it excludes together with the others."""


def maximise(
    objective: Objective, sizes: IntArray, room: int, excluded: Excluded, firsts: Sequence[int] = ()
) -> list[int]:
    """Return the numbers of the units of a good choice, ascending.

    Args:
        sizes: [N] frames that each unit uses of the room.
        excluded: says which units exclude each other.
        firsts: units that are each tried as the first of a choice (Khuller et al. 1999), where all are few.
    """
    everything, starts = np.arange(len(sizes)), list[list[int]]()
    for share, by_frame in _STARTS:
        long = np.flatnonzero(sizes >= np.quantile(sizes, share))
        first = _fill(objective, sizes, room, excluded, [], long, by_frame=by_frame)
        starts.append(_fill(objective, sizes, room, excluded, first, everything, by_frame=by_frame))
    starts += [
        _fill(objective, sizes, room, excluded, [unit], everything, by_frame=by_frame)
        for unit in firsts
        for by_frame in (True, False)
        if sizes[unit] <= room
    ]
    best = max(starts, key=objective.value)
    for _ in range(_PASSES):
        better = _exchange(objective, sizes, room, excluded, best)
        if objective.value(better) <= objective.value(best) + _ROUNDING:
            break
        best = better
    return sorted(best)


def _fill(
    objective: Objective,
    sizes: IntArray,
    room: int,
    excluded: Excluded,
    chosen: Sequence[int],
    candidates: IntArray,
    *,
    by_frame: bool,
) -> list[int]:
    """Return chosen units with those added that fit, the highest gain first."""
    chosen, covered = [*chosen], objective.represented(chosen)
    room -= int(sizes[chosen].sum())
    is_out = excluded_by(excluded, chosen, len(sizes))
    candidates = candidates[(sizes[candidates] <= room) & ~is_out[candidates]]
    divisors = np.maximum(sizes, 1) if by_frame else np.ones_like(sizes)
    first = gains_of(objective, covered, candidates) / divisors[candidates]
    waiting = [
        (-gain, unit, len(chosen)) for gain, unit in zip(first.tolist(), candidates.tolist(), strict=True)
    ]
    heapq.heapify(waiting)
    while waiting:
        negative, unit, n_chosen = heapq.heappop(waiting)
        if sizes[unit] > room or is_out[unit] or negative >= 0:
            continue
        if n_chosen == len(chosen):  # a gain only falls: a unit that is still the first is so for certain
            is_out[excluded(chosen, unit)] = True
            chosen.append(unit)
            covered = np.maximum(covered, objective.shows[unit])
            room -= int(sizes[unit])
            continue
        stale = [unit]
        while waiting and len(stale) < _AT_ONCE and waiting[0][2] < len(chosen):
            stale.append(heapq.heappop(waiting)[1])
        gains = gains_of(objective, covered, np.array(stale)) / divisors[stale]
        for gain, unit in zip(gains.tolist(), stale, strict=True):
            if sizes[unit] <= room and not is_out[unit]:
                heapq.heappush(waiting, (-gain, unit, len(chosen)))
    return chosen


def excluded_by(excluded: Excluded, chosen: Sequence[int], n_units: int) -> BoolArray:
    """Return [N] which units may not join the chosen ones."""
    is_out = np.zeros(n_units, np.bool_)
    for number, unit in enumerate(chosen):
        is_out[excluded(chosen[:number], unit)] = True
    return is_out


def gains_of(objective: Objective, covered: FloatArray, units: IntArray) -> TimeArray:
    """Return [n] how much each unit adds to the value where `covered` [J] is represented."""
    gains = objective.values[units].copy()
    for start in range(0, len(units), _BLOCK):
        block = slice(start, start + _BLOCK)
        added = objective.shows[units[block]]
        added -= covered
        gains[block] += np.maximum(added, 0, out=added).sum(axis=1)
    return gains


def _exchange(
    objective: Objective, sizes: IntArray, room: int, excluded: Excluded, chosen: Sequence[int]
) -> list[int]:
    """Return a choice in which the least useful units gave way to others, once each, then to longer ones."""
    best, everything = [*chosen], np.arange(len(sizes))
    # one that adds nothing to the choice adds nothing in another's place
    gains = gains_of(objective, objective.represented(best), everything)
    promising = np.argsort(-gains / np.maximum(sizes, 1), kind="stable")[:_CANDIDATES]
    for unit in _least_useful(objective, best, _GIVING):
        others, left = [other for other in best if other != unit], promising[promising != unit]
        if not _may_gain(objective, sizes, room, best, others, left):
            continue
        for by_frame in (True, False):
            choice = _fill(objective, sizes, room, excluded, others, left, by_frame=by_frame)
            if objective.value(choice) > objective.value(best) + _ROUNDING:
                best = choice
                break
    for unit in _least_useful(objective, best, _LEFT_OUT):
        others = [other for other in best if other != unit]
        choice = _replace_rivals(objective, sizes, room, excluded, others)
        if objective.value(choice) > objective.value(best) + _ROUNDING:
            return choice
    return best


def _least_useful(objective: Objective, chosen: Sequence[int], count: int) -> list[int]:
    """Return the units of a choice, at most `count`, that it is worth the least more with."""
    shows = objective.shows[[*chosen]]
    first = np.maximum(shows.max(axis=0, initial=0), objective.base)
    second = objective.base
    if len(chosen) > 1:
        second = np.maximum(np.partition(shows, -2, axis=0)[-2], objective.base)
    # a unit alone adds what is above the second best; of two that are equal, neither does
    losses = objective.values[[*chosen]] + np.where(shows == first, first - second, 0).sum(axis=1)
    return [chosen[place] for place in np.argsort(losses, kind="stable")[:count]]


def _replace_rivals(
    objective: Objective, sizes: IntArray, room: int, excluded: Excluded, chosen: Sequence[int]
) -> list[int]:
    """Return a choice in which units gave way to those that they exclude, such as longer ones."""
    best = [*chosen]
    for unit in _least_useful(objective, chosen, _GIVING):
        rivals = excluded([], unit)
        others = [other for other in best if other != unit]
        if _may_gain(objective, sizes, room, best, others, rivals):
            choice = _fill(objective, sizes, room, excluded, others, rivals, by_frame=False)
            best = max(best, choice, key=objective.value)
    return best


def _may_gain(
    objective: Objective,
    sizes: IntArray,
    room: int,
    chosen: Sequence[int],
    others: Sequence[int],
    candidates: IntArray,
) -> bool:
    """Return whether candidates that join a part of a choice may be worth more than the rest of the choice.

    Together they add no more than each on its own, so no more than the room times the highest gain per frame.
    """
    gains = gains_of(objective, objective.represented(others), candidates)
    highest = float((gains / np.maximum(sizes[candidates], 1)).max(initial=0))
    missing = objective.value(chosen) - objective.value(others)
    return highest * (room - int(sizes[[*others]].sum())) > missing
