"""Feature files: `.npz` of our own, and `.h5` in the layout of the published SumMe and TVSum files.

npz: `features` [T, D] float32, `timestamps` [T] float64 seconds, `metadata` (one JSON text), and `logits`
[T, K] if there are any. h5: one group a video with `features`, `picks` [T] (frame numbers of the samples),
`n_frames`, `n_steps`, and where they are known `change_points` [S, 2], `n_frame_per_seg` [S], `gtscore` [T],
`user_summary` [U, n_frames].
"""

import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, UsageError
from vidsum.outputs import as_utf8, whole_file
from vidsum.types import Features, VideoInfo

SCHEMA = "vidsum.features/1"
SUFFIXES = (".npz", ".h5", ".hdf5")

_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy and h5py raise at files that are damaged or none of ours."""

_PASSED_ON = ("extractor", "step_s", "covers_s", "duration_s", "video_fps")


def is_feature_file(name: str) -> bool:
    """Whether a name is that of a feature file: `x.npz`, `x.h5`, or `x.h5#video` for one video of several."""
    return Path(name.partition("#")[0]).suffix in SUFFIXES


@dataclass(frozen=True, eq=False)
class H5Video:
    """One video of an h5 file: its features, and the annotations of the field where the file has them."""

    features: Features
    change_points: npt.NDArray[np.int64] | None = None
    """[S, 2] first and last frame of each shot, both inside it."""
    gtscore: npt.NDArray[np.float32] | None = None
    """[T] annotators' mean importance."""
    user_summary: npt.NDArray[np.float32] | None = None
    """[U, n_frames] one row of 0 and 1 an annotator."""


def write_features(
    features: Features,
    path: str | os.PathLike[str],
    *,
    change_points: npt.NDArray[np.int64] | None = None,
) -> None:
    """Write one video's features to `.npz`, or to `.h5` under the name of the file's stem.

    Args:
        features: of the video.
        path: the file.
        change_points: [S, 2] first and last frame of each shot, for an h5 file; npz has no place for them.

    Raises:
        UsageError: the suffix is neither.
        OutputError: the file cannot be written.
    """
    target = Path(path)
    if target.suffix == ".npz":
        write_npz(features, target)
    elif target.suffix in SUFFIXES:
        write_h5({_group_name(features, target): H5Video(features, change_points)}, target)
    else:
        named = target.parent / target.stem
        raise UsageError(f"{target}: not a feature file", hint=f"name it {named}.npz or {named}.h5")


def read_features(path: str | os.PathLike[str], video: str | None = None) -> Features:
    """Read features of one video.

    Args:
        path: an `.npz` or `.h5` file.
        video: which group of an h5 file; needed where it holds several.

    Raises:
        InputError: the file is missing or not a feature file, or lacks that video.
        UsageError: the h5 file holds several videos and none was named.
    """
    source = Path(path)
    if source.suffix == ".npz":
        return read_npz(source)
    videos = read_h5(source)
    if video is None and len(videos) == 1:
        return next(iter(videos.values())).features
    if video is None:
        one = f"{source}#{next(iter(videos))}"
        raise UsageError(f"{source} holds {len(videos)} videos", hint=f"name one, such as {one}")
    if video not in videos:
        raise InputError(f"{source}: holds no video {video!r}")
    return videos[video].features


def metadata_of(features: Features) -> dict[str, Any]:
    """What an npz file says of its features, JSON-ready."""
    return {
        "schema": SCHEMA,
        **{name: getattr(features, name) for name in _PASSED_ON},
        "video": asdict(features.video) if features.video else None,
        "provenance": dict(features.provenance),
        "warnings": list(features.warnings),
    }


def write_npz(features: Features, path: str | os.PathLike[str]) -> None:
    """Write the `.npz` format; the same features give the same bytes."""
    arrays: dict[str, npt.NDArray[Any]] = {"features": features.array, "timestamps": features.timestamps}
    if features.logits is not None:
        arrays["logits"] = features.logits
    arrays["metadata"] = np.array(json.dumps(metadata_of(features)))
    with whole_file(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_npz(path: str | os.PathLike[str]) -> Features:
    """Read the `.npz` format; a file with only `features` (and `timestamps`) made elsewhere is read too.

    Raises:
        InputError: the file is missing, not an npz file, or has no usable features.
    """
    source = _existing(Path(path))
    with refusing(source):
        with source.open("rb") as file, np.load(file, allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        return _features_of(arrays)


def _features_of(arrays: dict[str, npt.NDArray[Any]]) -> Features:
    if "features" not in arrays:
        raise UsageError("it has no array named features")
    array = np.ascontiguousarray(arrays["features"], dtype=np.float32)
    metadata = json.loads(str(arrays["metadata"])) if "metadata" in arrays else {}
    times = np.asarray(arrays["timestamps"], dtype=np.float64) if "timestamps" in arrays else None
    if not metadata:
        return Features.from_array(array) if times is None else _timed(array, times)
    return Features(
        array=array,
        timestamps=np.asarray(arrays["timestamps"], dtype=np.float64),
        **{name: metadata[name] for name in _PASSED_ON},
        logits=arrays.get("logits"),
        video=VideoInfo(**metadata["video"]) if metadata["video"] else None,
        provenance=metadata["provenance"],
        warnings=tuple(metadata["warnings"]),
    )


def _timed(
    array: npt.NDArray[np.float32], times: npt.NDArray[np.float64], video_fps: float = 30.0
) -> Features:
    """Features known only by their times: the usual gap between them is the step."""
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.5
    end = float(times[-1]) + step if len(times) else step
    return Features(array, times, step_s=step, covers_s=step, duration_s=end, video_fps=video_fps)


def write_h5(videos: Mapping[str, H5Video], path: str | os.PathLike[str]) -> None:
    """Write several videos in the field's h5 layout; what else we know of one goes into an attribute.

    Raises:
        OutputError: the file cannot be written.
    """
    write_groups({name: (entry.features, h5_arrays(entry)) for name, entry in videos.items()}, path)


def write_groups(
    groups: Mapping[str, tuple[Features, Mapping[str, Any]]], path: str | os.PathLike[str]
) -> None:
    """Write one h5 group a video: the given datasets, and what else we know of its features in an attribute.

    Raises:
        OutputError: the file cannot be written.
    """
    with whole_file(path) as part, h5py.File(part, "w") as file:
        for name, (features, arrays) in groups.items():
            group = file.create_group(as_utf8(name))
            for key, value in arrays.items():
                group.create_dataset(key, data=value, track_times=False)
            group.attrs["vidsum"] = json.dumps(metadata_of(features))


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


def read_h5(path: str | os.PathLike[str], video_fps: float = 30.0) -> dict[str, H5Video]:
    """Read all videos of an h5 file in the field's layout.

    Args:
        path: the file.
        video_fps: frames per second to turn `picks` into seconds, for files that do not record it, as the
            published ones do not.

    Raises:
        InputError: the file is missing, is not HDF5, or a group has no features.
    """
    groups = read_groups(path)
    with refusing(Path(path)):
        return {name: _h5_video(arrays, video_fps) for name, arrays in groups.items()}


def read_groups(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """The datasets of each group of an h5 file as they stand, and as `metadata` what `write_groups` put into
    the attribute.

    Raises:
        InputError: the file is missing, is not HDF5, or holds no group.
    """
    source = _existing(Path(path))
    with refusing(source), h5py.File(source, "r") as file:
        groups = {name: group for name, group in file.items() if isinstance(group, h5py.Group)}
        if not groups:
            raise UsageError("it holds no video")
        return {name: _group_arrays(group) for name, group in groups.items()}


def _group_arrays(group: Any) -> dict[str, Any]:
    arrays = {key: group[key][()] for key in group if isinstance(group[key], h5py.Dataset)}
    arrays.pop("metadata", None)  # a dataset of that name is none of ours
    return {**arrays, "metadata": np.array(group.attrs["vidsum"])} if "vidsum" in group.attrs else arrays


def group_features(arrays: dict[str, Any], video_fps: float) -> Features:
    """Features of one group of `read_groups`.

    Args:
        arrays: its datasets.
        video_fps: as for `read_h5`.

    Raises:
        UsageError: it has no features, or they are unusable.
    """
    return _features_of(arrays) if "metadata" in arrays else _published(arrays, video_fps)


def _h5_video(arrays: dict[str, Any], video_fps: float) -> H5Video:
    points = arrays.get("change_points")
    return H5Video(
        group_features(arrays, video_fps),
        change_points=None if points is None else np.asarray(points, dtype=np.int64),
        gtscore=_optional_float32(arrays.get("gtscore")),
        user_summary=_optional_float32(arrays.get("user_summary")),
    )


def _published(arrays: dict[str, Any], video_fps: float) -> Features:
    """Features of a published file: times come from `picks`, the duration from `n_frames`."""
    if "features" not in arrays:
        raise UsageError("a video of it has no dataset named features")
    array = np.ascontiguousarray(arrays["features"], dtype=np.float32)
    picks = np.asarray(arrays.get("picks", np.arange(len(array)) * 15), dtype=np.float64)
    timed = _timed(array, picks / video_fps, video_fps)
    duration = float(arrays["n_frames"]) / video_fps if "n_frames" in arrays else timed.duration_s
    return Features(
        array, timed.timestamps, timed.step_s, timed.covers_s, duration_s=duration, video_fps=video_fps
    )


def _optional_float32(value: Any) -> npt.NDArray[np.float32] | None:
    return None if value is None else np.asarray(value, dtype=np.float32)


def _group_name(features: Features, target: Path) -> str:
    return Path(features.video.path).stem if features.video else target.stem


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: there is no permission to read it")
    return path


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn what goes wrong while `path` is read into an InputError; our own checks give their reason."""
    try:
        yield
    except UsageError as error:
        raise InputError(f"{path}: not a feature file ({error})") from error
    except _UNREADABLE as error:  # what the libraries say speaks of their internals
        raise InputError(f"{path}: not a feature file (damaged, or of another kind)") from error
