"""Place the beginnings of shots by the pictures between samples, and find cuts (docs/algorithms/kts.md)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.results.features import Features
from vidsum.shots.flashes import remove_flashes
from vidsum.shots.slide_times import find_slide_changes, find_slides, is_cut_of_slide
from vidsum.types import FloatArray, Interval, TimeArray, VideoInfo
from vidsum.video.changes import AGO_S, NAME, Changes
from vidsum.video.frames import TOLERANCE_S

WithCuts = Literal["added", "only"]

# tuned numbers, see docs/algorithms/kts.md; changes are in levels of 255, distances are cosine distances
_MIN_CHANGE, _CUT_RATIO = 1.0, 2.0
"""A cut at a change point: the change of its picture, and its ratio to the third largest around it. Two
may be large, as a blended frame or another cut makes them; fades and motion have many."""
_MIN_ADDED_CHANGE, _ADDED_CUT_RATIO, _CUT_CONTEXT_S = 6.0, 2.5, 0.5
"""A cut elsewhere: the same, over this time on either side."""
_MIN_PICTURES = 5  # around a cut, without which nothing is known, as with key frames only
_MIN_LASTING_FRACTION = 0.5  # of the change that stays after a cut, but not after a flash
_MIN_PAN_CUT, _CALM_RATIO, _PAN_RATIO = 35.0, 4.0, 1.5
"""A cut beside a fast pan: its change, and its ratios to those on the calm side and in the pan, of which all
but an eighth are smaller."""
_MIN_SHOT_S = 0.3  # of two cuts that are nearer, the smaller is none
_MIN_DISSOLVE_GAP_S, _DISSOLVE_CONTEXT_S, _MIN_SCENE_DISTANCE = 2.5, 1.75, 0.35
"""Dissolves: time between two, and the distance of the features over this time before and after."""
_MIN_SLIDE_CHANGE, _SLIDE_RATIO, _SLIDE_CONTEXT_S, _MIN_SLIDE_DISTANCE = 0.3, 5.0, 2.2, 3e-3
"""Slides: the change, its ratio to the others over this time on either side, and the features' distance."""
_MIN_GRADUAL_CHANGE, _MIN_STRAIGHTNESS = 12.0, 0.6
"""Gradual changes: the change over half a second, and its fraction of the sum of the changes on the way:
motion and pans go to and fro."""
_SAME_S = 0.6  # a cut this near the change of a slide is that change
_MERGE_WITHIN_S = 1.0  # a change point that is no clear cut gives way to a cut this near


@dataclass(frozen=True, eq=False)
class ShotPictures:
    """The known pictures between the samples of a video."""

    changes: Features | None  # of the decoded pictures, see `vidsum.video.changes`; None if unknown
    look_closer: Callable[[Sequence[Interval]], Features | None] | None = None
    """Decodes segments [start_s, end_s) and gives the changes of all of their pictures."""


class _Start(NamedTuple):
    """Beginning of a shot: at `time_s`, or at a picture after `before_s` that was not decoded."""

    before_s: float
    time_s: float
    is_cut: bool

    @property
    def is_open(self) -> bool:
        return self.before_s < self.time_s


def changes_to_features(changes: Changes, video: VideoInfo) -> Features:
    """Convert changes of pictures to features [N, 11] of their video, for the cache."""
    inside = changes.timestamps < video.duration_s  # after a gap, a last picture may come later
    return Features(
        changes.array[inside],
        changes.timestamps[inside],
        step_s=1 / video.fps,
        covers_s=1 / video.fps,
        duration_s=video.duration_s,
        video_fps=video.fps,
        extractor=NAME,
        video=video,
    )


def find_cuts(changes: Features) -> TimeArray:
    """Return when shots begin by a cut, in seconds, by the changes of all pictures of some segments."""
    return np.array([cut.time_s for cut in _find_cuts(remove_flashes(changes))])


def add_cuts(
    features: Features, first: npt.NDArray[np.int64], pictures: ShotPictures | None, cuts: WithCuts
) -> TimeArray:
    """Return [m] seconds, ascending, at which shots begin, given change points as in `place_starts`.

    `added`: at these, and at cuts between other samples. `only`: at cuts, and at change points where one
    picture becomes another, not where there is only motion. Without known pictures, at change points.
    """
    if pictures is None or pictures.changes is None:
        return place_starts(features, first, pictures)
    changes = remove_flashes(pictures.changes)
    starts = _locate_changes(features, first, changes)
    cut_starts = _find_cuts(changes)
    cut_starts += _find_slides(changes, features, cut_starts)
    cut_starts += [
        dissolve
        for dissolve in _find_dissolves(changes, features, _start_times(cut_starts))
        if not _is_near(dissolve, _start_times(cut_starts))
    ]
    of_cuts = _start_times([start for start in [*cut_starts, *starts] if start.is_cut])
    cut_times = _start_times(cut_starts)
    remaining = [
        start
        for start in starts
        if not (_is_near(start, cut_times, _MIN_SHOT_S) if start.is_cut else _is_near(start, of_cuts))
    ]
    if cuts == "only":
        remaining = [start for start in remaining if start.is_cut or _may_be_gradual(changes, start.time_s)]
    return np.unique(_resolve(_between_slides([*remaining, *cut_starts], changes), features, pictures))


def _between_slides(starts: Sequence[_Start], changes: Features) -> list[_Start]:
    """Return starts outside of slides, and cuts of most of the picture; one for each slide after another."""
    changed, end_s = find_slide_changes(changes), changes.duration_s
    inner = [
        (first_s + _SAME_S * (first_s > _SAME_S), last_s - _SAME_S * (last_s < end_s))
        for first_s, last_s in find_slides(changes)
    ]
    outside = [
        start
        for start in starts
        if (start.is_cut and is_cut_of_slide(changes, start.time_s))
        or not any(first < start.time_s < last for first, last in inner)
    ]
    placed = list[_Start]()
    for time_s in changed.tolist():
        cuts = [start for start in outside if start.is_cut and abs(start.time_s - time_s) < _SAME_S]
        nearest = np.argsort(np.abs(_start_times(cuts) - time_s), kind="stable")[:1].tolist()
        placed += [cuts[number] for number in nearest] or [_Start(time_s, time_s, True)]
    gaps = [np.abs(changed - start.time_s).min(initial=np.inf) for start in outside]
    widths = [_SAME_S if start.is_cut else _MERGE_WITHIN_S for start in outside]
    others = [start for start, gap, width in zip(outside, gaps, widths, strict=True) if gap >= width]
    return placed + others


def place_starts(
    features: Features, first: npt.NDArray[np.int64], pictures: ShotPictures | None
) -> TimeArray:
    """Return [m] seconds at which the shots begin whose first samples are `first` [m], ascending and above 0.

    Between its first sample and the one before, a shot begins at the picture that changes most, if that is
    clear; else where half of the change is done; where no picture is known, in the middle.
    """
    pictures = pictures or ShotPictures(None)
    changes = remove_flashes(pictures.changes) if pictures.changes else None
    if changes is None and pictures.look_closer and len(first):
        spans = _change_spans(features, first)
        closer = pictures.look_closer(
            [(before - features.step_s, after + features.step_s) for before, after in spans]
        )
        changes = remove_flashes(closer) if closer else None
    return _resolve(_locate_changes(features, first, changes), features, pictures)


def _locate_changes(
    features: Features, first: npt.NDArray[np.int64], changes: Features | None
) -> list[_Start]:
    return [_locate_change(changes, span, features.step_s / 2) for span in _change_spans(features, first)]


def _change_spans(features: Features, first: npt.NDArray[np.int64]) -> list[Interval]:
    """Return the times of the pictures between which the shots begin."""
    parameters = features.provenance.get("parameters")
    is_picture = isinstance(parameters, dict) and parameters.get("clip_frames") == 1
    # of what is no picture, its middle
    times = features.timestamps + (0.0 if is_picture else features.covers_s / 2)
    return list(zip(times[first - 1].tolist(), times[first].tolist(), strict=True))


def _locate_change(changes: Features | None, span: Interval, margin_s: float) -> _Start:
    """Return the change between two samples."""
    before, after = span
    middle = _Start((before + after) / 2, (before + after) / 2, False)
    if changes is None:
        return middle
    times, amounts = changes.timestamps, changes.array[:, 0]
    first, end = np.searchsorted(times, np.array(span) + TOLERANCE_S, side="right").tolist()
    total = np.cumsum(amounts[first:end], dtype=np.float64)
    if first == end or total[-1] < _MIN_CHANGE:
        return middle
    largest = first + int(amounts[first:end].argmax())
    low, high = np.searchsorted(times, [before - margin_s, after + margin_s]).tolist()
    rival = float(np.sort(amounts[low:high])[-3]) if high - low >= 3 else 0.0
    if amounts[largest] < max(_MIN_CHANGE, _CUT_RATIO * rival):
        half = float(times[first + np.searchsorted(total, total[-1] / 2)])
        return _Start(half, half, False)
    return _make_cut(changes, largest)


def _make_cut(changes: Features, number: int) -> _Start:
    """Return a cut at a picture, or at one before that was not decoded."""
    times, is_next = changes.timestamps, changes.array[number, 1] or number == 0
    return _Start(float(times[number if is_next else number - 1]), float(times[number]), True)


def _find_cuts(changes: Features) -> list[_Start]:
    amounts, apart = changes.array[:, 0], changes.array[:, 2]
    times, cuts = changes.timestamps, list[tuple[float, _Start]]()
    for number in np.flatnonzero(amounts >= _MIN_ADDED_CHANGE).tolist():
        after = np.searchsorted(times, times[number] + _CUT_CONTEXT_S / 2, side="right") - 1
        if _is_clear(times, amounts, number) and apart[after] >= _MIN_LASTING_FRACTION * amounts[number]:
            cuts.append((float(amounts[number]), _make_cut(changes, number)))
    chosen = list[_Start]()
    for _, cut in sorted(cuts, key=lambda item: -item[0]):
        if all(abs(cut.time_s - other.time_s) >= _MIN_SHOT_S - TOLERANCE_S for other in chosen):
            chosen.append(cut)
    return sorted(chosen, key=lambda cut: cut.time_s)


def _is_clear(times: TimeArray, amounts: FloatArray, number: int) -> bool:
    """Return whether a picture changes far more than the pictures around it, or than a fast pan beside it."""
    first, end = np.searchsorted(times, times[number] + np.array([-_CUT_CONTEXT_S, _CUT_CONTEXT_S])).tolist()
    if end - first < _MIN_PICTURES:
        return False
    if amounts[number] >= _ADDED_CUT_RATIO * np.sort(amounts[first:end])[-3]:
        return True
    before, after = amounts[first:number], amounts[number + 1 : end]
    if amounts[number] < _MIN_PAN_CUT or min(len(before), len(after)) < 2:
        return False
    calm, pan = sorted(float(np.sort(side)[-1 - len(side) // 8]) for side in (before, after))
    return bool(amounts[number] >= max(_CALM_RATIO * calm, _PAN_RATIO * pan))


def _find_slides(changes: Features, features: Features, cuts: Sequence[_Start]) -> list[_Start]:
    """Return where a still picture gives way to another, be it by little (text)."""
    times, amounts, slides = changes.timestamps, changes.array[:, 0], list[_Start]()
    known = set(_start_times(cuts).tolist())
    for number in np.flatnonzero(amounts >= _MIN_SLIDE_CHANGE).tolist():
        first, end = np.searchsorted(
            times, times[number] + np.array([-_SLIDE_CONTEXT_S, _SLIDE_CONTEXT_S])
        ).tolist()
        others = np.delete(amounts[first:end], number - first)
        if len(others) + 1 < _MIN_PICTURES or amounts[number] < _SLIDE_RATIO * others.max():
            continue
        start, context_s = _make_cut(changes, number), features.step_s
        if (
            start.time_s not in known
            and _distance(features, start.time_s, 0, context_s) >= _MIN_SLIDE_DISTANCE
        ):
            slides.append(start)
    return slides


def _find_dissolves(changes: Features, features: Features, cuts: TimeArray) -> list[_Start]:
    """Return the middles of the dissolves, the surest first, each judged between its neighbouring cuts."""
    edges = np.sort(np.append(cuts, [-np.inf, np.inf]))
    times, confidence, ago_s = changes.timestamps, changes.array[:, 3], changes.array[:, 4]
    dissolves = list[_Start]()
    for number in np.argsort(-confidence, kind="stable")[: np.count_nonzero(confidence)].tolist():
        time_s = float(times[np.searchsorted(times, times[number] - ago_s[number])])
        is_apart = (np.abs(_start_times(dissolves) - time_s) >= _MIN_DISSOLVE_GAP_S).all()
        after = int(np.searchsorted(edges, time_s, side="right").clip(1, len(edges) - 1))
        take = (float(edges[after - 1]), float(edges[after]))
        if is_apart and _distance(features, time_s, 0.75, _DISSOLVE_CONTEXT_S, take) >= _MIN_SCENE_DISTANCE:
            dissolves.append(_Start(time_s, time_s, True))
    return dissolves


def _distance(
    features: Features, time_s: float, from_s: float, context_s: float, within: Interval = (-np.inf, np.inf)
) -> float:
    """Return 1 - cosine of the mean features of so much time before and after, `from_s` away from a time."""
    times, last = features.timestamps, len(features) - 1
    spans = time_s + np.array([-from_s - context_s, -from_s, from_s, from_s + context_s])
    low, high, after, end = np.searchsorted(times, spans.clip(*within) - TOLERANCE_S).tolist()
    before = features.array[min(low, max(high - 1, 0)) : max(high, 1)].astype(np.float64).mean(axis=0)
    later = features.array[min(after, last) : max(end, min(after, last) + 1)].astype(np.float64).mean(axis=0)
    lengths = float(np.linalg.norm(before) * np.linalg.norm(later))
    return 1 - float(before @ later) / lengths if lengths else 0.0


def _start_times(starts: Sequence[_Start]) -> TimeArray:
    return np.array([start.time_s for start in starts])


def _is_near(start: _Start, cuts: TimeArray, within_s: float = _MERGE_WITHIN_S) -> bool:
    return bool((np.abs(cuts - start.time_s) < within_s).any())


def _may_be_gradual(changes: Features, time_s: float) -> bool:
    """Return whether one picture becomes another around a time; True where too few are known."""
    times, amounts, apart = changes.timestamps, changes.array[:, 0], changes.array[:, 2]
    first, end = np.searchsorted(times, [time_s, time_s + _CUT_CONTEXT_S]).tolist()
    if end - np.searchsorted(times, time_s - _CUT_CONTEXT_S) < _MIN_PICTURES:
        return True
    sums = np.cumsum(amounts, dtype=np.float64)
    since = np.searchsorted(times, times[first:end] - AGO_S - TOLERANCE_S)
    on_the_way = sums[first:end] - sums[since]
    is_straight = apart[first:end] >= _MIN_STRAIGHTNESS * on_the_way
    return bool((is_straight & (apart[first:end] >= _MIN_GRADUAL_CHANGE)).any())


def _resolve(starts: Sequence[_Start], features: Features, pictures: ShotPictures) -> TimeArray:
    """Return [m] seconds of starts, after decoding the skipped pictures of open ones."""
    gaps = [(start.before_s, start.time_s + 1 / features.video_fps) for start in starts if start.is_open]
    closer = pictures.look_closer(sorted(gaps)) if (pictures.look_closer and gaps) else None
    return np.array([_largest_change_s(closer, start) if start.is_open else start.time_s for start in starts])


def _largest_change_s(changes: Features | None, start: _Start) -> float:
    """Return when the picture that changes most in a gap goes on screen."""
    if changes is None:
        return start.time_s
    times = changes.timestamps
    gap = np.array([start.before_s, start.time_s])
    first, end = np.searchsorted(times, gap + TOLERANCE_S / 2, side="right").tolist()
    return float(times[first + changes.array[first:end, 0].argmax()]) if first < end else start.time_s
