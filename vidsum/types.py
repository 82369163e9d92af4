"""Arrays, intervals and their overlap, and the facts about a video.

Time is in seconds, as float, counted from the first picture of the video. Intervals are half-open,
[start, end). Frame numbers appear only where a file format of the field asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
TimeArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Picture = npt.NDArray[np.uint8]  # one RGB picture, [H, W, 3]

Interval = tuple[float, float]  # [start_s, end_s)
T = TypeVar("T")


def rules(**keywords: Any) -> tuple[tuple[str, Any], ...]:
    """Return keywords of JSON Schema for `Annotated`: what values must fulfil besides the type."""
    return tuple(keywords.items())


OPTIONAL: Final = "documents leave it out where it has no value"  # in `Annotated`, of a dataclass's field

_LATEST_S = 10**9
Seconds = Annotated[float, rules(minimum=0, maximum=_LATEST_S)]
SignedSeconds = Annotated[float, rules(minimum=-_LATEST_S, maximum=_LATEST_S)]
"""Speech before the first picture has negative times."""
Length = Annotated[float, rules(exclusiveMinimum=0, maximum=_LATEST_S)]
FrameRate = Annotated[float, rules(minimum=1e-9, maximum=10**6)]
Fraction = Annotated[float, rules(minimum=0, maximum=1)]
Above0 = Annotated[float, rules(exclusiveMinimum=0)]
Count = Annotated[int, rules(minimum=0)]
Number = Annotated[int, rules(minimum=1)]
Sha256 = Annotated[str, rules(pattern="^[0-9a-f]{64}$")]
FilledText = Annotated[str, rules(minLength=1)]

_FIRST_S = 0.5

TrackChoice = int | str | None
"""A track by its number among tracks of its kind, from 1 on, or by its language; None: FFmpeg's choice."""

Progress = Callable[[str, float, float], None]
"""Called as progress(what, done, total) while a long step runs; `total` is 0 when it is not known."""


@dataclass(frozen=True)
class VideoInfo:
    """Facts about a video file from `vidsum.video.probe`, which does not decode it all."""

    path: str
    bytes: Count
    container: str
    codec: str
    duration_s: Length
    fps: FrameRate  # average frames per second
    is_vfr: bool  # whether the times between frames vary
    n_frames: Number  # frames declared by the file, or counted from its packets
    width: Number
    height: Number  # with the width: the stored size in pixels, before rotation and sample aspect ratio
    display_width: Number
    display_height: Number  # with the width: the size as shown, rotated upright, with square pixels
    rotation_deg: Annotated[int, rules(enum=(0, 90, 180, 270))]  # clockwise turn that shows it upright
    sample_aspect_ratio: Above0  # width of a stored pixel over its height; 1.0 for square pixels
    start_s: float  # time stamp of the first picture in the file; all other times here count from it
    audio_codec: str | None = None  # codec of the audio track that is read; None without sound
    start_offset_s: Annotated[Seconds | None, OPTIONAL, rules(type=("number", "null"))] = None
    """From the file's start, which players count from, to the first picture; None: not known."""
    video_track: Annotated[Number | None, OPTIONAL] = None
    """Number, from 1 on, of the video track that is read; None where the file has no other."""
    audio_track: Annotated[Number | None, OPTIONAL] = None

    @property
    def has_audio(self) -> bool:
        """Whether the file has a sound stream."""
        return self.audio_codec is not None


def reported(items: Collection[T], what: str, progress: Progress | None) -> Iterator[T]:
    """Yield items, and report after each how many are done."""
    for done, item in enumerate(items, 1):
        yield item
        if progress:
            progress(what, done, len(items))


def iou(a: npt.ArrayLike, b: npt.ArrayLike, union: Literal["hull", "lengths"] = "hull") -> TimeArray:
    """Return the temporal intersection over union of each interval of one set with each of another.

    Args:
        a: [N, 2] pairs (start, end), in seconds or any other unit; or many such sets, [..., N, 2].
        b: [M, 2], or [..., M, 2].
        union: last end - first start, as the field's measures of a single moment have it, or the sum of the
            lengths less what is common, as QVHighlights' average precision has it. They differ by rounding
            alone, which decides at a threshold: [0, 4.95] in [0, 9.9] has 0.5 by the hull, not by lengths.

    Returns [N, M] in [0, 1], or [..., N, M]; 0 for what does not overlap, as an empty or inverted interval.
    """
    left, right = _sets(a)[..., :, None, :], _sets(b)[..., None, :, :]
    common = np.minimum(left[..., 1], right[..., 1]) - np.maximum(left[..., 0], right[..., 0])
    if union == "hull":
        either = np.maximum(left[..., 1], right[..., 1]) - np.minimum(left[..., 0], right[..., 0])
    else:
        either = (left[..., 1] - left[..., 0]) + (right[..., 1] - right[..., 0]) - common
    shares: TimeArray = np.divide(common, either, out=np.zeros_like(common), where=common > 0)
    return shares


def _sets(intervals: npt.ArrayLike) -> TimeArray:
    array: TimeArray = np.asarray(intervals, np.float64)
    return array if array.ndim > 1 else array.reshape(-1, 2)


def stack_intervals(sets: Sequence[Sequence[Interval]], max_count: int | None = None) -> TimeArray:
    """Return sets of intervals as one array [Q, K, 2], padded with empty intervals, whose IoU is 0.

    Each of Q queries has some intervals, or none, of which the first `max_count` are taken.
    """
    length = max(map(len, sets), default=0) if max_count is None else max_count
    empty = [(0.0, 0.0)] * length
    filled = [[*intervals[:length], *empty[len(intervals) :]] for intervals in sets]
    return np.array(filled, np.float64).reshape(len(sets), length, 2)


def clip_interval(span: Interval, duration_s: float) -> Interval:
    """Return a span clipped to the video; speech before the first picture becomes the first half second."""
    low_s, high_s = span if span[1] > 0 else (0.0, _FIRST_S)
    return max(0.0, low_s), min(high_s, duration_s)


def intersect(spans: Iterable[Interval], part: Interval) -> list[Interval]:
    """Return what spans have in common with a part; spans outside it are left out."""
    inside = ((max(low, part[0]), min(high, part[1])) for low, high in spans)
    return [(low, high) for low, high in inside if low < high]


def join_near(spans: Iterable[Interval], gap_s: float = 1e-9) -> list[Interval]:
    """Return spans, which are in order of time; those less than a gap apart as one."""
    joined = list[Interval]()
    for low, high in spans:
        if joined and low - joined[-1][1] < gap_s:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    return joined
