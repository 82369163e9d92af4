"""Cutting a video into shots, by any method; edges are [S + 1] seconds, from 0 to `duration_s`."""

import math

import numpy as np

from vidsum.errors import Mention, UsageError, fill
from vidsum.models.scaling import exact_unit_rows
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.shots.cuts import ShotPictures, WithCuts, add_cuts, place_starts
from vidsum.shots.kts import change_points
from vidsum.shots.settings import ShotSettings
from vidsum.types import FloatArray, IntArray, TimeArray

KTS_MIN_SHOT_S = 1.0
KTS_MAX_SHOT_S = 60.0
_UNIFORM_SHOT_S = 5.0
_STILL_UNIT_S = 2.0  # a picture that stands still longer counts more than once
_MAX_SHOT_PICTURES = 120  # in a shot of a film that has less than one for each sample

_MAX_BYTES = 4 * 2**30  # memory limit of KTS


def find(
    features: Features,
    settings: ShotSettings = ShotSettings(),
    pictures: ShotPictures | None = None,
    cuts: WithCuts = "added",
) -> Shots:
    """Cut a video into shots.

    Args:
        settings: the method and its limits: `kts` (kernel temporal segmentation of the features, made unit
            length) or `uniform` (equal shots of about 5 s). For `kts` the shortest shot is 1 s
            (or half of `max_shot_s`, if that is less) by default, the longest 60 s (or twice the mean length
            of `max_shots` shots, if that is more); else there is no limit, as with `math.inf`.
        pictures: for `kts`: the known pictures between samples.
        cuts: for `kts` without limits: see `add_cuts`.

    Returns shots from 0 to the video's end; a video shorter than the shortest shot is one. Default limits of
    `kts` count samples, limits that are given hold in seconds.

    Raises UsageError where the limits contradict each other for this video.
    """
    shortest_s, longest_s, frame_s = settings.min_shot_s, settings.max_shot_s, 1 / features.video_fps
    if longest_s is not None and longest_s < frame_s:
        raise UsageError(f"the longest shot must be at least as long as a frame, not {longest_s:g} s")
    if shortest_s is not None and (shortest_s == math.inf or shortest_s > (longest_s or math.inf)):
        fault = f"the shortest shot, {shortest_s:g} s, is longer than the longest"
        raise UsageError(f"{fault}, {longest_s:g} s" if longest_s else fault)
    if features.timestamps[-1] >= features.duration_s:
        last_s, end_s = features.timestamps[-1], features.duration_s
        raise UsageError(f"the last feature is at {last_s:g} s, but the video ends at {end_s:g} s")
    if settings.shots == "kts":
        edges = _kts_edges(features, settings, pictures, cuts)
    else:
        limits = (settings.max_shots, shortest_s or 0.0, longest_s or math.inf)
        edges = equal_edges(features.duration_s, _UNIFORM_SHOT_S, *limits)
    return Shots(edges_s=edges, method=settings.shots, video=features.video, video_fps=features.video_fps)


def _kts_edges(
    features: Features, settings: ShotSettings, pictures: ShotPictures | None, cuts: WithCuts
) -> TimeArray:
    shortest, longest = _limits_in_samples(features, settings)
    rows = exact_unit_rows(features.array)
    end_s = features.duration_s
    if not (settings.max_shots or settings.min_shot_s or settings.max_shot_s):
        first = _change_points_between_stills(features, rows, shortest, longest)
        return np.concatenate([[0.0], add_cuts(features, first, pictures, cuts), [end_s]])
    first = change_points(rows, shortest=shortest, longest=longest, max_shots=settings.max_shots)
    starts = place_starts(features, first, pictures)
    if settings.min_shot_s or settings.max_shot_s:
        limits = (settings.min_shot_s or 0.0, settings.max_shot_s or math.inf)
        starts = apply_limits(starts, features.timestamps[first], end_s, *limits)
    return np.concatenate([[0.0], starts, [end_s]])


def _change_points_between_stills(
    features: Features, rows: FloatArray, shortest: int, longest: int
) -> IntArray:
    """Return the change points of KTS, none of them inside a picture that stands still.

    A still counts for all of its samples. In a film slower than the samples it counts once for every
    `_STILL_UNIT_S` seconds, and at least once: small differences must not weigh more where pictures are
    sampled more often.
    """
    starts = features.picture_starts
    counts = np.diff(starts, append=len(rows)).astype(np.float64)
    is_slow = features.step_s * features.video_fps < 1 + 1e-6  # no picture is left out between samples
    unit_s = _STILL_UNIT_S if is_slow else features.step_s
    weights = np.maximum(counts * features.step_s / unit_s, 1)
    if (weights == 1).all() and len(starts) == len(rows) and not is_slow:
        return change_points(rows, shortest=shortest, longest=longest)
    longest = min(max(longest, _MAX_SHOT_PICTURES if is_slow else 1), len(starts))
    return starts[
        change_points(rows[starts], shortest=shortest, longest=longest, weights=weights, lengths=counts)
    ]


def apply_limits(
    starts: TimeArray, latest: TimeArray, duration_s: float, shortest_s: float, longest_s: float
) -> TimeArray:
    """Return the starts [m] of shots, moved as little as limits of their length in seconds ask for.

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


def _limits_in_samples(features: Features, settings: ShotSettings) -> tuple[int, int]:
    """Return the minimum and maximum number of samples in a shot of KTS."""
    n, step_s, max_shots = len(features), features.step_s, settings.max_shots
    min_shot_s, max_shot_s = settings.min_shot_s, settings.max_shot_s
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
        hint = fill(
            "raise {} or {}, or lower {}", Mention("max_shot_s"), Mention("max_shots"), Mention("min_shot_s")
        )
        raise UsageError(f"{n} samples, {step_s:g} s apart, cannot be cut into {shots}", hint=hint)
    if 8 * n * (longest + (max_shots or 0)) > _MAX_BYTES:
        fault = f"KTS on {n} samples with shots of up to {longest} samples takes too much memory"
        raise UsageError(fault, hint=("lower ", Mention("max_shot_s"), ", or sample fewer frames a second"))
    return shortest, longest


def equal_edges(
    duration_s: float,
    shot_s: float,
    max_shots: int | None = None,
    min_shot_s: float = 0.0,
    max_shot_s: float = math.inf,
) -> TimeArray:
    """Return edges of equal shots whose length is nearest to `shot_s` within the limits, else UsageError."""
    most = max(1, math.floor(duration_s / min_shot_s + 1e-9)) if min_shot_s > 0 else math.inf
    most = min(most, max_shots or math.inf)
    fewest = max(1, math.ceil(duration_s / max_shot_s - 1e-9))
    if fewest > most:
        counts = f"at least {fewest} would be needed, at most {most} are allowed"
        raise UsageError(f"{duration_s:g} s cannot be cut into equal shots within the limits: {counts}")
    count = int(min(max(round(duration_s / shot_s), fewest), most))
    return np.linspace(0.0, duration_s, count + 1)
