"""Features in `.h5`, in the layout of the published SumMe and TVSum files: one group a video.

A group has `features` [T, D], `picks` [T] (frame numbers of the samples), `n_frames`, `n_steps`, and where
they are known `change_points` [S, 2], `n_frame_per_seg` [S], `gtscore` [T], `user_summary` [U, n_frames].
What the layout has no place for is in `timestamps`, `logits` and the attribute `vidsum`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.features.arrays import features_of, float32, metadata_of, timed
from vidsum.features.hdf5 import array_of, member, members, opened, text_attribute
from vidsum.outputs import as_utf8, atomic_write
from vidsum.types import Features

PUBLISHED_FPS = 30.0
"""Frames per second where a file does not say: "every 15th frame", as published, is 2 a second at 30."""
PUBLISHED_STRIDE = 15
"""Frames from one feature to the next where a file has no picks."""


@dataclass(frozen=True, eq=False)
class H5Video:
    """One video to write: its features, and the annotations of the field where there are any."""

    features: Features
    change_points: npt.NDArray[np.int64] | None = None
    """[S, 2] first and last frame of each shot, both inside it."""
    gtscore: npt.NDArray[np.float32] | None = None
    """[T] annotators' mean importance."""
    user_summary: npt.NDArray[np.float32] | None = None
    """[U, n_frames] one row of 0 and 1 an annotator."""


def write_h5(videos: Mapping[str, H5Video], path: str | os.PathLike[str]) -> None:
    """Write several videos in the field's layout; what else we know of one goes into an attribute.

    Raises:
        OutputError: the file cannot be written.
    """
    write_groups({name: (entry.features, h5_arrays(entry)) for name, entry in videos.items()}, path)


def write_groups(
    groups: Mapping[str, tuple[Features, Mapping[str, Any]]], path: str | os.PathLike[str]
) -> None:
    """Write one group a video: the given datasets, and what else we know of its features in an attribute.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_write(path) as part:
        part.write_bytes(_file_of(groups))


def _file_of(groups: Mapping[str, tuple[Features, Mapping[str, Any]]]) -> bytes:
    """The bytes of such a file, made in memory: HDF5 itself crashes the process on a full disk."""
    with h5py.File("made in memory", "w", driver="core", backing_store=False) as file:
        for name, (features, arrays) in groups.items():
            group = file.create_group(as_utf8(name))
            for key, value in arrays.items():
                group.create_dataset(key, data=value, track_times=False)
            group.attrs["vidsum"] = json.dumps(metadata_of(features))
        file.flush()
        content: bytes = file.id.get_file_image()
    return content


def h5_arrays(entry: H5Video) -> dict[str, Any]:
    """The datasets of one video in the field's layout."""
    features = entry.features
    arrays: dict[str, Any] = {
        "features": features.array,
        "picks": np.round(features.timestamps * features.video_fps).astype(np.int64),
        "timestamps": features.timestamps,
        "n_frames": np.int64(features.video.n_frames if features.video else _n_frames(features)),
        "n_steps": np.int64(len(features)),
    }
    if entry.change_points is not None:
        arrays["change_points"] = entry.change_points
        arrays["n_frame_per_seg"] = entry.change_points[:, 1] - entry.change_points[:, 0] + 1
    for key in ("gtscore", "user_summary"):
        if (value := getattr(entry, key)) is not None:
            arrays[key] = value
    if features.logits is not None:
        arrays["logits"] = features.logits
    return arrays


def _n_frames(features: Features) -> int:
    return max(1, round(features.duration_s * features.video_fps))


def group_names(path: str | os.PathLike[str]) -> list[str]:
    """Names of the videos of a file.

    Raises:
        InputError: the file is missing, is not HDF5, or holds no group.
    """
    with opened(Path(path)) as file:
        names = [name for name, one in members(file).items() if isinstance(one, h5py.Group)]
        if not names:
            raise UsageError("it holds no video")
        return names


def read_groups(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """What `read_group` gives of each group of a file.

    Raises:
        InputError: the file is missing, is not HDF5, or holds no group.
    """
    return {name: read_group(path, name) for name in group_names(path)}


def read_group(path: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """The numbers of one group as they stand, and as `metadata` what `write_groups` put into the attribute.

    Raises:
        InputError: the file is not HDF5, is damaged, or takes data from other files.
    """
    with opened(Path(path)) as file:
        group = member(file, name)
        if not isinstance(group, h5py.Group):
            raise UsageError(f"it holds no group {name}")
        found = members(group).items()
        arrays = {key: array_of(one) for key, one in found if isinstance(one, h5py.Dataset)}
        arrays.pop("metadata", None)  # a dataset of that name is none of ours
        if (metadata := text_attribute(group, "vidsum")) is not None:
            arrays["metadata"] = np.array(metadata)
        return arrays


def group_features(arrays: Mapping[str, Any], video_fps: float = PUBLISHED_FPS) -> Features:
    """Features of one group of `read_groups`.

    Args:
        arrays: its datasets.
        video_fps: frames per second to turn `picks` into seconds, where the group does not record it; the
            published ones do not.

    Raises:
        UsageError: it has no features, or they are unusable.
    """
    return features_of(arrays) if "metadata" in arrays else _published(arrays, video_fps)


def _published(arrays: Mapping[str, Any], video_fps: float) -> Features:
    """Features of a published file: times come from `picks`, the duration from `n_frames`."""
    if "features" not in arrays:
        raise UsageError("a video of it has no dataset named features")
    array = float32(arrays["features"])
    picks = np.asarray(arrays.get("picks", np.arange(len(array)) * PUBLISHED_STRIDE), dtype=np.float64)
    made = timed(array, picks / video_fps, video_fps)
    return replace(made, duration_s=float(arrays["n_frames"]) / video_fps) if "n_frames" in arrays else made
