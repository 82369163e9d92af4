"""At which frame a shot begins, between two samples that look different (docs/algorithms/kts.md)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vidsum.results.features import Features
from vidsum.types import Interval, TimeArray, VideoInfo
from vidsum.video.changes import NAME, Changes
from vidsum.video.frames import TOLERANCE_S

_LEAST = 1.0
"""Change, in levels of 255, below which a picture is taken for the same as the one before."""
_CLEAR = 2.0
"""A cut changes at least so many times more than the third largest change around it. Two large ones are a cut
with a blended frame, or two cuts; fades and motion have many."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """What is known of the pictures between the samples of a video."""

    changes: Features | None
    """Those that were decoded for the samples, from `vidsum.video.changes`; None if nobody measured them."""
    look_closer: Callable[[Sequence[Interval]], Features | None] | None = None
    """Decodes segments [start_s, end_s) and gives the changes of all of their pictures."""


def as_features(changes: Changes, video: VideoInfo) -> Features:
    """Changes of pictures as features of their video, which the cache keeps: [N, 2]."""
    return Features(
        changes.array,
        changes.timestamps,
        step_s=1 / video.fps,
        covers_s=1 / video.fps,
        duration_s=video.duration_s,
        video_fps=video.fps,
        extractor=NAME,
        video=video,
    )


def starts_of_shots(features: Features, first: npt.NDArray[np.int64], pictures: Pictures | None) -> TimeArray:
    """[m] seconds at which the shots begin whose first samples are `first` [m], ascending and above 0.

    A shot begins between its first sample and the one before: at the picture that changes most, if that is
    clear; else where half of the change is done; where no picture is known, in the middle.
    """
    times = _seen_at(features)
    spans = list(zip(times[first - 1].tolist(), times[first].tolist(), strict=True))
    changes, look_closer = (pictures.changes, pictures.look_closer) if pictures else (None, None)
    if changes is None and look_closer and spans:
        changes = look_closer(
            [(before - features.step_s, after + features.step_s) for before, after in spans]
        )
    found = [_change_in(changes, span, features.step_s / 2) for span in spans]
    gaps = [gap for gap in found if isinstance(gap, tuple)]
    closer = (
        look_closer([(before, after + 1 / features.video_fps) for before, after in gaps])
        if (look_closer and gaps)
        else None
    )
    return np.array([_largest_in(closer, gap) if isinstance(gap, tuple) else gap for gap in found])


def within_limits(
    starts: TimeArray, latest: TimeArray, duration_s: float, shortest_s: float, longest_s: float
) -> TimeArray:
    """The starts [m] of shots, moved as little as limits of their length in seconds ask for.

    Shots that begin at `latest` [m] must obey the limits; the last may be longer if it is then.
    """
    earliest, after = np.empty_like(starts), duration_s
    for number in range(len(starts) - 1, -1, -1):
        after = earliest[number] = min(after - longest_s, latest[number])
    moved, before = list[float](), 0.0
    for start, least, most in zip(starts.tolist(), earliest.tolist(), latest.tolist(), strict=True):
        before = min(max(start, least, before + shortest_s), before + longest_s, most)
        moved.append(before)
    return np.array(moved)


def _seen_at(features: Features) -> TimeArray:
    """[T] seconds: when a feature's picture is shown, or the middle of what else a feature describes."""
    parameters = features.provenance.get("parameters")
    is_picture = isinstance(parameters, dict) and parameters.get("clip_frames") == 1
    return features.timestamps + (0.0 if is_picture else features.covers_s / 2)


def _change_in(changes: Features | None, span: Interval, margin_s: float) -> float | Interval:
    """When the change between two samples happens: a picture's time, or its time and that of the one before.

    The latter where pictures in between were not decoded, any of which may be the first to change.
    """
    before, after = span
    middle = (before + after) / 2
    if changes is None:
        return middle
    times, amounts, is_next = changes.timestamps, changes.array[:, 0], changes.array[:, 1]
    first, end = np.searchsorted(times, np.array(span) + TOLERANCE_S, side="right").tolist()
    total = np.cumsum(amounts[first:end], dtype=np.float64)
    if first == end or total[-1] < _LEAST:
        return middle
    largest = first + int(amounts[first:end].argmax())
    low, high = np.searchsorted(times, [before - margin_s, after + margin_s]).tolist()
    rival = float(np.sort(amounts[low:high])[-3]) if high - low >= 3 else 0.0
    if amounts[largest] < max(_LEAST, _CLEAR * rival):
        return float(times[first + np.searchsorted(total, total[-1] / 2)])
    if is_next[largest] or largest == 0:
        return float(times[largest])
    return float(times[largest - 1]), float(times[largest])


def _largest_in(changes: Features | None, gap: Interval) -> float:
    """When the picture goes on screen, of those after the first end of a gap, that changes most."""
    if changes is None:
        return gap[1]
    times = changes.timestamps
    first, end = np.searchsorted(times, np.array(gap) + TOLERANCE_S / 2, side="right").tolist()
    return float(times[first + changes.array[first:end, 0].argmax()]) if first < end else gap[1]
