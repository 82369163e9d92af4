"""The clock of a file as players count it: from the start of the container, not from the first picture."""

import os
from functools import lru_cache
from pathlib import Path

import av

from vidsum.errors import InputError
from vidsum.types import VideoInfo
from vidsum.video.decode import first_pts_s
from vidsum.video.open import open_video, video_stream


def container_offset_s(container: av.container.InputContainer, start_s: float) -> float:
    """Return the seconds from the start of an open file to its first picture, of time stamp `start_s`."""
    begin_s = start_s if container.start_time is None else container.start_time / av.time_base
    return max(0.0, round(start_s - begin_s, 6))


def start_offset_s(video: VideoInfo | None, path: str | os.PathLike[str] | None = None) -> float:
    """Return seconds from times of a video to those of players; an older record's file is opened."""
    if video is None:
        return 0.0
    if video.start_offset_s is not None:
        return video.start_offset_s
    return file_offset_s(path or video.path, video.bytes)


def file_offset_s(path: str | os.PathLike[str], n_bytes: int) -> float:
    """Return `start_offset_s` of a file of this size, from its header alone; 0 where it is not there."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0.0
    if status.st_size != n_bytes:
        return 0.0
    return _cached_offset_s(os.fspath(path), status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _cached_offset_s(path: str, mtime_ns: int) -> float:
    try:
        with open_video(path) as container:
            return container_offset_s(container, first_pts_s(video_stream(container, path)))
    except InputError:
        return 0.0
