"""Cutting a video into shots, by any method.

`max_shots`, `min_shot_s` and `max_shot_s` are the limits. Edges are [S + 1] seconds, from 0 to `duration_s`.
"""

import math
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from vidsum.errors import UsageError
from vidsum.names import unknown
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.shots.cuts import Pictures, starts_of_shots, within_limits
from vidsum.shots.kts import change_points
from vidsum.types import TimeArray

Method = Literal["kts", "uniform", "transnetv2"]
METHODS: tuple[Method, ...] = get_args(Method)

KTS_MIN_SHOT_S = 1.0
KTS_MAX_SHOT_S = 60.0

_MOST_BYTES = 4 * 2**30
"""Memory limit of KTS."""


def find(
    features: Features,
    method: Method = "kts",
    *,
    max_shots: int | None = None,
    min_shot_s: float | None = None,
    max_shot_s: float | None = None,
    penalty: float = 1.0,
    shot_s: float = 5.0,
    cuts_s: TimeArray | None = None,
    pictures: Pictures | None = None,
) -> Shots:
    """Cut a video into shots.

    Args:
        features: of the video.
        method: `kts` (kernel temporal segmentation of the features, made unit length), `uniform` (equal
            shots), or `transnetv2` (between the cuts that `vidsum.shots.transnetv2` found).
        max_shots: maximum number of shots; None leaves it to the method.
        min_shot_s: shortest shot. None is 1 s for `kts` (or half of `max_shot_s`, if that is less), else no
            limit. A video shorter than this is one shot.
        max_shot_s: longest shot; `math.inf` is no limit. None is 60 s for `kts` (or twice the mean length of
            `max_shots` shots, if that is more), else no limit.
        penalty: for `kts`: C vmax in the paper's penalty; larger gives fewer shots.
        shot_s: for `uniform`: length of a shot.
        cuts_s: for `transnetv2`: where the cuts are.
        pictures: for `kts`: what is known of the pictures between samples.

    Returns:
        Shots from 0 to the video's end. A change point of `kts` lies between two samples, where
        `vidsum.shots.cuts` puts it; its lengths are counted in samples of `step_s`, but limits that are given
        hold in seconds. The last shot reaches to the video's end.

    Raises UsageError where a parameter makes no sense, or the limits contradict each other for this video.
    """
    frame_s = 1 / features.video_fps
    _check_limits(max_shots, min_shot_s, max_shot_s, frame_s)
    if features.timestamps[-1] >= features.duration_s:
        last_s, end_s = features.timestamps[-1], features.duration_s
        raise UsageError(f"the last feature is at {last_s:g} s, but the video ends at {end_s:g} s")
    limits = (max_shots, min_shot_s or 0.0, max_shot_s or math.inf)
    if method == "kts":
        edges = _kts_edges(features, max_shots, min_shot_s, max_shot_s, penalty, pictures)
    elif method == "uniform":
        if not frame_s <= shot_s < math.inf:
            raise UsageError(f"the length of a shot must be at least that of a frame, not {shot_s:g} s")
        edges = equal_edges(features.duration_s, shot_s, *limits)
    elif method == "transnetv2":
        if cuts_s is None:
            raise UsageError("the method transnetv2 needs the cuts that vidsum.shots.transnetv2 finds")
        edges = edges_between(cuts_s, features.duration_s, *limits)
    else:
        raise unknown("shot method", method, METHODS)
    return Shots(edges_s=edges, method=method, video=features.video, video_fps=features.video_fps)


def _check_limits(
    max_shots: int | None, min_shot_s: float | None, max_shot_s: float | None, frame_s: float
) -> None:
    if max_shots is not None and max_shots < 1:
        raise UsageError(f"a video has at least one shot; max_shots is {max_shots}")
    if min_shot_s is not None and not 0 <= min_shot_s < math.inf:
        raise UsageError(f"the shortest shot must be zero or more seconds, not {min_shot_s}")
    if max_shot_s is not None and not max_shot_s >= frame_s:
        raise UsageError(f"the longest shot must be at least as long as a frame, not {max_shot_s:g} s")
    if min_shot_s is not None and max_shot_s is not None and min_shot_s > max_shot_s:
        raise UsageError(f"the shortest shot, {min_shot_s:g} s, is longer than the longest, {max_shot_s:g} s")


def _kts_edges(
    features: Features,
    max_shots: int | None,
    min_shot_s: float | None,
    max_shot_s: float | None,
    penalty: float,
    pictures: Pictures | None,
) -> TimeArray:
    if not 0 < penalty < math.inf:
        raise UsageError(f"the penalty of KTS must be positive, not {penalty}")
    shortest, longest = _limits_in_samples(features, max_shots, min_shot_s, max_shot_s)
    # squares are added up in float64: those of large float32 features are beyond float32
    lengths = np.sqrt(np.einsum("td,td->t", features.array, features.array, dtype=np.float64))
    lengths[lengths == 0] = 1
    rows = features.array / lengths.astype(np.float32)[:, None]
    first = change_points(rows, penalty=penalty, shortest=shortest, longest=longest, max_shots=max_shots)
    starts, latest, end_s = (
        starts_of_shots(features, first, pictures),
        features.timestamps[first],
        features.duration_s,
    )
    if min_shot_s or max_shot_s:
        starts = within_limits(starts, latest, end_s, min_shot_s or 0.0, max_shot_s or math.inf)
    return np.concatenate([[0.0], starts, [end_s]])


def _limits_in_samples(
    features: Features, max_shots: int | None, min_shot_s: float | None, max_shot_s: float | None
) -> tuple[int, int]:
    """Fewest and most samples in a shot of KTS."""
    n, step_s = len(features), features.step_s
    if min_shot_s is None:
        min_shot_s = min(KTS_MIN_SHOT_S, (max_shot_s or math.inf) / 2)
    shortest = min(max(1, math.ceil(min_shot_s / step_s - 1e-6)), n)
    most = min(max_shots or n, n // shortest)
    if max_shot_s is None:
        longest = max(math.floor(KTS_MAX_SHOT_S / step_s), 2 * math.ceil(n / most))
    else:
        longest = n if max_shot_s == math.inf else math.floor(max_shot_s / step_s + 1e-6)
    longest = min(longest, n)
    if most * longest < n:
        shots = f"at most {most} shots of {shortest} to {longest} samples"
        hint = "raise --max-shot or --max-shots, or lower --min-shot"
        raise UsageError(f"{n} samples, {step_s:g} s apart, cannot be cut into {shots}", hint=hint)
    if 8 * n * (longest + (max_shots or 0)) > _MOST_BYTES:
        fault = f"KTS on {n} samples with shots of up to {longest} samples takes too much memory"
        raise UsageError(fault, hint="lower --max-shot, or sample fewer frames a second")
    return shortest, longest


def equal_edges(
    duration_s: float,
    shot_s: float,
    max_shots: int | None = None,
    min_shot_s: float = 0.0,
    max_shot_s: float = math.inf,
) -> TimeArray:
    """Edges of equal shots: as many as make their length nearest to `shot_s` within the limits.

    A video shorter than `min_shot_s` is one shot. Raises UsageError where no number obeys the limits.
    """
    most = max(1, math.floor(duration_s / min_shot_s + 1e-9)) if min_shot_s > 0 else math.inf
    most = min(most, max_shots or math.inf)
    fewest = max(1, math.ceil(duration_s / max_shot_s - 1e-9))
    if fewest > most:
        counts = f"at least {fewest} would be needed, at most {most} are allowed"
        raise UsageError(f"{duration_s:g} s cannot be cut into equal shots within the limits: {counts}")
    count = int(min(max(round(duration_s / shot_s), fewest), most))
    return np.linspace(0.0, duration_s, count + 1)


def edges_between(
    cuts_s: TimeArray,
    duration_s: float,
    max_shots: int | None = None,
    min_shot_s: float = 0.0,
    max_shot_s: float = math.inf,
) -> TimeArray:
    """Edges of the shots between cuts.

    While a shot is shorter than `min_shot_s`, or there are more than `max_shots`, the shortest shot (the
    first, if several are) is joined to its shorter neighbour (the one before, if both are equal). After that,
    a shot longer than `max_shot_s` is split into the fewest equal shots that are not. `cuts_s` may be in any
    order; those outside the video are left out.
    """
    inside = np.unique(cuts_s[(cuts_s > 0) & (cuts_s < duration_s)])
    edges = np.concatenate([[0.0], inside, [duration_s]])
    while len(edges) > 2:
        lengths = np.diff(edges)
        shortest = int(lengths.argmin())
        if lengths[shortest] >= min_shot_s and len(lengths) <= (max_shots or math.inf):
            break
        edges = np.delete(edges, shortest if _joins_before(lengths, shortest) else shortest + 1)
    pieces = [
        np.linspace(start, end, max(1, math.ceil((end - start) / max_shot_s - 1e-9)), endpoint=False)
        for start, end in pairwise(edges)
    ]
    return np.concatenate([*pieces, [duration_s]])


def _joins_before(lengths: TimeArray, shot: int) -> bool:
    if shot == 0:
        return False
    return shot == len(lengths) - 1 or bool(lengths[shot - 1] <= lengths[shot + 1])
