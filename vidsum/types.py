"""What the public functions take and return: frozen dataclasses, with units in the field names.

Time is in seconds, as float, counted from the first picture of the video. Intervals are half-open,
[start, end). Frame numbers appear only where a file format of the field asks for them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError

if TYPE_CHECKING:
    from pandas import DataFrame

FloatArray = npt.NDArray[np.float32]
TimeArray = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]
"""One RGB picture, [H, W, 3]."""

Interval = tuple[float, float]
"""[start_s, end_s)"""

_ODD_S, _ODD_FRACTION = 2.0, 0.02
"""Features may be longer or shorter than their video by this, or by this fraction of it."""

Progress = Callable[[str, float, float], None]
"""Called as progress(what, done, total) while a long step runs; `total` is 0 when it is not known."""


@dataclass(frozen=True)
class VideoInfo:
    """Facts about a video file from `vidsum.video.probe`, which does not decode it all."""

    path: str
    bytes: int
    container: str
    codec: str
    duration_s: float
    fps: float
    """Average frames per second."""
    is_vfr: bool
    """Whether the times between frames vary."""
    n_frames: int
    """Frames declared by the file, or counted from its packets."""
    width: int
    height: int
    """Stored size in pixels, before rotation and sample aspect ratio."""
    display_width: int
    display_height: int
    """Size as shown: rotated upright, with square pixels."""
    rotation_deg: int
    """Clockwise turn that shows the picture upright: 0, 90, 180 or 270."""
    sample_aspect_ratio: float
    """Width of a stored pixel over its height; 1.0 for square pixels."""
    start_s: float
    """Time stamp of the first picture in the file; all other times here count from it."""
    audio_codec: str | None = None

    @property
    def has_audio(self) -> bool:
        """Whether the file has a sound stream."""
        return self.audio_codec is not None


class ByContent:
    """Dataclasses that are equal if their fields are, arrays included."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = (each.name for each in fields(self))  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    return one == other


class Result(ByContent):
    """What features, shots, summaries, moments and highlights have in common: see `vidsum.results`."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data, curves included."""
        import vidsum

        return vidsum.to_dict(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as JSON, or features as .npz or .h5; `vidsum.load` reads it."""
        import vidsum

        vidsum.save(self, path)

    def to_pandas(self) -> DataFrame:
        """As a table, where pandas is installed."""
        import vidsum

        return vidsum.to_pandas(self)

    def _repr_html_(self) -> str:
        import vidsum

        return vidsum.to_html(self)


@dataclass(frozen=True, eq=False)
class Features(Result):
    """Features of one video: row t of `array` describes [timestamps[t], timestamps[t] + covers_s)."""

    array: FloatArray
    """[T, D]"""
    timestamps: TimeArray
    """[T] seconds; strictly increasing."""
    step_s: float
    """Seconds from one feature to the next."""
    covers_s: float
    """Seconds that one feature sees: the clip's length, or `step_s` where a feature is one frame."""
    duration_s: float
    """Length of the whole video."""
    video_fps: float
    """Frames per second of the video; shot lengths in frames are counted with it."""
    extractor: str = "custom"
    logits: FloatArray | None = None
    """[T, K] class scores before the softmax, where they were asked for."""
    video: VideoInfo | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or 0 in self.array.shape:
            raise UsageError(f"features must be a [T, D] array with T, D >= 1, not {list(self.array.shape)}")
        if self.timestamps.shape != (len(self.array),):
            raise UsageError(f"{len(self.array)} features have {self.timestamps.size} timestamps")
        if not np.isfinite(self.array).all():
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
        """Features made elsewhere: row t describes [t / fps, (t + 1) / fps).

        Args:
            array: [T, D] numbers.
            fps: features per second.
            duration_s: the video's length; the video's own or T / fps if not given.
            video_fps: frames per second of the video, for shot lengths in frames; the video's own or 30.
            extractor: a name for where they came from.
            video: the video that they are of, or its path; with it a summary can be written as MP4.

        Raises:
            UsageError: the array is not [T, D] with T, D >= 1, or holds NaN or infinite values; or it is much
                longer or shorter than the video.
            InputError: the video cannot be read.
        """
        if isinstance(video, str | os.PathLike):
            import vidsum

            video = vidsum.probe(video)
        if not fps > 0:
            raise UsageError(f"fps must be positive, not {fps}")
        rows = np.ascontiguousarray(array, dtype=np.float32)
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
        return f"Features({named(self.video)}[{rows}, {dim}] of {self.extractor}, {self.duration_s:g} s)"

    @property
    def dim(self) -> int:
        """D, the length of one feature."""
        return int(self.array.shape[1])


@dataclass(frozen=True, eq=False)
class Shots(Result):
    """A video cut into shots that follow each other without a gap."""

    edges_s: TimeArray
    """[S + 1] seconds; shot i is [edges_s[i], edges_s[i + 1]); from 0 to the video's end."""
    method: str
    video: VideoInfo | None = None
    video_fps: float = 30.0
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.edges_s.ndim != 1 or len(self.edges_s) < 2 or (np.diff(self.edges_s) <= 0).any():
            raise UsageError("the edges of shots must be two or more increasing times")

    def __len__(self) -> int:
        return len(self.edges_s) - 1

    def __repr__(self) -> str:
        return f"Shots({named(self.video)}{len(self)} by {self.method}, {self.edges_s[-1]:g} s)"

    @property
    def intervals(self) -> list[Interval]:
        """Each shot's [start_s, end_s)."""
        return list(pairwise(self.edges_s.tolist()))

    def numbers_at(self, times_s: TimeArray) -> npt.NDArray[np.int64]:
        """[T] number of the shot that each of the times lies in."""
        return np.searchsorted(self.edges_s[1:-1], times_s, side="right").astype(np.int64)

    @property
    def change_points(self) -> npt.NDArray[np.int64]:
        """[S, 2] first and last frame number of each shot, both inside it, as in the field's h5 files."""
        edges = np.round(self.edges_s * self.video_fps).astype(np.int64)
        return np.stack([edges[:-1], np.maximum(edges[1:] - 1, edges[:-1])], axis=1)


@dataclass(frozen=True)
class ScoredShot:
    """A shot [start_s, end_s) with the mean importance of its best piece, and whether the summary has one."""

    start_s: float
    end_s: float
    score: float
    selected: bool


@dataclass(frozen=True, eq=False)
class Summary(Result):
    """A summary: which segments of a video to keep, and why."""

    segments: tuple[Interval, ...]
    """In time order; pieces of two shots may touch."""
    shots: tuple[ScoredShot, ...]
    importance: FloatArray
    """[T] importance score of each feature."""
    timestamps: TimeArray
    """[T] seconds, of the features."""
    budget_s: float
    """Maximum length of the summary."""
    video_duration_s: float
    video_fps: float
    model: str
    """What gave the importance scores."""
    shot_method: str
    model_reason: str = ""
    """Why that model: one line."""
    video: VideoInfo | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """Length of the summary."""
        return float(sum(end - start for start, end in self.segments))

    def __repr__(self) -> str:
        lengths = f"{self.duration_s:g} s of {self.video_duration_s:g} s"
        count = "1 segment" if len(self.segments) == 1 else f"{len(self.segments)} segments"
        return f"Summary({named(self.video)}{count}, {lengths}, by {self.model})"


@dataclass(frozen=True)
class Moment:
    """A segment [start_s, end_s) of a video that may match a query."""

    start_s: float
    end_s: float
    score: float
    """Higher is better; comparable among the moments of one query on one video only."""
    evidence: Literal["seen", "said"] = "seen"
    """What found it."""


@dataclass(frozen=True, eq=False)
class QueryMoments(ByContent):
    """The results of one query."""

    query: str
    moments: tuple[Moment, ...]
    """Best first; none where the query is not present enough."""
    saliency: FloatArray
    """[T] how well each clip fits the query: 0 for the worst of the video, 1 for the best."""
    present: float | None = None
    """How likely the query is true of the video at all; compares across videos. None: not known."""
    said: FloatArray | None = None
    """[T] how well what is said during each clip fits the query, in [0, 1]; None where it was not used."""
    spoken: Mapping[str, Any] | None = None
    """What was heard, if the query was spoken: the fields of `vidsum.speech.transcript.SpokenQuery`."""


@dataclass(frozen=True, eq=False)
class Grounding(Result):
    """The moments of one video that match its queries."""

    queries: tuple[QueryMoments, ...]
    """In the order given."""
    timestamps: TimeArray
    """[T] seconds at which each clip begins."""
    step_s: float
    """Seconds from one clip to the next."""
    video_duration_s: float
    model: str
    """What gave the moments: `similarity`, a model that ships, or a checkpoint."""
    space: str
    """The space in which text and video were compared."""
    video: VideoInfo | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    evidence: str = "seen"
    """What moments were found in: `seen`, `said` or `both`."""

    def __repr__(self) -> str:
        found = sum(len(one.moments) for one in self.queries)
        return (
            f"Grounding({named(self.video)}{found} moments of {len(self.queries)} queries, by {self.model})"
        )


@dataclass(frozen=True, eq=False)
class Highlights(Result):
    """What stands out in a video, without a query."""

    saliency: FloatArray
    """[C] how much there is to see in each clip, in [0, 1]; comparable among the clips of one video only."""
    timestamps: TimeArray
    """[C] seconds at which each clip begins."""
    clip_s: float
    """Seconds of a clip; the last one may end with the video, before."""
    moments: tuple[Moment, ...]
    """Segments of salient clips, best first."""
    video_duration_s: float
    model: str = ""
    """What gave the saliency, and why that model, in one line."""
    model_reason: str = ""
    video: VideoInfo | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        found = f"{len(self.moments)} moments, {self.video_duration_s:g} s"
        return f"Highlights({named(self.video)}{found}, by {self.model})"


def named(video: VideoInfo | None) -> str:
    """The name of a video's file and a colon, for `repr`."""
    return f"{Path(video.path).name}: " if video else ""
