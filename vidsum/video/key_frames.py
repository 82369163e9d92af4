"""Whether the key frames of a video are close enough to be decoded alone (`--fast`)."""

import os
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import av

from vidsum.types import TrackChoice, VideoInfo
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import first_pts_s, read_packets
from vidsum.video.open import open_video, video_stream

_MAX_GAP_S = 4.1  # from a key frame to the next; encoders that place one every 4 s round
_MIN_KEY_FRAMES = 3
_SCAN_BYTES = 64 * 2**20  # of a file whose header does not list the frames


def describe_sparse(video: VideoInfo) -> str | None:
    """Return why key frames alone show too little of a video; None where they show enough."""
    status = Path(video.path).stat()
    track, state = video.video_track, (status.st_size, status.st_mtime_ns)
    count, gap_s = _key_frames(os.fspath(video.path), track, video.duration_s, state)
    if not count:
        return "does not say when its key frames are shown: all frames are decoded"
    if count < _MIN_KEY_FRAMES:
        frames = "key frame" if count == 1 else "key frames"
        return f"has {count} {frames}: all frames are decoded"
    if gap_s > _MAX_GAP_S:
        return f"has no key frame for {gap_s:.1f} s: all frames are decoded"
    return None


@lru_cache(maxsize=64)
def _key_frames(
    path: str, track: TrackChoice, duration_s: float, state: tuple[int, int]
) -> tuple[int, float]:
    """Return the number of key frames, and the most seconds from one to the next, or to the end."""
    with open_video(path) as container:
        stream = video_stream(container, path, track)
        times_s, is_whole = _read_times(container, stream)
    ends_s = [0.0, *times_s, *([duration_s] if is_whole else [])]
    return len(times_s), max((after - before for before, after in pairwise(sorted(ends_s))), default=0.0)


def _read_times(container: av.container.InputContainer, stream: av.VideoStream) -> tuple[list[float], bool]:
    """Return when the key frames are shown, from the first picture on, and whether these are all."""
    start_s, times_s = first_pts_s(stream), list[float]()
    index, base = stream.index_entries, float(stream.time_base or 1)
    if stream.frames and len(index) >= stream.frames:
        # it has the times of decoding, which begin before the first picture
        keys = [entry.timestamp for entry in index if entry.is_keyframe and not entry.is_discard]
        return [(key - keys[0]) * base for key in keys], True
    for packet in read_packets(container, [stream], DecodeLog()):
        if (packet.pos or 0) > _SCAN_BYTES:
            return times_s, False
        ticks = packet.pts if packet.pts is not None else packet.dts
        if packet.is_keyframe and ticks is not None and packet.size and not packet.is_discard:
            times_s.append(ticks * base - start_s)
    return times_s, True
