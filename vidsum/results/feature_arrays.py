"""Features as the named arrays and the JSON text of a feature file; `.npz` files, a format of our own.

`features` [T, D] float32, `timestamps` [T] float64 seconds, `metadata` (one JSON text), and the arrays of
`EXTRA_ARRAYS` that a video has.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.io.arrays import convert_errors, read_arrays, require_file
from vidsum.io.outputs import atomic_write
from vidsum.results.features import COPIED_FIELDS, EXTRA_ARRAYS, Features
from vidsum.types import VideoInfo

_TYPES: dict[str, tuple[type, ...]] = {
    "extractor": (str,),
    **dict.fromkeys(COPIED_FIELDS[1:], (int, float)),
    "video": (dict, type(None)),
    "provenance": (dict,),
    "warnings": (list,),
}
_UNSEEN_S = 60.0  # seconds that a video may have after its last feature, beyond twice what they cover
_MAX_FPS = 10_000

_NAMES = ("features", "timestamps", "metadata", *EXTRA_ARRAYS)


def features_from_arrays(arrays: Mapping[str, Any]) -> Features:
    """Return features of the arrays of a file, within `convert_errors`. Raises UsageError."""
    if "features" not in arrays:
        raise UsageError("it has no array named features")
    array = to_float32(arrays["features"])
    metadata = _metadata(str(arrays["metadata"])) if "metadata" in arrays else {}
    times = np.asarray(arrays["timestamps"], dtype=np.float64) if "timestamps" in arrays else None
    if not metadata:
        return Features.from_array(array) if times is None else features_from_times(array, times)
    rows: dict[str, Any] = {name: to_float32(arrays[name]) for name in EXTRA_ARRAYS if name in arrays}
    made = Features(
        array=array,
        timestamps=np.asarray(arrays["timestamps"], dtype=np.float64),
        **{name: metadata[name] for name in COPIED_FIELDS},
        **rows,
        video=VideoInfo(**metadata["video"]) if metadata["video"] else None,
        provenance=metadata["provenance"],
        warnings=tuple(metadata["warnings"]),
    )
    _check(made)
    return made


def to_float32(array: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return the same numbers, contiguous; what is too large becomes infinite, and is refused later."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _metadata(text: str) -> dict[str, Any]:
    """Return the metadata in a file. Raises ValueError, KeyError or TypeError where it is something else."""
    metadata: dict[str, Any] = json.loads(text, parse_constant=_no_number)
    for name, kinds in _TYPES.items():
        value = metadata[name]
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}")
    if any(not isinstance(warning, str) for warning in metadata["warnings"]):
        raise TypeError("a warning is not a text")
    return metadata


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _check(features: Features) -> None:
    """Refuse lengths that no video of these features has: they size arrays with a number per frame."""
    seen_s = features.timestamps[-1] + features.covers_s + features.step_s
    if not features.duration_s <= 2 * seen_s + _UNSEEN_S:
        raise UsageError(f"its video lasts {features.duration_s:g} s, but its features end at {seen_s:g} s")
    if not features.video_fps <= _MAX_FPS:
        raise UsageError(f"its video has {features.video_fps:g} frames a second")
    for name, rows in extra_arrays(features).items():
        if rows.ndim != 2 or len(rows) != len(features):
            raise UsageError(f"{len(features)} features have {name} of the shape {list(rows.shape)}")


def extra_arrays(features: Features) -> dict[str, npt.NDArray[np.float32]]:
    """Return the arrays of `EXTRA_ARRAYS` that there are."""
    return {name: rows for name in EXTRA_ARRAYS if (rows := getattr(features, name)) is not None}


def features_from_times(
    array: npt.NDArray[np.float32], times: npt.NDArray[np.float64], video_fps: float = 30.0
) -> Features:
    """Return features [T, D] known only by their times [T], of which the median gap is the step."""
    if times.ndim != 1 or not np.isfinite(times).all():
        raise UsageError("the times of features must be one finite number for each")
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.5
    end = float(times[-1]) + step if len(times) else step
    return Features(array, times, step_s=step, covers_s=step, duration_s=end, video_fps=video_fps)


def write_npz(features: Features, path: str | os.PathLike[str]) -> None:
    """Write one video's features; the same features give the same bytes. Raises OutputError."""
    arrays: dict[str, npt.NDArray[Any]] = {"features": features.array, "timestamps": features.timestamps}
    arrays |= extra_arrays(features)
    arrays["metadata"] = np.array(json.dumps(features.metadata))
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_npz(path: str | os.PathLike[str]) -> Features:
    """Read one video's features, made here or elsewhere. Raises InputError: there are none."""
    source = require_file(Path(path))
    with convert_errors(source):
        return features_from_arrays(read_arrays(source, _NAMES))
