"""One group of an annotation file of the field: its datasets, under the names that public files give them.

Needed: features, n_frames, change_points, gtscore. Public variants (features [T, 1, D], gt_score, user_anno,
picks with n_frames at the end or none) are read; a few frames too many or too few are repaired with a
warning. Groups of Mr. HiSum, which count samples in place of frames, are turned into this form first.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError
from vidsum.io.arrays import convert_errors
from vidsum.results.feature_h5 import PUBLISHED_FPS, PUBLISHED_STRIDE, group_features
from vidsum.results.features import Features
from vidsum.types import FloatArray, IntArray

TOLERANCE = 15
"""Frames that annotations may have more or less than the video: decoders and annotators count differently."""

MOST_FRAMES = 1e9  # maximum number of frames of a video: a year at 30 a second
_LARGEST = 1e30  # maximum of any number: it fits into float32, and so does what is made of it

_OTHER_NAMES = {
    "gtscore": ("gt_score",),
    "gtsummary": ("gt_summary",),
    "user_scores": ("user_anno", "user_score"),
}

_COUNTS = ("change_points", "picks", "n_frames", "n_steps", "fps")
"""Datasets that count: true and false are no numbers there."""


@dataclass(frozen=True, eq=False)
class H5Group:
    """One group of an h5 file."""

    path: Path
    name: str
    arrays: Mapping[str, Any]
    warnings: list[str] = field(default_factory=list)  # repairs made while it was read

    def fault(self, reason: str) -> InputError:
        return InputError(f"{self.name}: {reason}", subject=self.path)

    def numbers(self, key: str) -> npt.NDArray[Any] | None:
        """Return a dataset under any of its names; None where there is none."""
        stored = next((name for name in (key, *_OTHER_NAMES.get(key, ())) if name in self.arrays), None)
        if stored is None:
            return None
        value = np.asarray(self.arrays[stored])
        if value.dtype.kind not in ("iuf" if key in _COUNTS else "biuf") or value.size == 0:
            raise self.fault(f"{stored} holds no numbers")
        if not np.isfinite(value).all() or np.abs(value.astype(np.float64)).max() > _LARGEST:
            raise self.fault(f"{stored} holds NaN, infinite or absurdly large values")
        return value

    def needed(self, key: str) -> npt.NDArray[Any]:
        value = self.numbers(key)
        if value is None:
            raise self.fault(f"{key} is missing")
        return value


def with_frame_numbers(group: H5Group) -> H5Group:
    """Return a group of Mr. HiSum (features, gtscore, change_points and gtsummary alone) as the others are.

    It has a sample for each second, and counts samples. A shot ends where the next begins; the summary that
    was made from gtscore counts as an annotator's.
    """
    known = {"picks", "n_frames", "user_summary"} & group.arrays.keys()
    if known or "change_points" not in group.arrays or not has_importance(group):
        return group
    n_samples = len(feature_rows(group))
    points = group.needed("change_points").copy()
    if points.ndim == 2 and points.shape[1] == 2 and (points[1:, 0] == points[:-1, 1]).all():
        points[:-1, 1] -= 1
        points[-1, 1] -= points[-1, 1] == n_samples
    arrays = {"n_frames": n_samples, "picks": np.arange(n_samples), "fps": 1.0, "change_points": points}
    summary = group.numbers("gtsummary")
    return replace(
        group, arrays={**group.arrays, **arrays, **({} if summary is None else {"user_summary": summary})}
    )


def feature_rows(group: H5Group) -> FloatArray:
    """Return [T, D] features, `n_steps` of them."""
    array = group.needed("features")
    if array.ndim == 3 and 1 in array.shape[:2]:  # [T, 1, D] of pooled features, or [1, T, D] of a batch
        array = array.reshape(-1, array.shape[2])
    if array.ndim != 2:
        raise group.fault(f"features must be [T, D], not {list(array.shape)}")
    if "n_steps" in group.arrays and count(group, "n_steps") != len(array):
        raise group.fault(f"n_steps is {count(group, 'n_steps')}, but features has {len(array)} rows")
    return np.ascontiguousarray(array, dtype=np.float32)


def count(group: H5Group, key: str) -> int:
    """Return a dataset that is one positive number."""
    value = group.needed(key)
    if value.size != 1 or value.item() < 1:
        raise group.fault(f"{key} must be one positive number")
    return int(frame_numbers(group, key, value).item())


def frame_numbers(group: H5Group, key: str, values: npt.NDArray[Any]) -> IntArray:
    """Values that must be numbers of frames; decimals are cut off."""
    if np.abs(values.astype(np.float64)).max() > MOST_FRAMES:
        raise group.fault(f"{key} holds numbers that no video has frames for")
    return values.astype(np.int64)


def sample_picks(group: H5Group, steps: int, n_frames: int) -> IntArray:
    """Return [T] frame number of each feature; every 15th frame where the file does not say."""
    stored = group.numbers("picks")
    picks = np.arange(steps) * PUBLISHED_STRIDE
    if stored is not None:
        picks = frame_numbers(group, "picks", stored).ravel()
    if len(picks) == steps + 1 and picks[-1] >= n_frames:  # some files close the list with n_frames
        picks = picks[:-1]
    if len(picks) != steps:
        raise group.fault(f"picks has {len(picks)} entries, but features has {steps} rows")
    if picks[0] < 0 or (np.diff(picks) <= 0).any():
        raise group.fault("picks must be frame numbers that increase")
    if picks[-1] >= n_frames:
        missing = " (picks is missing: every 15th frame is assumed)" if stored is None else ""
        raise group.fault(f"picks reaches frame {picks[-1]}, but n_frames is {n_frames}{missing}")
    return picks


def timed_features(group: H5Group, array: FloatArray, picks: IntArray, n_frames: int) -> Features:
    """Return features with their times, by the frames per second of the file if it has them, else 30."""
    stored = group.numbers("fps")
    if stored is not None and (stored.size != 1 or stored.item() <= 0):
        raise group.fault("fps must be one positive number")
    fps = PUBLISHED_FPS if stored is None else float(stored.item())
    with convert_errors(group.path):
        return group_features({**group.arrays, "features": array, "picks": picks, "n_frames": n_frames}, fps)


def shot_frames(group: H5Group, n_frames: int) -> IntArray:
    """Return [S, 2] first and last frame of each shot; they fill the video except a few frames."""
    points = group.needed("change_points")
    if points.ndim != 2 or points.shape[1] != 2:
        raise group.fault(f"change_points must be [S, 2], not {list(points.shape)}")
    points = frame_numbers(group, "change_points", points)
    first, last = points.T
    if (last < first).any() or (first[1:] <= last[:-1]).any():
        raise group.fault("change_points overlap or do not increase; they are first and last frames of shots")
    if first[0] < 0 or first[-1] >= n_frames or last[-1] >= n_frames + TOLERANCE:
        raise group.fault(f"change_points span {first[0]} to {last[-1]}, but n_frames is {n_frames}")
    if last[-1] >= n_frames:
        group.warnings.append(f"the last shot ends at frame {last[-1]} of {n_frames}: cut")
        last[-1] = n_frames - 1
    outside = n_frames - int((last - first + 1).sum())
    if outside > TOLERANCE:
        raise group.fault(f"change_points leave {outside} of {n_frames} frames in no shot")
    return points


def has_importance(group: H5Group) -> bool:
    """Return whether a group says what is important."""
    return group.numbers("gtscore") is not None


def importance(group: H5Group, picks: IntArray, n_frames: int) -> FloatArray:
    """Return [T] gtscore."""
    score = _at_picks(group, "gtscore", np.ravel(group.needed("gtscore")), picks, n_frames)
    if score.min() < 0 or score.max() > 1:
        group.warnings.append(f"gtscore spans {score.min():g} to {score.max():g}, not 0 to 1")
    return score


def annotator_scores(group: H5Group, picks: IntArray, n_frames: int) -> FloatArray | None:
    """Return [U, T] importance scores of each annotator, if the file has them."""
    scores = group.numbers("user_scores")
    if scores is not None and scores.ndim != 2:
        raise group.fault(f"user_scores must be [U, T] or [U, n_frames], not {list(scores.shape)}")
    return None if scores is None else _at_picks(group, "user_scores", scores, picks, n_frames)


def _at_picks(
    group: H5Group, key: str, values: npt.NDArray[Any], picks: IntArray, n_frames: int
) -> FloatArray:
    """Values of each feature, from values of each feature or of each frame, along the last axis."""
    length = values.shape[-1]
    if length not in (len(picks), n_frames):
        raise group.fault(f"{key} has {length} entries, but the video {len(picks)} features")
    return (values if length == len(picks) else values[..., picks]).astype(np.float32)


def annotator_summaries(group: H5Group, n_frames: int) -> FloatArray | None:
    """Return [U, n_frames] summaries of each annotator, if the file has them."""
    stored = group.numbers("user_summary")
    if stored is None:
        return None
    summary = np.atleast_2d(stored).astype(np.float32)
    if summary.ndim != 2 or abs(summary.shape[1] - n_frames) > TOLERANCE:
        raise group.fault(f"user_summary must be [U, {n_frames}], not {list(stored.shape)}")
    if not np.isin(summary, (0, 1)).all():
        raise group.fault("user_summary holds values other than 0 and 1")
    extra = n_frames - summary.shape[1]
    if extra:  # evaluation needs one count
        group.warnings.append(f"user_summary has {summary.shape[1]} frames of {n_frames}: cut or padded")
    return np.pad(summary[:, :n_frames], ((0, 0), (0, max(extra, 0))))


def by_number(name: str) -> list[str | int]:
    """Return a key that sorts names as people count: video_2 before video_10."""
    return [int(part) if index % 2 else part for index, part in enumerate(re.split(r"(\d+)", name))]
