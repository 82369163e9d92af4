"""The frames of a video to read: rate, size, choice among the decoded ones, upright RGB pictures."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from vidsum.errors import UsageError
from vidsum.types import Picture, VideoInfo
from vidsum.video.damage import CannotReadError, DecodeLog, pictures_end_s
from vidsum.video.jumps import Jumps

# Bilinear with a support that grows as the picture shrinks, as in PIL's and torchvision's antialiased resize.
# Without the other two, pictures of even width come out about 2 grey levels too dark: chroma is rounded down.
# Numbers of libswscale, since PyAV 17 has no names for them.
_ACCURATE_RND, _FULL_CHR_H_INT = 0x40000, 0x2000
_FLAGS = int(Interpolation.BILINEAR) | _ACCURATE_RND | _FULL_CHR_H_INT

_MAX_ASPECT = 10  # wider or taller pixels are a fault of the file


def has_odd_pixels(aspect: float) -> bool:
    """Return whether the width of a pixel over its height is impossible."""
    return not 1 / _MAX_ASPECT <= aspect <= _MAX_ASPECT


@dataclass(frozen=True)
class PictureMaker:
    width: int
    height: int  # size of the upright picture
    _scaler: VideoReformatter = field(default_factory=VideoReformatter)

    def from_frame(self, frame: av.VideoFrame, turn_deg: int = 0) -> Picture:
        """Return the [height, width, 3] RGB picture of a frame that `turn_deg`, clockwise, shows upright.

        YUV is converted with the frame's matrix and range; untagged is BT.601, as in FFmpeg.
        """
        is_lying = turn_deg % 180 != 0
        width, height = (self.height, self.width) if is_lying else (self.width, self.height)
        small = self._scaler.reformat(frame, width, height, "rgb24", interpolation=_FLAGS)
        return np.ascontiguousarray(np.rot90(small.to_ndarray(), -(turn_deg // 90)))

    def from_rgb(self, picture: Picture) -> Picture:
        picture = np.ascontiguousarray(picture)
        if picture.shape[:2] == (self.height, self.width):
            return picture
        return self.from_frame(av.VideoFrame.from_ndarray(picture, format="rgb24"))


T = TypeVar("T")

MAX_FPS = 1000.0  # more samples a second than any video has frames would only repeat them
TOLERANCE_S = 0.0006  # a frame is on screen this long before its time stamp: Matroska rounds


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a video, upright, with square pixels, at the chosen size."""

    index: int  # number of the sample, or of the frame where every frame is read; from 0
    time_s: float  # the time it was sampled at: `index` / fps, or `pts_s` where every frame is read
    pts_s: float  # when it went on screen, counted from the first picture
    image: Picture


@dataclass(frozen=True)
class ShortSide:
    """Shorter side in pixels; the longer one follows, rounded down as torchvision's Resize does."""

    pixels: int


@dataclass(frozen=True)
class LongSide:
    """Longer side in pixels; the shorter one follows, rounded."""

    pixels: int


@dataclass(frozen=True)
class Exact:
    """Width and height in pixels, whatever the video's shape."""

    width: int
    height: int


Size = ShortSide | LongSide | Exact | None  # of the pictures; None is the size that it is shown at


@dataclass(frozen=True)
class Sampling:
    """`fps` pictures a second at one size; None takes every frame."""

    fps: float | None
    size: Size = None
    is_guest: bool = False  # whether it shows only what is decoded for other samplings, if there are any

    def __post_init__(self) -> None:
        if self.fps is not None and not 0 < self.fps <= MAX_FPS:
            limits = f"above 0 and at most {MAX_FPS:g} a second"
            raise UsageError(f"a sampling rate must be {limits}, not {self.fps:g}")
        if self.size is not None and min(vars(self.size).values()) < 1:
            raise UsageError(f"a picture must have at least one pixel a side, not {self.size}")


def pixel_size(size: Size, display_width: int, display_height: int) -> tuple[int, int]:
    """Return (width, height) in pixels of the pictures of a video shown at a size."""
    if isinstance(size, Exact):
        return size.width, size.height
    if size is None:
        return display_width, display_height
    if isinstance(size, LongSide):
        scale = size.pixels / max(display_width, display_height)
        return max(1, round(scale * display_width)), max(1, round(scale * display_height))
    short, long = sorted((display_width, display_height))
    longer = max(1, size.pixels * long // short)
    return (size.pixels, longer) if display_width <= display_height else (longer, size.pixels)


def in_seconds(ticks: int, base: Fraction) -> float:
    """Return a time of a file in seconds, as a product of `Fraction` gives it in ten times the time."""
    return ticks * base.numerator / base.denominator


def samples_before(fps: float, time_s: float) -> int:
    """Return number of samples k = 0, 1, ... taken before a frame that goes on screen at `time_s`."""
    return max(0, math.ceil((time_s - TOLERANCE_S) * fps))


def n_samples(fps: float, duration_s: float) -> int:
    """Return number of samples k = 0, 1, ... with k / fps before the end; at least one."""
    return max(1, samples_before(fps, duration_s))


def sample_stream(
    decoded: Iterable[tuple[float, T]],
    samplings: Sequence[Sampling],
    info: VideoInfo,
    log: DecodeLog,
    to_picture: Callable[[PictureMaker, T], Picture],
) -> Iterator[tuple[int, Frame]]:
    """Yield (i, frame) for sampling i in time order: sample k shows the last frame not after k / fps.

    `decoded` is (time_s, frame) of every frame, times increasing; `log` is complete when it ends.
    `to_picture` is called for sampled frames only.
    """
    makers = [PictureMaker(*pixel_size(s.size, info.display_width, info.display_height)) for s in samplings]
    n_given = [0] * len(samplings)

    def picks(number: int, pts_s: float, frame: T, counts: list[int]) -> Iterator[tuple[int, Frame]]:
        """Yield the samples up to `counts` that show this frame, `given` being those before it."""
        due: list[tuple[float, int, int]] = []
        for i, (sampling, count) in enumerate(zip(samplings, counts, strict=True)):
            if sampling.fps is None:
                due.append((pts_s, i, number))
            else:
                due += [(index / sampling.fps, i, index) for index in range(n_given[i], count)]
                n_given[i] = max(n_given[i], count)
        pictures = {i: to_picture(makers[i], frame) for i in {i for _, i, _ in due}}
        for time_s, i, index in sorted(due):
            yield i, Frame(index, time_s, pts_s, pictures[i])

    held: tuple[int, float, T] | None = None
    for number, (time_s, frame) in enumerate(decoded):
        if held is not None:
            off_s = min(time_s, info.duration_s)
            yield from picks(*held, [samples_before(s.fps or 0, off_s) for s in samplings])
        held = number, time_s, frame
    if held is not None:
        end_s = pictures_end_s(info, log)
        yield from picks(*held, [n_samples(s.fps or 0, end_s) for s in samplings])


def check_plain(info: VideoInfo, jumps: Jumps, reader: str) -> None:
    """Raise CannotReadError for jumping time stamps, several video tracks, and names of picture series."""
    if jumps:
        raise CannotReadError(f"{reader} does not follow time stamps that jump")
    if info.video_track:
        raise CannotReadError(f"{reader} cannot choose among its video tracks")
    if "%" in Path(info.path).name:
        raise CannotReadError(f"{reader} reads a name with % as an image series")
