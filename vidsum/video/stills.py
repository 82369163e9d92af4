"""A few single frames of a video, for key frames and storyboards, without decoding it all."""

import math
import os
from collections.abc import Sequence

import av
import numpy as np

from vidsum.errors import InputError
from vidsum.types import VideoInfo
from vidsum.video.frames import TOLERANCE_S, Frame, Size, pixel_size
from vidsum.video.jumps import Jumps
from vidsum.video.picture import PictureMaker
from vidsum.video.probe import probe
from vidsum.video.pyav_reader import can_seek, decode_frames, open_source, video_stream
from vidsum.video.timing import jumps_of

_KEY_FRAME_GAP_S = 3.0
"""Assumed where the file has no index that tells it."""


def read_frames_at(
    path: str | os.PathLike[str],
    times_s: Sequence[float],
    size: Size = None,
    *,
    info: VideoInfo | None = None,
) -> list[Frame]:
    """The frame on screen at each of some times, always read with PyAV.

    Jumps to a time that lies further ahead than key frames are apart, and decodes on to a nearer one. A time
    before the start or after the end gives the first or last frame.

    Returns:
        One frame for each time, in their order; `index` counts them. Errors are those of `probe`.
    """
    info = info or probe(path)
    maker = PictureMaker(*pixel_size(size, info.display_width, info.display_height))
    jumps = jumps_of(info)
    with open_source(info) as container:
        stream = video_stream(container, path)
        key_gap_s = _key_frame_gap_s(container, stream, jumps)
        frames = decode_frames(container, stream, jumps=jumps)
        shown = upcoming = next(frames, None)
        stills: dict[int, Frame] = {}
        for index, time_s in sorted(enumerate(times_s), key=lambda item: item[1]):
            if shown is not None and time_s - shown.time_s > key_gap_s:
                frames = decode_frames(container, stream, start_s=min(time_s, info.duration_s))
                shown = upcoming = next(frames, None)
            while upcoming is not None and upcoming.time_s <= time_s + TOLERANCE_S:
                shown, upcoming = upcoming, next(frames, None)
            if shown is None:
                raise InputError(f"{path}: no frame can be decoded at {time_s:.2f} s")
            picture = maker.from_frame(shown.frame, shown.turn_deg)
            stills[index] = Frame(index, time_s, shown.time_s, picture)
    return [stills[index] for index in range(len(times_s))]


def _key_frame_gap_s(container: av.container.InputContainer, stream: av.VideoStream, jumps: Jumps) -> float:
    """Median time from one key frame to the next, from the file's index; without end where no seek helps."""
    if not can_seek(container, stream, jumps):
        return math.inf
    times = [entry.timestamp for entry in stream.index_entries if entry.is_keyframe]
    if len(times) < 2 or stream.time_base is None:
        return _KEY_FRAME_GAP_S
    return float(np.median(np.diff(times)) * stream.time_base)
