"""From a curve and the shots of its video to moments, without training (docs/algorithms/grounding.md).

The clips of a curve are cut at the edges of shots into pieces. The level of a piece lies between the curve
and its mean over the shot, so that a run of pieces above a threshold ends where a shot does if the curve has
no reason of its own. Inside a long shot the curve decides. Ranks choose thresholds, and quantiles the unit: a
few odd clips move neither. No moment is in two scenes, and none of several shots is longer than a highlight.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.grounding.settings import LONGEST_MOMENT_S
from vidsum.models.scaling import unit_range
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, Interval, TimeArray, iou

MAX_IOU = 0.5  # moments of one query that overlap more count as the same

# Tuned numbers (docs/algorithms/grounding.md, tests/grounding/test_salient_runs.py).
_SHOT_WEIGHT = 0.75  # weight of the shot's mean in a piece's level; the rest is the curve's own
_LONG_SHOT = 8.0  # clips; the weight falls with the square of what a shot is longer
_WIDEST = 0.75  # fraction of the pieces that reach the lowest threshold
_NARROWING = 0.9  # ratio of that fraction from one threshold to the next
_EVEN_STEPS = 20  # other thresholds, evenly between the levels, separate plateaus
_USUAL_QUANTILES = (0.1, 0.9)  # clip the levels outside a run before their mean
_CORRELATED_CLIPS = 200.0  # clips of a run as sure as one clip with independent noise
_MIN_PIECE = 0.1  # fraction of a clip: a last piece that is shorter belongs to the one before
_MIN_RUN = 0.2  # minimum length in clips: between cuts may be a frame or two
_ROUNDING = 1e-12  # levels that differ by less, relative to the highest, are equal
_MIN_SCORE = 1e-6  # a run that stands out by less does so by rounding alone
_MAD_OF_NORMAL = 0.6745  # median distance from the middle of a normal distribution
_RANGE_OF_NORMAL = 2.073  # distance from its 15th to its 85th percentile, in deviations


Positions = npt.NDArray[np.int64]  # [R] of runs: their first pieces, or those after the last


class SplitCurve(NamedTuple):
    """A video in pieces, none of which crosses an edge of a shot or of a clip."""

    edges_s: TimeArray  # [P + 1]
    levels: TimeArray  # [P]
    shots: Positions  # [P] number of the shot of each piece
    scenes: Positions  # [P] number of its scene
    snapped_s: TimeArray  # [P + 1] edges as a moment has them: those within a clip of a cut are at the cut


def find_moments(
    curve: FloatArray,
    timestamps: TimeArray,
    step_s: float,
    duration_s: float,
    top_k: int,
    *,
    shots_s: TimeArray | None = None,
    scenes_s: TimeArray | None = None,
) -> list[Moment]:
    """Return the moments that stand out in a similarity curve, best first; they do not overlap.

    Each is in one scene, and at most `LONGEST_MOMENT_S` long unless it is in one shot.

    Args:
        curve: [T] how well each clip fits the query, in any unit.
        timestamps, step_s: [T] seconds at which each clip begins; seconds of a clip.
        duration_s: of the video; no moment ends after it.
        top_k: see `suppress`.
        shots_s: [S + 1] edges of the video's shots; None for one shot.
        scenes_s: [K + 1] edges of its scenes, each a run of shots; None for one scene.

    Returns at least one moment. A score is how far its clips stand out, in deviations of the curve.
    """
    end_s = min(float(timestamps[-1]) + step_s, duration_s)
    pieces = split_curve(unit_range(curve), timestamps, step_s, end_s, shots_s, scenes_s)
    moments = salient_runs(pieces, step_s, top_k) or [_first_part(pieces)]
    if shots_s is not None:  # an edge of a clip beside a cut is there because the clip shows both shots
        moments = snap_moments(moments, np.minimum(shots_s, end_s), step_s)
    return suppress(moments, 0.0, top_k)


def is_moment(span: Interval, shots_s: TimeArray | None, scenes_s: TimeArray | None) -> bool:
    """Return whether a span is in one scene [K + 1], and in one shot [S + 1] if it is long."""

    def is_inside_one(edges_s: TimeArray | None) -> bool:
        return edges_s is None or not ((edges_s > span[0]) & (edges_s < span[1])).any()

    return is_inside_one(scenes_s) and (span[1] - span[0] <= LONGEST_MOMENT_S or is_inside_one(shots_s))


def suppress(moments: Iterable[Moment], max_iou: float, top_k: int) -> list[Moment]:
    """Apply greedy temporal non-maximum suppression: of moments that overlap too much, keep the best.

    `moments` are best first. `max_iou` in [0, 1] is the largest intersection over union with a moment that
    stays.
    """
    selected: list[Moment] = []
    for moment in moments:
        intervals = [(other.start_s, other.end_s) for other in selected]
        if not selected or iou([(moment.start_s, moment.end_s)], intervals).max() <= max_iou:
            selected.append(moment)
            if len(selected) == top_k:
                break
    return selected


def snap_moments(moments: Sequence[Moment], edges_s: TimeArray, reach_s: float) -> list[Moment]:
    """Return moments, each edge at the nearest of the shots' edges [S + 1] within `reach_s`.

    A moment that would be less than half as long stays.
    """
    spans = np.array([moment.interval for moment in moments], np.float64)
    near = _snap(spans.ravel(), edges_s, reach_s).reshape(-1, 2).tolist()
    moved = [replace(moment, start_s=a, end_s=b) for moment, (a, b) in zip(moments, near, strict=True)]
    return [new if 2 * _length(new) >= _length(old) else old for old, new in zip(moments, moved, strict=True)]


def _snap(times_s: TimeArray, edges_s: TimeArray, reach_s: float) -> TimeArray:
    """Return times [N], each at the nearest of increasing edges [S + 1] if it is within reach."""
    after = np.searchsorted(edges_s, times_s).clip(1, len(edges_s) - 1)
    before, after_s = edges_s[after - 1], edges_s[after]
    nearest = np.where(times_s - before <= after_s - times_s, before, after_s)
    return np.where(np.abs(nearest - times_s) <= reach_s, nearest, times_s)


def _length(moment: Moment) -> float:
    return moment.end_s - moment.start_s


def split_curve(
    curve: FloatArray,
    timestamps: TimeArray,
    step_s: float,
    end_s: float,
    shots_s: TimeArray | None,
    scenes_s: TimeArray | None = None,
) -> SplitCurve:
    """Cut a curve [T] at the edges of shots [S + 1], which take the place of edges of clips that are near.

    Edges of scenes [K + 1] are also edges of shots.
    """
    shots = np.array([0.0, end_s]) if shots_s is None else np.clip(shots_s, 0, end_s)
    inside = shots[(shots > 0) & (shots < end_s - _MIN_PIECE * step_s)]
    shots = np.unique(np.concatenate([[0.0], inside, [end_s]]))
    cuts = np.concatenate([[-np.inf], shots[1:-1], [np.inf]])
    after = np.searchsorted(cuts, timestamps)
    is_apart = np.minimum(cuts[after] - timestamps, timestamps - cuts[after - 1]) >= step_s / 2
    edges = np.union1d(shots, timestamps[is_apart & (timestamps < end_s - _MIN_PIECE * step_s)])
    ends = np.append(timestamps, timestamps[-1] + step_s)
    sums = np.append(0.0, np.cumsum(curve.astype(np.float64) * step_s))

    def means(cuts: TimeArray) -> TimeArray:
        integral = np.interp(cuts, ends, sums)
        return np.asarray(np.diff(integral) / np.diff(cuts))

    shot_of = np.searchsorted(shots, edges[:-1], side="right") - 1
    weights = _SHOT_WEIGHT * np.minimum(1, _LONG_SHOT * step_s / np.diff(shots)) ** 2
    levels = (weights * means(shots))[shot_of] + (1 - weights[shot_of]) * means(edges)
    levels = _unmix(levels, edges, shots, curve, timestamps, step_s)
    inner = np.empty(0) if scenes_s is None else scenes_s[1:-1]
    scene_of = np.searchsorted(inner, (edges[:-1] + edges[1:]) / 2)
    return SplitCurve(edges, levels, shot_of, scene_of, _snap(edges, shots, step_s))


def _unmix(
    levels: TimeArray,
    edges: TimeArray,
    shots: TimeArray,
    curve: FloatArray,
    timestamps: TimeArray,
    step_s: float,
) -> TimeArray:
    """Return the levels [P], of shots inside a single clip what it has in addition to its other shots.

    A clip's value is the mean of the levels of what it shows. The result is between the neighbours' levels.
    """
    clip = np.searchsorted(timestamps, (edges[:-1] + edges[1:]) / 2, side="right") - 1
    before_s, after_s = edges[:-1] - timestamps[clip], timestamps[clip] + step_s - edges[1:]
    is_inside = (np.minimum(before_s, after_s) >= 0) & np.isin(edges[:-1], shots) & np.isin(edges[1:], shots)
    (short,) = np.nonzero(is_inside & (before_s + after_s > 0))
    short = short[(short > 0) & (short < len(levels) - 1)]
    before, after = levels[short - 1], levels[short + 1]
    others = (before * before_s[short] + after * after_s[short]) / step_s
    alone = (curve[clip[short]] - others) * step_s / np.diff(edges)[short]
    unmixed = levels.copy()
    unmixed[short] = np.clip(alone, np.minimum(before, after), np.maximum(before, after))
    return unmixed


def salient_runs(pieces: SplitCurve, step_s: float, top_k: int) -> list[Moment]:
    """Return the moments that stand out, best first, none in part of another; none where the levels are flat.

    Each is the best run of pieces in what those before it have left, and stands out of that. A shot next to
    a better one is a separate run only then: every threshold that it reaches, the better one reaches too.
    """
    moments = list[Moment]()
    is_left = np.ones(len(pieces.levels), np.bool_)
    while len(moments) < top_k and (best := best_run(pieces, step_s, is_left)):
        moments.append(replace(best, score=min(best.score, moments[-1].score)) if moments else best)
        is_left &= (pieces.edges_s[1:] <= best.start_s) | (pieces.edges_s[:-1] >= best.end_s)
    return moments


def best_run(pieces: SplitCurve, step_s: float, is_left: npt.NDArray[np.bool_]) -> Moment | None:
    """Return the run of the pieces left, by `is_left` [P], that stands out most of them; None for none.

    The score is how far a run's mean lies above the mean of the rest of the video, in deviations of the
    video's levels. It is shrunk as in James and Stein's estimator, by the share of signal in the levels:
    noise between neighbouring pieces lowers this share, and length raises it. The score is below 0 where
    a run stands out only among the pieces left.
    """
    levels, edges_s = pieces.levels, pieces.edges_s
    if is_flat(levels) or not is_left.any():
        return None
    spread = float(np.diff(np.quantile(levels, [0.15, 0.85]))[0]) / _RANGE_OF_NORMAL or float(levels.std())
    noise = float(np.median(np.abs(np.diff(levels)))) / _MAD_OF_NORMAL
    enough_s = _CORRELATED_CLIPS * step_s * noise**2 / 2 / spread**2
    first, after = _limit_runs(pieces, *_above(pieces, is_left))
    inside = edges_s[after] - edges_s[first]
    shrunk = np.sqrt(inside / (inside + enough_s)) / spread
    lengths = np.diff(edges_s)
    mean = _run_sums(levels * lengths, first, after) / inside
    of_left, of_all = (
        shrunk * (mean - _mean_outside(levels, weights, first, after, mean, _MIN_PIECE * step_s))
        for weights in (lengths * is_left, lengths)
    )
    of_left = np.where(inside < _MIN_RUN * step_s, -np.inf, of_left)
    best = int(of_left.argmax())
    if of_left[best] <= _MIN_SCORE:
        return None
    return Moment(float(edges_s[first[best]]), float(edges_s[after[best]]), float(of_all[best]))


def is_flat(levels: TimeArray) -> bool:
    """Return whether levels [P] differ by rounding alone."""
    return bool(np.ptp(levels) <= _ROUNDING * np.abs(levels).max())


def _run_sums(values: TimeArray, first: Positions, after: Positions) -> TimeArray:
    """Return [R] the sums of values [P] over runs."""
    sums = np.append(0.0, np.cumsum(values))
    return np.asarray(sums[after] - sums[first])


def _mean_outside(
    levels: TimeArray,
    weights: TimeArray,
    first: Positions,
    after: Positions,
    otherwise: TimeArray,
    least: float,
) -> TimeArray:
    """Return [R] the weighted mean of the levels [P] outside of runs; `otherwise` where hardly any is."""
    usual = weights * np.clip(levels, *np.quantile(levels, _USUAL_QUANTILES))
    outside = weights.sum() - _run_sums(weights, first, after)
    others = usual.sum() - _run_sums(usual, first, after)
    means: TimeArray = np.divide(others, outside, out=otherwise.copy(), where=outside > least)
    return means


def _above(pieces: SplitCurve, is_left: npt.NDArray[np.bool_]) -> tuple[Positions, Positions]:
    """Return [R] first pieces of the runs left that reach a threshold, in order; [R] those after the last.

    A run ends where its scene does. Thresholds depend on the pieces left: what is low next to better moments
    is found once these are taken.
    """
    levels = pieces.levels
    remaining = levels[is_left]
    n_steps = 1 + int(np.log(max(1.0, _WIDEST * len(remaining))) / -np.log(_NARROWING))
    by_rank = np.quantile(remaining, 1 - _WIDEST * _NARROWING ** np.arange(n_steps))
    even = by_rank[0] + np.arange(1, _EVEN_STEPS) / _EVEN_STEPS * (remaining.max() - by_rank[0])
    reached = (levels >= np.union1d(by_rank, even)[:, None]) & is_left
    joined = reached[:, 1:] & reached[:, :-1] & (np.diff(pieces.scenes) == 0)
    first = np.nonzero(reached & ~np.pad(joined, ((0, 0), (1, 0))))[1]
    after = np.nonzero(reached & ~np.pad(joined, ((0, 0), (0, 1))))[1] + 1
    return _distinct(len(levels), first, after)


def _distinct(n_pieces: int, first: Positions, after: Positions) -> tuple[Positions, Positions]:
    """Return the runs, each once and in order."""
    return np.divmod(np.unique(first * (n_pieces + 1) + after), n_pieces + 1)


def _limit_runs(pieces: SplitCurve, first: Positions, after: Positions) -> tuple[Positions, Positions]:
    """Return runs none of which is too long; of several shots that are, the longest parts of whole shots.

    A single shot may be longer.
    """
    is_long = pieces.snapped_s[after] - pieces.snapped_s[first] > LONGEST_MOMENT_S
    is_long &= pieces.shots[first] != pieces.shots[after - 1]
    if not is_long.any():
        return first, after
    long = zip(first[is_long].tolist(), after[is_long].tolist(), strict=True)
    parts = [(first[~is_long], after[~is_long]), *(_cut_run(pieces, *run) for run in long)]
    firsts, afters = map(np.concatenate, zip(*parts, strict=True))
    return _distinct(len(pieces.levels), firsts, afters)


def _cut_run(pieces: SplitCurve, first: int, after: int) -> tuple[Positions, Positions]:
    """Return the longest runs of whole shots in a run that the limit allows, and shots that are longer."""
    inner = first + 1 + np.flatnonzero(np.diff(pieces.shots[first:after]))
    bounds = np.concatenate([[first], inner, [after]])
    times_s = pieces.snapped_s[bounds]
    starts = np.arange(len(bounds) - 1)
    fitting = np.searchsorted(times_s, times_s[:-1] + LONGEST_MOMENT_S, side="right") - 1
    ends = np.maximum(fitting, starts + 1)
    is_longest = np.diff(ends, prepend=0) > 0  # others are parts of the one before
    return bounds[starts[is_longest]], bounds[ends[is_longest]]


def _first_part(pieces: SplitCurve) -> Moment:
    """Return the beginning of a video in which nothing stands out: its first scene, or what fits of it."""
    n_pieces = np.searchsorted(pieces.scenes, pieces.scenes[0], side="right")
    _, after = _limit_runs(pieces, np.zeros(1, np.int64), np.array([n_pieces]))
    return Moment(0.0, float(pieces.edges_s[after[0]]), 0.0)
