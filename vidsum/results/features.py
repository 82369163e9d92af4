"""Features of one video: an array with a time for each row; and `.npz` files, a format of our own.

A file has `features` [T, D] float32, `timestamps` [T] float64 seconds, `metadata` (one JSON text), and the
arrays of `EXTRA_ARRAYS` that a video has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.io.arrays import convert_errors, read_arrays, require_file
from vidsum.io.atomic import atomic_write
from vidsum.models.scaling import distances_between, exact_unit_rows
from vidsum.results.result import Result, load_pandas, parse_fields, to_data, video_data, video_prefix
from vidsum.types import Above0, FloatArray, TimeArray, VideoInfo, rules
from vidsum.version import __version__
from vidsum.video.probe import probe

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = "vidsum.features/1"
COPIED_FIELDS = ("extractor", "step_s", "covers_s", "duration_s", "video_fps")  # in files as they are
EXTRA_ARRAYS = ("logits", "embeddings")  # arrays with a row for each feature, which there may be

_SAME_PICTURE_DISTANCE = 5e-4
"""1 - cosine of two features of one picture: up to 4e-4 after H.264; of live footage 6e-4 or more."""
_ODD_S, _ODD_FRACTION = 2.0, 0.02  # by which features may be longer or shorter than their video


class FeatureFacts(TypedDict):
    """Metadata of features.

    The `metadata` text of an .npz feature file; `vidsum extract --json` and `-o -` add the keys that are not
    required.
    """

    extractor: str
    step_s: Above0
    covers_s: Above0
    duration_s: Above0
    video_fps: Above0
    shape: NotRequired[tuple[int, int]]
    output: NotRequired[str | None]
    timestamps_s: NotRequired[Sequence[Annotated[float, rules(minimum=0)]]]
    features: NotRequired[Sequence[Sequence[float]]]
    logits: NotRequired[Sequence[Any] | None]
    embeddings: NotRequired[Sequence[Any] | None]


@dataclass(frozen=True, eq=False)
class Features(Result):
    """Features of one video: row t of `array` describes [timestamps[t], timestamps[t] + covers_s)."""

    array: FloatArray  # [T, D]
    timestamps: TimeArray  # [T] seconds; strictly increasing
    step_s: float  # seconds from one feature to the next
    covers_s: float  # seconds that one feature sees: the clip's length, or `step_s` of single frames
    duration_s: float  # length of the whole video
    video_fps: float  # frames per second of the video; shot lengths in frames are counted with it
    extractor: str = "custom"
    logits: FloatArray | None = None  # [T, K] class scores before the softmax, where they were asked for
    embeddings: FloatArray | None = None  # [T, E] in the space of sentences, where a map to it ships

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or 0 in self.array.shape:
            raise UsageError(f"features must be a [T, D] array with T, D >= 1, not {list(self.array.shape)}")
        if self.timestamps.shape != (len(self.array),):
            raise UsageError(f"{len(self.array)} features have {self.timestamps.size} timestamps")
        # their ends alone: an array of whether each number is finite would be large
        if not np.isfinite([self.array.min(), self.array.max()]).all():
            raise UsageError("features hold NaN or infinite values")
        if not np.isfinite(self.timestamps).all() or (self.timestamps[1:] <= self.timestamps[:-1]).any():
            raise UsageError("timestamps of features must be finite and increase")
        if not all(
            0 < value < np.inf for value in (self.step_s, self.covers_s, self.duration_s, self.video_fps)
        ):
            raise UsageError("step_s, covers_s, duration_s and video_fps must be positive numbers")

    @classmethod
    def from_array(
        cls,
        array: npt.ArrayLike,
        fps: float = 2.0,
        *,
        duration_s: float | None = None,
        video_fps: float | None = None,
        extractor: str = "custom",
        video: VideoInfo | str | os.PathLike[str] | None = None,
    ) -> Features:
        """Return features made elsewhere: row t describes [t / fps, (t + 1) / fps).

        Args:
            array: [T, D] numbers.
            fps: features per second.
            duration_s: the video's length; the video's own or T / fps if not given.
            video_fps: frames per second of the video, for shot lengths in frames; the video's own or 30.
            extractor: a name for where they came from.
            video: the video that they are of, or its path; with it a summary can be written as MP4.

        Raises UsageError: the array is not [T, D] with T, D >= 1, or holds NaN or infinite values; or it is
        much longer or shorter than the video. InputError: the video cannot be read.
        """
        if isinstance(video, str | os.PathLike):
            video = probe(video)
        if not fps > 0:
            raise UsageError(f"fps must be positive, not {fps}")
        try:
            rows = np.ascontiguousarray(array, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise UsageError(f"features: not an array of numbers ({error})") from error
        times = np.arange(len(rows) if rows.ndim else 0, dtype=np.float64) / fps
        own_s = max(len(times), 1) / fps
        if video and abs(own_s - video.duration_s) > max(_ODD_S, _ODD_FRACTION * video.duration_s, 1 / fps):
            fault = f"{len(times)} features at {fps:g} a second are {own_s:g} s"
            raise UsageError(
                f"{fault}, and the video has {video.duration_s:g} s",
                hint=f"fps={len(times) / video.duration_s:.4g}",
            )
        if duration_s is None:
            duration_s = video.duration_s if video else own_s
        if video_fps is None:
            video_fps = video.fps if video else 30.0
        return cls(
            array=rows,
            timestamps=times,
            step_s=1.0 / fps,
            covers_s=1.0 / fps,
            duration_s=duration_s,
            video_fps=video_fps,
            extractor=extractor,
            video=video,
        )

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        rows, dim = self.array.shape
        return (
            f"Features({video_prefix(self.video)}[{rows}, {dim}] of {self.extractor}, {self.duration_s:g} s)"
        )

    @cached_property
    def picture_starts(self) -> npt.NDArray[np.int64]:
        """[P] the rows at which another picture begins; those that follow differ by its encoding alone."""
        starts = [0]
        is_like_last = distances_between(self.array, exact_unit_rows) < _SAME_PICTURE_DISTANCE
        for number, is_like in enumerate(is_like_last.tolist(), 1):
            # rows that each differ by little from the one before may drift away from the first
            pair = self.array[[starts[-1], number]]
            if not (is_like and distances_between(pair, exact_unit_rows)[0] < _SAME_PICTURE_DISTANCE):
                starts.append(number)
        return np.array(starts)

    @property
    def dim(self) -> int:
        """D, the length of one feature."""
        return int(self.array.shape[1])

    @property
    def metadata(self) -> dict[str, Any]:
        """All but the numbers, JSON-ready."""
        return {
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in COPIED_FIELDS},
            "video": video_data(self.video),
            "provenance": dict(self.provenance),
            "warnings": list(self.warnings),
        }

    @property
    def effective_provenance(self) -> dict[str, Any]:
        """Their provenance; of features made elsewhere, their own hash."""
        if self.provenance:
            return dict(self.provenance)
        content = self.array.tobytes() + self.timestamps.tobytes()
        return {
            "vidsum": __version__,
            "extractor": self.extractor,
            "features": {"bytes": len(content), "sha256": sha256(content).hexdigest()},
        }

    def to_dict(self, *, with_arrays: bool = True) -> dict[str, Any]:
        """As JSON-ready data; the numbers too unless they are not asked for."""
        document = {**self.metadata, "shape": list(self.array.shape)}
        if with_arrays:
            document["timestamps_s"] = to_data(self.timestamps)
            document["features"] = self.array.tolist()
            for name in EXTRA_ARRAYS:
                rows = getattr(self, name)
                document[name] = None if rows is None else rows.tolist()
        return document

    def rows(self) -> list[dict[str, Any]]:
        return []

    def to_pandas(self) -> DataFrame:
        """Return [T, D], by time."""
        return load_pandas().DataFrame(self.array, index=load_pandas().Index(self.timestamps, name="time_s"))


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
    rows = {name: to_float32(arrays[name]) for name in EXTRA_ARRAYS if name in arrays}
    made = parse_fields(Features, {**metadata, **rows, "array": array, "timestamps": times})
    _check(made)
    return made


def to_float32(array: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return the same numbers, contiguous; what is too large becomes infinite, and is refused later."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _metadata(text: str) -> dict[str, Any]:
    """Return the metadata in a file. Raises ValueError, KeyError or TypeError where it is something else."""
    metadata: dict[str, Any] = json.loads(text, parse_constant=_no_number)
    texts = (metadata["extractor"], *metadata["warnings"])
    kinds = {"provenance": dict, "warnings": list}
    is_known = all(isinstance(metadata[name], kind) for name, kind in kinds.items())
    if not is_known or not all(isinstance(text, str) for text in texts):
        raise TypeError("not the metadata of features")
    if any(isinstance(metadata[name], bool) for name in COPIED_FIELDS):  # which Python takes for a number
        raise TypeError("a truth value is not a number")
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
