"""Copy segments of a video without encoding them again: quick and lossless, but cut at key frames.

A segment grows at its start to the key frame at or before it, as nothing later can be decoded by itself. At
its end it grows until no frame is left that is stored later but shown earlier: a few frames at most.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from vidsum.errors import InputError, UsageError
from vidsum.outputs import atomic_write
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.video.copied_tracks import ENCODE_INSTEAD, PictureCopy, SoundCopy
from vidsum.video.mp4 import WrittenVideo, checked_segments, describe_gaps, errors_of_ffmpeg, open_mp4
from vidsum.video.playlist import is_playlist
from vidsum.video.probe import probe
from vidsum.video.pyav_reader import first_pts_s, open_video, video_stream
from vidsum.video.segments import in_ticks
from vidsum.video.timing import jumps_of


def copy_segments(
    source: str | os.PathLike[str],
    segments: Sequence[Interval],
    target: str | os.PathLike[str],
    *,
    comment: str | None = None,
    progress: Progress | None = None,
    info: VideoInfo | None = None,
) -> WrittenVideo:
    """Copy segments of a video one after the other into an MP4, pictures and sound as they are stored.

    The clip plays wherever the source's codecs do. Sound is cut between its packets, some 20 ms long.

    Args:
        source, target, comment, info: see `vidsum.video.write.write_segments`.
        segments: [start_s, end_s) in seconds from the first picture; apart and in order. They grow to where
            the video can be cut, and those that then overlap become one: see the result's `segments`.
        progress: called with the seconds of the segments copied.

    Raises:
        UsageError: see `checked_segments`; an MP4 cannot hold a codec; time stamps are missing or jump; or
            the source is a playlist.
        InputError: the source cannot be read, has no key frame to begin at, or ends before the segments.
        OutputError: the target cannot be written.
    """
    source, info = Path(source), info or probe(source)
    if jumps_of(info):
        raise UsageError(f"{source}: has time stamps that jump, and cannot be copied", hint=ENCODE_INSTEAD)
    if is_playlist(info):
        raise UsageError(f"{source}: is a playlist, and cannot be copied", hint=ENCODE_INSTEAD)
    chosen = checked_segments(segments, info.duration_s)
    total_s, done_s = sum(end - start for start, end in chosen), 0.0
    with (
        errors_of_ffmpeg(f"{source}: has packets that an MP4 does not take", ENCODE_INSTEAD),
        open_video(source) as container,
        open_video(source) as beside,
        atomic_write(target) as part,
        open_mp4(part, comment) as output,
    ):
        stream = video_stream(container, source)
        pictures = PictureCopy(source, container, stream, info.rotation_deg, output)
        audio = next(iter(beside.streams.audio), None)
        sound = SoundCopy(source, beside, audio, first_pts_s(stream), output) if audio else None
        for start, end in in_ticks(chosen, pictures.time_base):
            pictures.copy(start, end, sound)
            done_s += float((end - start) * pictures.time_base)
            if progress is not None:
                progress("copying", min(done_s, total_s), total_s)
        if not pictures.n_frames:
            raise InputError(f"{source}: has no frame of the segments to copy")
    return WrittenVideo(
        path=Path(target),
        segments=pictures.segments,
        n_frames=pictures.n_frames,
        duration_s=float(pictures.clip_s),
        has_audio=sound is not None,
        warnings=describe_gaps(source, chosen, pictures.segments),
    )
