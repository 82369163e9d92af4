"""Which frames of a video to read: at what rate and size, and which one is on screen at a time."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.types import Picture

MAX_FPS = 1000.0
"""More samples a second than any video has frames would only repeat them."""
TOLERANCE_S = 0.0006
"""A frame counts as on screen this long before its time stamp: Matroska rounds to milliseconds."""


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a video, upright, with square pixels, at the chosen size."""

    index: int
    """Number of the sample, or of the frame where every frame is read; from 0."""
    time_s: float
    """The time it was sampled at: `index` / fps, or `pts_s` where every frame is read."""
    pts_s: float
    """When it went on screen, counted from the first picture."""
    image: Picture


@dataclass(frozen=True)
class ShortSide:
    """Shorter side in pixels; the longer one follows, rounded down as torchvision's Resize does."""

    pixels: int


@dataclass(frozen=True)
class Exact:
    """Width and height in pixels, whatever the video's shape."""

    width: int
    height: int


Size = ShortSide | Exact | None
"""Size of the pictures; None is the size that the video is shown at."""


@dataclass(frozen=True)
class Sampling:
    """`fps` pictures a second at one size; None takes every frame."""

    fps: float | None
    size: Size = None

    def __post_init__(self) -> None:
        if self.fps is not None and not 0 < self.fps <= MAX_FPS:
            raise UsageError(
                f"a sampling rate must be above 0 and at most {MAX_FPS:g} a second, not {self.fps:g}"
            )
        if self.size is not None and min(vars(self.size).values()) < 1:
            raise UsageError(f"a picture must have at least one pixel a side, not {self.size}")


def pixel_size(size: Size, display_width: int, display_height: int) -> tuple[int, int]:
    """(width, height) in pixels of the pictures of a video that is shown at the given size."""
    if isinstance(size, Exact):
        return size.width, size.height
    if size is None:
        return display_width, display_height
    short, long = sorted((display_width, display_height))
    longer = max(1, size.pixels * long // short)
    return (size.pixels, longer) if display_width <= display_height else (longer, size.pixels)


def samples_before(fps: float, time_s: float) -> int:
    """How many samples k = 0, 1, ... are taken before a frame that goes on screen at `time_s`."""
    return max(0, math.ceil((time_s - TOLERANCE_S) * fps))


def n_samples(fps: float, duration_s: float) -> int:
    """How many samples k = 0, 1, ... there are with k / fps before the end; at least one."""
    return max(1, samples_before(fps, duration_s))


def pick_frames(times_s: npt.ArrayLike, fps: float, duration_s: float) -> npt.NDArray[np.int64]:
    """The frame on screen at k / fps for each sample k: the last whose time is not after it, else the first.

    Args:
        times_s: [N] increasing times at which frames go on screen, N >= 1.
        fps: samples per second.
        duration_s: end of the video.

    Returns:
        [K] indices into `times_s`, K = n_samples(fps, duration_s).
    """
    counts = [samples_before(fps, time_s) for time_s in np.asarray(times_s, dtype=np.float64).tolist()]
    samples = np.arange(n_samples(fps, duration_s))
    return np.maximum(np.searchsorted(counts, samples, side="right") - 1, 0)
