"""Arrays, intervals, and the facts about a video.

Time is in seconds, as float, counted from the first picture of the video. Intervals are half-open,
[start, end). Frame numbers appear only where a file format of the field asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
TimeArray = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]
"""One RGB picture, [H, W, 3]."""

Interval = tuple[float, float]
"""[start_s, end_s)"""

TrackChoice = int | str | None
"""A track by its number among those of its kind, from 1 on, or by its language; None: FFmpeg's choice."""

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
    """Codec of the audio track that is read; None without sound."""
    start_offset_s: float | None = None
    """From the file's start, which players count from, to the first picture; None: not known."""
    video_track: int | None = None
    """Number, from 1 on, of the video track that is read; None where the file has no other."""
    audio_track: int | None = None

    @property
    def has_audio(self) -> bool:
        """Whether the file has a sound stream."""
        return self.audio_codec is not None
