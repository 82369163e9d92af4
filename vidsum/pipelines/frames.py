"""Frames of a video as arrays, for a look at shots, segments and moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vidsum.errors import UsageError
from vidsum.pipelines.sources import Video, VideoPath, has_pictures, path_of, probe_video
from vidsum.settings import Extraction
from vidsum.types import Picture, TimeArray
from vidsum.video.frames import LongSide
from vidsum.video.stills import read_frames_at


def read_frames(
    source: VideoPath | Video,
    times_s: Sequence[float] | TimeArray,
    *,
    max_side: int | None = None,
    allow_playlists: bool = False,
) -> list[Picture]:
    """The frames of a video that are on screen at some times.

    Args:
        source: a video.
        times_s: seconds from the first picture, in any order. Before the start it is the first frame, after
            the end the last.
        max_side: maximum length of the longer side in pixels; the size that the video is shown at if not
            given.
        allow_playlists: read ffconcat lists and .m3u8 playlists of local files.

    Returns:
        One [H, W, 3] array of RGB for each time: upright, with square pixels.

    Raises:
        InputError: the video cannot be read.
        UsageError: the source is features, a time is not a finite number, or `max_side` is not positive.
    """
    if not has_pictures(source):
        raise UsageError(f"{path_of(source)}: features have no frames", hint="give the video")
    try:
        times = np.asarray(times_s, np.float64)
    except (TypeError, ValueError):
        times = np.array(np.nan)
    if times.ndim != 1 or not np.isfinite(times).all():
        raise UsageError(f"times_s must be a list of finite numbers, not {times_s!r}")
    if max_side is not None and max_side < 1:
        raise UsageError(f"max_side must be at least 1, not {max_side!r}")
    info = probe_video(path_of(source), Extraction(allow_playlists=allow_playlists))
    shown = max(info.display_width, info.display_height)
    size = None if max_side is None else LongSide(min(max_side, shown))
    frames = read_frames_at(info.path, times.tolist(), size, info=info)
    return [frame.image for frame in frames]
