"""Find out what a video file holds, from its header and, where that says too little, from its packets.

Only the first frame is decoded: it tells the size and rotation. An MP4 or AVI header lists every frame, so
nothing more is read. Other files (Matroska, WebM, MPEG-TS, fragmented MP4) are read packet by packet without
decoding, and of those above 512 MB only the first 64 MB and the last ten seconds.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from av.stream import Stream

from vidsum.errors import InputError
from vidsum.types import VideoInfo
from vidsum.video.losses import DecodeLog
from vidsum.video.pyav_reader import (
    DecodedFrame,
    decode_frames,
    first_pts_s,
    open_video,
    read_packets,
    video_stream,
)

_WHOLE_SCAN_BYTES = 512 * 2**20
_HEAD_SCAN_BYTES = 64 * 2**20
_TAIL_SCAN_S = 10.0
_REORDERED_FRAMES = 16
"""Where a scan breaks off, frames may be missing among these last ones: packets are not in order of time."""
_STEADY_S = 0.0025
"""Gaps between frames that differ by no more than this are one rate, rounded (Matroska: to milliseconds)."""
_STEADY_SHARE = 0.95
"""Share of steady gaps from which on long gaps count as holes, not as a varying rate."""
_HOLE_STEPS = 3.5
_CUT_SHORT_S = 1.0
"""A file is cut short where every stream ends this long before the end that the header declares."""
_DEFAULT_FPS = 25.0


@dataclass(frozen=True)
class _Timing:
    n_frames: int
    duration_s: float
    is_vfr: bool


def probe(path: str | os.PathLike[str]) -> VideoInfo:
    """What a video file holds.

    A still image is a video of one frame. The number of frames is exact where the header lists them or the
    file is at most 512 MB; else it is duration times rate.

    Raises:
        InputError: the file cannot be read, has no video, or none of its frames can be decoded.
    """
    with open_video(path) as container:
        stream = video_stream(container, path)
        first = next(decode_frames(container, stream), None)
        if first is None:
            raise InputError(f"{path}: none of its video can be decoded")
        timing = _timing_from_header(stream) or _timing_from_packets(path)
        audio = [_codec_name(sound) for sound in container.streams.audio]
        aspect = float(stream.sample_aspect_ratio or 1)
        display_width, display_height = _display_size(first, aspect)
        return VideoInfo(
            path=os.fspath(path),
            bytes=Path(path).stat().st_size,
            container=_container_name(container.format.name, Path(path)),
            codec=stream.codec_context.codec.canonical_name,
            duration_s=timing.duration_s,
            fps=_average_fps(timing, stream),
            is_vfr=timing.is_vfr,
            n_frames=timing.n_frames,
            width=first.frame.width,
            height=first.frame.height,
            display_width=display_width,
            display_height=display_height,
            rotation_deg=first.turn_deg,
            sample_aspect_ratio=aspect,
            start_s=first_pts_s(stream),
            audio_codec=audio[0] if audio else None,
        )


def _codec_name(sound: av.AudioStream) -> str:
    """`unknown` where this build of FFmpeg has no decoder for it, for which PyAV gives no context."""
    return sound.codec_context.codec.canonical_name if sound.codec_context is not None else "unknown"


def _display_size(first: DecodedFrame, aspect: float) -> tuple[int, int]:
    """(width, height) as shown: the height as stored, the width that makes pixels square, then turned."""
    width, height = max(1, round(first.frame.width * aspect)), first.frame.height
    return (height, width) if first.turn_deg % 180 else (width, height)


def _average_fps(timing: _Timing, stream: av.VideoStream) -> float:
    """Frames over duration; the rate that the header names where that is the same rate, but for rounding."""
    counted, named = timing.n_frames / timing.duration_s, float(stream.average_rate or 0)
    return named if not timing.is_vfr and abs(counted - named) < 0.01 * named else counted


def _container_name(demuxer: str, path: Path) -> str:
    """One name for a demuxer that has several (`mov,mp4,m4a` ...): the file's suffix where it is one."""
    names, suffix = demuxer.removesuffix("_pipe").split(","), path.suffix.lower().lstrip(".")
    return suffix if suffix in names else names[0]


def _timing_from_header(stream: av.VideoStream) -> _Timing | None:
    """Of a file whose header lists every frame; None for others."""
    index = stream.index_entries
    if not stream.frames or not stream.duration or len(index) != stream.frames or stream.time_base is None:
        return None
    tick_s = float(stream.time_base)
    times = np.array([entry.timestamp for entry in index if not entry.is_discard], dtype=np.float64) * tick_s
    gaps_s = np.diff(np.sort(times))
    is_vfr = len(gaps_s) > 0 and gaps_s.max() - gaps_s.min() > _STEADY_S
    return _Timing(len(times), stream.duration * tick_s, bool(is_vfr))


@dataclass(frozen=True)
class _Rhythm:
    step_s: float
    """Mean time from one frame to the next, holes left out."""
    is_vfr: bool
    n_missing: int
    """Frames that would fill the holes."""


def _rhythm(frames_s: npt.NDArray[np.float64], step_s: float) -> _Rhythm:
    """How frames follow each other, `step_s` apart if that cannot be seen.

    Long gaps in an otherwise steady row are holes that damage has left: demuxers drop what they cannot read
    without a word.
    """
    gaps_s = np.diff(frames_s)
    if not len(gaps_s):
        return _Rhythm(step_s, is_vfr=False, n_missing=0)
    median_s = float(np.median(gaps_s))
    is_steady = np.abs(gaps_s - median_s) <= _STEADY_S
    is_hole = gaps_s > _HOLE_STEPS * median_s
    if not (is_steady | is_hole).all() or is_steady.mean() < _STEADY_SHARE:
        return _Rhythm(float(gaps_s.mean()), is_vfr=True, n_missing=0)
    n_missing = int((np.round(gaps_s[is_hole] / median_s) - 1).sum())
    return _Rhythm(float(gaps_s[is_steady].mean()), is_vfr=False, n_missing=n_missing)


@dataclass(frozen=True)
class _Scan:
    """Time stamps that were met in a row of packets, in seconds as the file gives them."""

    frames_s: npt.NDArray[np.float64]
    """[N] of the video's frames, in order of time."""
    video_end_s: float
    end_s: float
    """End of the last packet, sound or video."""


def _timing_from_packets(path: str | os.PathLike[str]) -> _Timing:
    with open_video(path) as container:
        stream = video_stream(container, path)
        step_s = 1 / float(stream.average_rate or _DEFAULT_FPS)
        in_full = Path(path).stat().st_size <= _WHOLE_SCAN_BYTES or container.duration is None
        head = tail = _scan(_packets(container, stream, None if in_full else _HEAD_SCAN_BYTES), step_s)
        rhythm = _rhythm(head.frames_s if in_full else head.frames_s[:-_REORDERED_FRAMES], step_s)
        if not in_full:
            container.seek(round(_declared_end_s(container) * av.time_base - _TAIL_SCAN_S * av.time_base))
            tail = _scan(_packets(container, stream, None), rhythm.step_s)
        is_cut = tail.end_s < _declared_end_s(container) - _CUT_SHORT_S
        end_s = _declared_end_s(container) if is_cut else tail.video_end_s
        duration_s = max(end_s - first_pts_s(stream), rhythm.step_s)
        is_counted = in_full and not is_cut
        n_frames = len(head.frames_s) + rhythm.n_missing if is_counted else round(duration_s / rhythm.step_s)
        return _Timing(max(n_frames, 1), duration_s, rhythm.is_vfr)


def _declared_end_s(container: av.container.InputContainer) -> float:
    """What Matroska declares is the time stamp of the end; other demuxers give a length, which is no more."""
    return (container.duration or 0) / av.time_base


def _packets(
    container: av.container.InputContainer, stream: av.VideoStream, n_bytes: int | None
) -> Iterator["av.Packet[Stream]"]:
    """Packets of the video and its sound, up to the first one that lies beyond `n_bytes`."""
    for packet in read_packets(container, [stream, *container.streams.audio], DecodeLog()):
        if n_bytes is not None and (packet.pos or 0) > n_bytes:
            return
        yield packet


def _scan(packets: Iterator["av.Packet[Stream]"], step_s: float) -> _Scan:
    """Collect time stamps; a frame without any (raw H.264) comes `step_s` after the one before."""
    frames_s: list[float] = []
    video_end_s = end_s = 0.0
    for packet in packets:
        if not packet.size or packet.is_discard:
            continue
        ticks = packet.pts if packet.pts is not None else packet.dts
        is_frame = packet.stream.type == "video"
        if ticks is not None:
            time_s = float(ticks * packet.time_base)
        else:
            time_s = len(frames_s) * step_s if is_frame else 0.0
        length_s = float((packet.duration or 0) * packet.time_base)
        end_s = max(end_s, time_s + length_s)
        if is_frame:
            frames_s.append(time_s)
            video_end_s = max(video_end_s, time_s + (length_s or step_s))
    return _Scan(np.sort(np.array(frames_s)), video_end_s, end_s)
