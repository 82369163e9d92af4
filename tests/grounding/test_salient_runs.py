"""Moments from a curve and shots, against slow computations and footage that is odd on purpose."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.grounding.proposals import SplitCurve, find_moments, is_flat, salient_runs, split_curve
from vidsum.types import FloatArray, TimeArray

CURVES = arrays(np.float32, st.integers(2, 40), elements=st.floats(0, 1, width=16))
SHOTS = st.lists(st.integers(1, 79).map(lambda half: half / 2), max_size=8, unique=True)
"""Edges at clips' starts and in their middles."""


def cut(curve: FloatArray, inner: list[float], every: int = 0) -> tuple[SplitCurve, TimeArray]:
    """A curve in pieces, and its shots; every so many of their edges is that of a scene."""
    end_s = float(len(curve))
    shots = np.array([0.0, *sorted(edge for edge in inner if edge < end_s), end_s])
    scenes = scenes_of(shots, every)
    return split_curve(curve, np.arange(end_s), 1.0, end_s, shots, scenes), shots


def scenes_of(shots_s: TimeArray, every: int) -> TimeArray | None:
    return np.array([0.0, *shots_s[1:-1][::every], shots_s[-1]]) if every else None


@given(CURVES, SHOTS)
def test_levels_are_those_of_a_fine_grid(curve: FloatArray, inner: list[float]) -> None:
    pieces, shots = cut(curve, inner)
    middles = np.arange(2 * len(curve)) / 2 + 0.25  # half a second each: no edge crosses one
    fine = np.repeat(curve, 2)
    levels = []
    for start, end in pairwise(pieces.edges_s.tolist()):
        shot = np.searchsorted(shots, start, side="right") - 1
        in_shot = (middles > shots[shot]) & (middles < shots[shot + 1])
        own = fine[(middles > start) & (middles < end)].mean()
        weight = 0.75 * min(1, 8 / (shots[shot + 1] - shots[shot])) ** 2
        levels.append(weight * fine[in_shot].mean() + (1 - weight) * own)
    expected = levels.copy()
    for number in range(1, len(levels) - 1):
        start, end = pieces.edges_s[number : number + 2].tolist()
        if {start, end} <= {*shots.tolist()} and end - start == 0.5:
            # half a clip: its clip's other half is of the shot on that side
            before, after = levels[number - 1], levels[number + 1]
            alone = 2 * curve[int(start)] - (before if start % 1 else after)
            expected[number] = sorted([before, after, alone])[1]
    assert pieces.levels == pytest.approx(expected, abs=1e-6)


@given(CURVES, SHOTS)
def test_edges_are_those_of_all_shots_and_of_the_clips_that_are_not_near(
    curve: FloatArray, inner: list[float]
) -> None:
    pieces, shots = cut(curve, inner)
    clips = [time for time in range(len(curve)) if np.abs(shots - time).min() >= 0.5]
    assert pieces.edges_s.tolist() == sorted({*shots.tolist(), *map(float, clips)})


def slow_score(pieces: SplitCurve, first: int, after: int, left: np.ndarray) -> float:
    """How far a run stands out of what is left, one number at a time."""
    levels, lengths = pieces.levels, np.diff(pieces.edges_s)
    low, high = np.quantile(levels, [0.15, 0.85])
    spread = (high - low) / 2.073 or levels.std()
    noise = np.median(np.abs(levels[1:] - levels[:-1])) / 0.6745
    length = lengths[first:after].sum()
    shrunk = length / (length + 200 * (noise**2 / 2) / spread**2)
    rest = left.copy()
    rest[first:after] = False
    if not rest.any():
        return 0.0
    usual = np.clip(levels, *np.quantile(levels, [0.1, 0.9]))
    contrast = np.average(levels[first:after], weights=lengths[first:after])
    contrast -= np.average(usual[rest], weights=lengths[rest])
    return float(contrast / spread * shrunk**0.5)


def slow_candidates(pieces: SplitCurve, left: np.ndarray) -> set[tuple[int, int]]:
    """Runs above thresholds of what is left, in one scene; of long ones, the longest parts of whole shots."""
    levels, scenes = pieces.levels, pieces.scenes
    own = levels[left]
    ranks = [0.75 * 0.9**step for step in range(100) if 0.75 * 0.9**step * len(own) >= 1] or [0.75]
    thresholds = [np.quantile(own, 1 - rank) for rank in ranks] if len(own) else []
    thresholds += [
        thresholds[0] + part / 20 * (own.max() - thresholds[0]) for part in range(1, 20) if len(own)
    ]
    found = set()
    for first in range(len(levels)):
        for after in range(first + 1, len(levels) + 1):
            if not left[first:after].all() or len({*scenes[first:after].tolist()}) > 1:
                continue
            lowest_inside = levels[first:after].min()
            neighbours = [
                levels[at]
                for at in (first - 1, after)
                if 0 <= at < len(levels) and left[at] and scenes[at] == scenes[first]
            ]
            if any(lowest_inside >= level and all(one < level for one in neighbours) for level in thresholds):
                found.add((first, after))
    return {part for run in found for part in slow_parts(pieces, *run)}


def slow_parts(pieces: SplitCurve, first: int, after: int) -> set[tuple[int, int]]:
    """A run itself, or the longest runs of its whole shots that are short enough or one shot."""

    def fits(start: int, end: int) -> bool:
        is_one_shot = len({*pieces.shots[start:end].tolist()}) == 1
        return is_one_shot or pieces.snapped_s[end] - pieces.snapped_s[start] <= 15

    if fits(first, after):
        return {(first, after)}
    inner = [at for at in range(first + 1, after) if pieces.shots[at] != pieces.shots[at - 1]]
    bounds = [first, *inner, after]
    fitting = {(a, b) for a in bounds for b in bounds if a < b and fits(a, b)}
    return {(a, b) for a, b in fitting if not any(c <= a and b <= d for c, d in fitting - {(a, b)})}


@given(CURVES, SHOTS, st.integers(1, 6), st.integers(0, 3))
def test_each_moment_is_the_best_of_what_those_before_it_left(
    curve: FloatArray, inner: list[float], top_k: int, every: int
) -> None:
    pieces, _ = cut(curve, inner, every)
    found = salient_runs(pieces, 1.0, top_k)
    left = np.ones(len(pieces.levels), np.bool_)
    if is_flat(pieces.levels):
        assert found == []
        return
    for rank in range(top_k):
        scores = {run: slow_score(pieces, *run, left) for run in slow_candidates(pieces, left)}
        best = max(scores.values(), default=0.0)
        if rank == len(found):
            assert best < 1e-5
            return
        moment = found[rank]
        first, after = np.searchsorted(pieces.edges_s, [moment.start_s, moment.end_s]).tolist()
        assert scores[first, after] == pytest.approx(best, abs=1e-5)
        of_all = slow_score(pieces, first, after, np.ones(len(left), np.bool_))
        assert moment.score == pytest.approx(min([of_all, *(one.score for one in found[:rank])]), abs=1e-5)
        left[first:after] = False


def find_runs(curve: FloatArray, *cuts_s: float, top_k: int = 5) -> list[tuple[float, float]]:
    end_s = float(len(curve))
    shots_s = np.array([0.0, *cuts_s, end_s]) if cuts_s else None
    found = find_moments(curve, np.arange(end_s), 1.0, end_s, top_k, shots_s=shots_s)
    return [moment.interval for moment in found]


LEVELS = arrays(np.float32, st.integers(2, 90), elements=st.sampled_from([0.0, 0.5, 1.0]))
MANY_SHOTS = st.lists(st.integers(1, 359).map(lambda quarter: quarter / 4), max_size=30, unique=True)


@given(LEVELS, MANY_SHOTS, st.integers(0, 4))
def test_a_moment_is_in_one_scene_and_short_or_in_one_shot(
    curve: FloatArray, inner: list[float], every: int
) -> None:
    end_s = float(len(curve))
    shots = np.array([0.0, *sorted(edge for edge in inner if edge < end_s), end_s])
    scenes = scenes_of(shots, every)
    found = find_moments(curve, np.arange(end_s), 1.0, end_s, 9, shots_s=shots, scenes_s=scenes)
    for start_s, end_s in (moment.interval for moment in found):
        if scenes is not None:
            assert not ((scenes > start_s) & (scenes < end_s)).any()
        assert end_s - start_s <= 15 or not ((shots > start_s) & (shots < end_s)).any()


def test_a_run_over_several_scenes_is_several_moments() -> None:
    curve = np.zeros(60, np.float32)
    curve[10:30] = 1.0
    shots_s = np.array([0.0, 10, 14, 19, 30, 60])
    found = find_moments(curve, np.arange(60.0), 1.0, 60.0, 3, shots_s=shots_s, scenes_s=shots_s)
    assert sorted(moment.interval for moment in found) == [(10, 14), (14, 19), (19, 30)]


@pytest.mark.parametrize(
    ("cuts_s", "span"),
    [((10.0, 20.0, 25.0, 30.0), (10, 25)), ((10.0, 25.5, 30.0), (10, 25.5)), ((10.0, 30.0), (10, 30))],
)
def test_a_long_run_is_cut_at_shots_but_a_long_shot_is_whole(
    cuts_s: tuple[float, ...], span: tuple[float, float]
) -> None:
    curve = np.zeros(90, np.float32)
    curve[10:30], curve[29] = 1.0, 0.9
    assert find_runs(curve, *cuts_s, top_k=1) == [span]


def test_of_a_flat_curve_the_first_scene_is_the_moment() -> None:
    flat, times, shots_s = np.ones(90, np.float32), np.arange(90.0), np.arange(0.0, 91, 6)
    found = find_moments(flat, times, 1.0, 90.0, 5, shots_s=shots_s, scenes_s=np.array([0.0, 30, 90]))
    assert [moment.interval for moment in found] == [(0, 12)]


def test_a_shot_beside_a_better_one_is_a_moment_of_its_own() -> None:
    curve = np.zeros(40, np.float32)
    curve[10:15], curve[15:19], curve[30:33] = 1.0, 0.8, 0.5
    assert find_runs(curve, 10, 15, 19, 30, 33, top_k=3) == [(10, 15), (15, 19), (30, 33)]


def test_the_curve_cuts_a_long_shot_but_not_a_short_one() -> None:
    curve = np.full(60, 0.2, np.float32)
    curve[10:16], curve[13:16] = 0.6, 0.7  # a short shot that is better in its second half
    curve[42:46] = 1.0  # an event in a shot of half a minute
    assert find_runs(curve, 10, 16, 30, top_k=2) == [(42, 46), (10, 16)]


def test_a_frame_or_two_between_cuts_are_no_moment() -> None:
    spans = find_runs(np.eye(10, dtype=np.float32)[4], 4.8, 4.88)
    assert (4.8, 4.88) not in spans
    assert min(end_s - start_s for start_s, end_s in spans) >= 0.2


@pytest.mark.parametrize("level", [-30.0, 30.0])
@pytest.mark.parametrize("where", [slice(0, 7), slice(63, 70)])
def test_ten_per_cent_of_odd_footage_moves_no_other_moment(level: float, where: slice) -> None:
    curve = np.random.default_rng(1).normal(0, 0.3, 70).astype(np.float32)
    curve[20:28], curve[40:47] = 2.5, 2.0
    assert find_runs(curve)[:2] == [(20, 28), (40, 47)]
    curve[where] = level
    others = [span for span in find_runs(curve) if span != (where.start, where.stop)]
    assert others[:2] == [(20, 28), (40, 47)]


def test_a_moment_ends_at_the_cut_that_is_near_it() -> None:
    curve = np.zeros(30, np.float32)
    curve[10:15], curve[15] = 1.0, 0.5
    assert find_runs(curve, 9.75, 15.5, top_k=1) == [(9.75, 15.5)]


@pytest.mark.parametrize(("level", "end_s"), [(0.55, 14.5), (1.0, 15.0)])
def test_a_shot_shorter_than_a_clip_is_in_a_moment_if_it_is_alike(level: float, end_s: float) -> None:
    curve = np.full(60, 0.1, np.float32)
    curve[10:14], curve[14] = 1.0, level  # half of the last clip is of the moment
    assert find_runs(curve, 10, 14.5, 15, top_k=1) == [(10, end_s)]


@pytest.mark.parametrize("cut_s", [14.1, 14.4, 15.6, 15.9])
def test_a_moment_beside_a_long_shot_ends_at_the_cut(cut_s: float) -> None:
    curve = np.random.default_rng(1).normal(0.1, 0.02, 90).astype(np.float32)
    curve += 0.9 * np.clip(np.minimum(np.arange(1, 91) - 9.6, cut_s - np.arange(90)), 0, 1)
    assert find_runs(curve, 9.6, cut_s, top_k=1) == [(9.6, cut_s)]


@given(CURVES, SHOTS)
def test_moments_do_not_overlap_and_end_at_cuts_that_are_near(curve: FloatArray, inner: list[float]) -> None:
    _, shots = cut(curve, inner)
    end_s = float(len(curve))
    found = find_moments(curve, np.arange(end_s), 1.0, end_s, 5, shots_s=shots)
    in_order = sorted((one.start_s, one.end_s) for one in found)
    assert all(before[1] <= after[0] for before, after in pairwise(in_order))
    for start, end in in_order:
        if end - start > 2:
            assert all(d == 0 or d > 1 for d in np.abs(shots - [[start], [end]]).min(axis=1))


def test_an_edge_just_before_the_end_cuts_no_sliver_off() -> None:
    curve = np.full(61, 0.2, np.float32)
    curve[[20, 21, 60]] = 1.0
    times, shots = np.arange(61.0), np.array([0.0, 20.0, 22.0, 60.0, 60.02])
    found = find_moments(curve, times, 1.0, 60.02, 5, shots_s=shots)
    assert (found[0].start_s, found[0].end_s) == (20, 22)
    assert all(one.end_s - one.start_s > 0.5 for one in found)


def test_rounding_makes_no_moment() -> None:
    curve = np.full(60, 0.3, np.float32)
    curve[10:14], curve[40] = 1.0, 0.0
    found = find_moments(curve, np.arange(60.0), 1.0, 60.0, 5)
    assert [one for one in found if 0 < one.score < 0.01] == []
