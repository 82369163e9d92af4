"""Features in `.h5`, in the layout of the published SumMe and TVSum files, and reading HDF5 files of others.

A video is a group: `features` [T, D], `picks` [T] (frame numbers of the samples), `n_frames`, `n_steps`, and
where they are known `change_points` [S, 2] (first and last frame of each shot), `gtscore` [T] (mean score by
annotators) and `user_summary` [U, n_frames]. What the layout has no place for is in `timestamps`, `logits`,
`embeddings` and the attribute `vidsum`.

A file that reads from others (links, external storage, virtual datasets) could show any file of the machine,
and is refused. A dataset may claim any shape, so its size is compared with what is stored.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, UsageError
from vidsum.io.arrays import convert_errors, require_file
from vidsum.io.atomic import as_utf8, atomic_write
from vidsum.results.features import (
    Features,
    extra_arrays,
    features_from_arrays,
    features_from_times,
    to_float32,
)

PUBLISHED_FPS = 30.0  # assumed of a file: "every 15th frame", as published, is 2 a second
PUBLISHED_STRIDE = 15  # frames from one feature to the next where a file has no picks

_DEFLATED = 1032  # Deflate, the strongest of HDF5's usual filters, makes a file at most so many times smaller
_ALWAYS_BYTES = 1 << 16  # any dataset may claim this much: a small one that was never written reads as zeros
_NUMBERS = "biuf"


def write_h5(
    videos: Mapping[str, Features],
    path: str | os.PathLike[str],
    annotations: Mapping[str, Mapping[str, Any]] = {},
) -> None:
    """Write several videos, and the `annotations` of some: other datasets. Raises OutputError."""
    # made in memory: HDF5 itself crashes the process on a full disk
    with h5py.File("made in memory", "w", driver="core", backing_store=False) as file:
        for name, features in videos.items():
            group = file.create_group(as_utf8(name))
            for key, value in {**_datasets(features), **annotations.get(name, {})}.items():
                group.create_dataset(key, data=value, track_times=False)
            if "change_points" in group:
                first, last = group["change_points"][:].T
                group.create_dataset("n_frame_per_seg", data=last - first + 1, track_times=False)
            group.attrs["vidsum"] = json.dumps(features.metadata)
        file.flush()
        content: bytes = file.id.get_file_image()
    with atomic_write(path) as part:
        part.write_bytes(content)


def _datasets(features: Features) -> dict[str, Any]:
    video = features.video
    n_frames = video.n_frames if video else max(1, round(features.duration_s * features.video_fps))
    return {
        "features": features.array,
        "picks": np.round(features.timestamps * features.video_fps).astype(np.int64),
        "timestamps": features.timestamps,
        "n_frames": np.int64(n_frames),
        "n_steps": np.int64(len(features)),
        **extra_arrays(features),
    }


def group_names(path: str | os.PathLike[str]) -> list[str]:
    """Return names of the videos of a file. Raises InputError: it is missing, not HDF5, or has none."""
    with open_h5(Path(path)) as file:
        names = [name for name, entry in members(file).items() if isinstance(entry, h5py.Group)]
        if not names:
            raise UsageError("it holds no video")
        return names


def read_group(path: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """Return the datasets of one group, and as `metadata` the attribute that `write_h5` wrote."""
    with open_h5(Path(path)) as file:
        group = member(file, name)
        if not isinstance(group, h5py.Group):
            raise UsageError(f"it holds no group {name}")
        entries = members(group).items()
        arrays = {key: read_dataset(entry) for key, entry in entries if isinstance(entry, h5py.Dataset)}
        arrays.pop("metadata", None)  # a dataset of that name is not ours
        if "vidsum" in group.attrs:
            if group.attrs.get_id("vidsum").shape != ():
                raise InputError(f"{group.name}: its attribute vidsum is not a text", subject=path)
            arrays["metadata"] = np.array(str(group.attrs["vidsum"]))
        return arrays


def group_features(arrays: Mapping[str, Any], video_fps: float = PUBLISHED_FPS) -> Features:
    """Return features of a group; published ones by `picks` and `n_frames`. Raises UsageError."""
    if "metadata" in arrays:
        return features_from_arrays(arrays)
    if "features" not in arrays:
        raise UsageError("a video of it has no dataset named features")
    array = to_float32(arrays["features"])
    picks = np.asarray(arrays.get("picks", np.arange(len(array)) * PUBLISHED_STRIDE), dtype=np.float64)
    made = features_from_times(array, picks / video_fps, video_fps)
    return replace(made, duration_s=float(arrays["n_frames"]) / video_fps) if "n_frames" in arrays else made


@contextmanager
def open_h5(path: Path, kind: str = "feature file") -> Iterator[h5py.File]:
    """Open an HDF5 file for reading. Raises InputError: not a `kind`, or a link leads to another file."""
    with convert_errors(require_file(path), kind), h5py.File(path, "r") as file:
        external = h5py.ExternalLink
        if link := file.visititems_links(lambda name, entry: name if isinstance(entry, external) else None):
            raise _elsewhere(file, f"links {link} to another file")
        yield file


def member(group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset | None:
    """Return a group or a dataset, its storage checked, by its name or path; None where there is none."""
    entry = group.get(name)
    return check_storage(entry) if isinstance(entry, h5py.Dataset) else entry


def members(group: h5py.Group) -> dict[str, h5py.Group | h5py.Dataset]:
    """Return all groups and datasets of a group by their names; see `member`."""
    entries = {name: member(group, name) for name in group}
    return {name: entry for name, entry in entries.items() if entry is not None}


def check_storage(dataset: h5py.Dataset) -> h5py.Dataset:
    """Return a dataset. Raises InputError: it is in other files or claims more than is stored."""
    if dataset.external is not None or dataset.is_virtual:
        raise _elsewhere(dataset, "is stored in other files")
    claimed = (dataset.size or 0) * dataset.dtype.itemsize
    stored = min(dataset.id.get_storage_size(), dataset.file.id.get_filesize())
    if claimed > max(_ALWAYS_BYTES, stored * (1 if dataset.chunks is None else _DEFLATED)):
        sizes = f"claims {claimed:,} bytes, but stores {stored:,}"
        raise InputError(f"{dataset.name} {sizes}", subject=dataset.file.filename)
    return dataset


def read_dataset(dataset: h5py.Dataset) -> npt.NDArray[Any]:
    """Return the numbers of a dataset; an empty array for text, records and references."""
    if dataset.shape is None or dataset.dtype.kind not in _NUMBERS:
        return np.empty(0, object)
    return np.asarray(dataset[()])


def _elsewhere(entry: h5py.Group | h5py.Dataset, reason: str) -> InputError:
    fault = f"{entry.name} {reason}: not read"
    return InputError(fault, hint="give one file that holds all its data", subject=entry.file.filename)
