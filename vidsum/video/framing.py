"""Reshape a clip: a crop as large as fits that follows what matters, or the whole picture between bars."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.video.reformatter import VideoReformatter

from vidsum.types import FloatArray, TimeArray, VideoInfo

MIN_SIDE = 540  # of a reshaped clip: smaller pictures are enlarged for legible captions
_BLACK = {True: (0, 128, 128), False: (16, 128, 128)}  # Y, U and V of bars in full and limited range


@dataclass(frozen=True)
class Shape:
    """Shape of clips, and the part of a video's pictures that it takes."""

    width: int
    height: int  # size of the clip, even
    whole: tuple[int, int]  # (width, height) of the video's whole picture in the clip, even
    share: float  # length of the crop over the length of the picture
    is_upright: bool  # whether the crop moves up and down, not to the sides

    @classmethod
    def of(cls, video: VideoInfo, aspect: Fraction) -> "Shape":
        """Return the shape of clips of width / height `aspect`; see `MIN_SIDE`."""
        wide, high = max(1, video.display_width), max(1, video.display_height)
        length, across = min(float(aspect * high), wide), min(float(wide / aspect), high)
        scale = max(1.0, MIN_SIDE / min(length, across))
        width, height = _even(scale * length), _even(scale * across)
        fit = min(width / wide, height / high)
        whole = min(width, _even(fit * wide)), min(height, _even(fit * high))
        return cls(width, height, whole, min(length / wide, across / high), length >= wide)


@dataclass(frozen=True, eq=False)
class CropPath:
    start_s: float  # when the shot's first frame goes on screen in the video
    times_s: TimeArray  # [T]
    positions: FloatArray | None  # [T] of the crop's way, from 0 to 1; None: the whole picture


@dataclass(frozen=True, eq=False)
class Framing:
    """The part of a video's pictures that its clips show."""

    shape: Shape
    shots: Sequence[CropPath] = ()  # in time order; without any, the crop is in the middle

    @property
    def is_whole(self) -> bool:
        """Whether whole pictures are shown in any shot."""
        return any(shot.positions is None for shot in self.shots)

    def position_at(self, time_s: float) -> float | None:
        """Return where the crop of a frame begins, from 0 to 1 of its way; None for the whole picture."""
        if not self.shots:
            return 0.5
        shot = self.shots[max(0, bisect_right(self.shots, time_s + 1e-6, key=lambda shot: shot.start_s) - 1)]
        return None if shot.positions is None else float(np.interp(time_s, shot.times_s, shot.positions))

    def apply(self, frame: av.VideoFrame, time_s: float, scaler: VideoReformatter, full: bool) -> Any:
        """Return the clip's picture for an upright yuv420p frame; `full` as in `ClipStyle.apply`."""
        position, shape = self.position_at(time_s), self.shape
        if position is not None:
            return scaler.reformat(_crop(frame, position, shape), shape.width, shape.height)
        inner = scaler.reformat(frame, *shape.whole)
        left, top = (shape.width - shape.whole[0]) // 4 * 2, (shape.height - shape.whole[1]) // 4 * 2
        bars = av.VideoFrame(shape.width, shape.height, "yuv420p")
        for number, (target, source) in enumerate(zip(bars.planes, inner.planes, strict=True)):
            pixels, half = plane_array(target), 1 + (number > 0)
            pixels[:] = _BLACK[full][number]
            rows = slice(top // half, top // half + source.height)
            pixels[rows, left // half : left // half + source.width] = plane_array(source)[:, : source.width]
        return bars


def plane_array(plane: Any) -> npt.NDArray[np.uint8]:
    """View a plane as [rows, bytes in a line]; a line may be longer than the picture is wide."""
    return np.frombuffer(plane, dtype=np.uint8).reshape(-1, plane.line_size)[: plane.height]


def _even(size: float) -> int:
    return max(2, 2 * round(size / 2))


def _crop(frame: av.VideoFrame, position: float, shape: Shape) -> av.VideoFrame:
    """Return a part of a yuv420p frame, at an even place."""
    size = frame.height if shape.is_upright else frame.width
    part = min(size, _even(shape.share * size))
    first = round(position * (size - part) / 2) * 2
    first -= (first + part > size) * 2
    if part == size:
        return frame
    turned = (frame.width, part) if shape.is_upright else (part, frame.height)
    crop = av.VideoFrame(*turned, "yuv420p")
    for number, (target, source) in enumerate(zip(crop.planes, frame.planes, strict=True)):
        half = 1 + (number > 0)
        rows = slice(first // half, first // half + part // half)
        pixels = plane_array(source)[:, : source.width]
        plane_array(target)[:, : target.width] = pixels[rows] if shape.is_upright else pixels[:, rows]
    crop.color_range, crop.colorspace = frame.color_range, frame.colorspace
    return crop
