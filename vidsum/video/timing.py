"""Read the length of a video, number and rhythm of its frames, from its header or its packets.

An MP4 or AVI header lists every frame. Other files (Matroska, WebM, MPEG-TS, fragmented MP4) are read packet
by packet without decoding, and of those above 512 MB only the first 64 MB and the last ten seconds.
"""

import math
import os
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import av
import numpy as np
from av.stream import Stream

from vidsum.types import BoolArray, IntArray, TimeArray, TrackChoice, VideoInfo
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import first_pts_s, read_packets
from vidsum.video.jumps import (
    MAX_FRAME_S,
    MIN_CLOCK_GAP_S,
    MIN_GAP_S,
    Jumps,
    Stamps,
    find_jumps,
    renumber,
    shift_times,
)
from vidsum.video.open import check_readable, open_video, video_stream
from vidsum.video.tracks import choose_track, list_tracks

Tracks = tuple[TrackChoice, TrackChoice]  # the choices of a video and an audio track
_WHOLE_SCAN_BYTES = 512 * 2**20
_HEAD_SCAN_BYTES = 64 * 2**20
_TAIL_SCAN_S = 10.0
_REORDERED_FRAMES = 16  # at a scan's break, of which some may be missing
_STEADY_S = 0.0025  # gaps that differ by no more are one rate, rounded (Matroska)
_STEADY_FRACTION = 0.95  # of steady gaps, from which on long gaps count as holes
_HOLE_STEPS = 3.5
_CUT_SHORT_S = 1.0  # a file is cut where all streams end this long before the declared end
_DEFAULT_FPS = 25.0
_UNLIKELY_RATE = 2.0  # ratio of bytes a second, head to whole: time stamps jump


@dataclass(frozen=True)
class Timing:
    """The frames of a video on the steady time line that `jumps` makes."""

    n_frames: int
    duration_s: float
    is_vfr: bool
    jumps: Jumps = field(default_factory=Jumps)
    is_edited: bool = False  # whether an edit list leaves out pictures that others between need


def read_timing(path: str | os.PathLike[str], tracks: Tracks = (None, None)) -> Timing:
    """Return the timing of a video, by its header if that is enough; cached while the file stays as it is."""
    path = Path(path)
    check_readable(path)
    status = path.stat()
    return _scan_file(path.absolute(), tracks, status.st_size, status.st_mtime_ns)


def read_jumps(info: VideoInfo) -> Jumps:
    return read_timing_of(info).jumps


def read_timing_of(info: VideoInfo) -> Timing:
    return read_timing(info.path, (info.video_track, info.audio_track))


def read_frame_times(info: VideoInfo) -> TimeArray:
    """Return [N] seconds at which each frame of a video is shown. Errors as `open_video`."""
    with open_video(info.path) as container:
        stream = video_stream(container, info)
        scan = _scan(_packets(container, stream, None), stream, None, 1 / info.fps)
        return scan.frames_s - first_pts_s(stream) + scan.jumps.lead_s


@lru_cache(maxsize=64)
def _scan_file(path: Path, tracks: Tracks, size: int, mtime_ns: int) -> Timing:
    for scan_bytes in (_HEAD_SCAN_BYTES, None) if size > _WHOLE_SCAN_BYTES else (None,):
        with open_video(path) as container:
            n_bytes = scan_bytes if container.duration else None
            timing = _timing_from_header(container, video_stream(container, path, tracks[0]))
            timing = timing or _timing_from_packets(container, path, tracks, n_bytes)
        if timing is not None:
            return timing
    return Timing(1, 1 / _DEFAULT_FPS, is_vfr=False)


def _timing_from_header(container: av.container.InputContainer, stream: av.VideoStream) -> Timing | None:
    """Return the timing of a file whose header lists every frame, with no gap among them; None for others.

    The header has the times of decoding. If frames of a varying rate are reordered, these may end before the
    last frame is shown: its packet is read.
    """
    index = stream.index_entries
    if not stream.frames or not stream.duration or len(index) != stream.frames or stream.time_base is None:
        return None
    tick_s = float(stream.time_base)
    dts_s = np.array([entry.timestamp for entry in index], dtype=np.float64) * tick_s
    is_shown = np.array([not entry.is_discard for entry in index])
    times = dts_s[is_shown]
    gaps_s = np.diff(np.sort(times))
    if len(gaps_s) and gaps_s.max() > MAX_FRAME_S:
        return None
    is_vfr = len(gaps_s) > 0 and gaps_s.max() - gaps_s.min() > _STEADY_S
    duration_s = stream.duration * tick_s
    if is_vfr and stream.codec_context.has_b_frames:
        last_s = _last_shown_s(container, stream) - first_pts_s(stream)
        duration_s = duration_s if last_s < duration_s else last_s + float(np.median(gaps_s))
    return Timing(len(times), duration_s, bool(is_vfr), is_edited=_is_edited(dts_s, is_shown))


def _is_edited(dts_s: TimeArray, is_shown: BoolArray) -> bool:
    """Return whether packets between those that are shown are decoded once more, and not shown."""
    at = np.flatnonzero(is_shown)
    inner = slice(at[0], at[-1]) if len(at) else slice(0)
    return bool((~is_shown[inner][1:] & (np.diff(dts_s[inner]) <= 0)).any())


def _last_shown_s(container: av.container.InputContainer, stream: av.VideoStream) -> float:
    """Return the time stamp of the frame that is shown last, by the last packets; 0 without any."""
    index, last_s = stream.index_entries, 0.0
    with suppress(av.FFmpegError):
        container.seek(index[-min(len(index), _REORDERED_FRAMES)].timestamp, stream=stream, any_frame=True)
        for packet in read_packets(container, [stream], DecodeLog()):
            if packet.pts is not None and not packet.is_discard:
                last_s = max(last_s, float(packet.pts * packet.time_base))
            if packet.dts is not None and packet.dts >= index[-1].timestamp:
                break  # sound may go on for long
    return last_s


def _rhythm(frames_s: TimeArray, step_s: float) -> tuple[float, bool, int]:
    """Return mean time between frames without holes, whether it varies, and the frames missing in holes.

    Frames are `step_s` apart if that cannot be seen. Long gaps in a steady row are holes of damage. So are
    gaps of several frames next to them: frames at the ends of a hole are stored in another order.
    """
    gaps_s = np.diff(frames_s)
    if not len(gaps_s):
        return step_s, False, 0
    median_s = float(np.median(gaps_s))
    is_steady = np.abs(gaps_s - median_s) <= _STEADY_S
    is_hole = gaps_s > _HOLE_STEPS * median_s
    is_near = np.convolve(is_hole, np.ones(2 * _REORDERED_FRAMES + 1))[_REORDERED_FRAMES:][: len(gaps_s)] > 0
    is_whole = np.abs(gaps_s - np.round(gaps_s / median_s) * median_s) <= _STEADY_S
    is_hole |= is_near & is_whole & ~is_steady
    if not (is_steady | is_hole).all() or is_steady.mean() < _STEADY_FRACTION:
        return float(gaps_s.mean()), True, 0
    n_missing = int((np.round(gaps_s[is_hole] / median_s) - 1).sum())
    return float(gaps_s[is_steady].mean()), False, n_missing


@dataclass(frozen=True, eq=False)
class _Scan:
    """The time stamps of a row of packets, in seconds."""

    frames_s: TimeArray  # [N] of the video's frames, in order of time
    video_end_s: float
    end_s: float  # end of the last packet of any stream
    n_bytes: int  # where in the file the last packet lies
    n_packets: int  # of pictures, also those that are never shown
    jumps: Jumps
    is_edited: bool


def _timing_from_packets(
    container: av.container.InputContainer, path: Path, tracks: Tracks, n_bytes: int | None
) -> Timing | None:
    """Return the timing from all packets, or from the first `n_bytes` and the end; None where these jump."""
    stream = video_stream(container, path, tracks[0])
    sound = choose_track(container, path, "audio", tracks[1])
    step_s = 1 / float(stream.average_rate or _DEFAULT_FPS)
    declared_s, in_full = _declared_end_s(container), n_bytes is None
    n_listed = len(stream.index_entries) if stream.frames else 0
    head = tail = _scan(_packets(container, stream, n_bytes), stream, sound, step_s)
    if not in_full and (head.jumps or _is_rate_unlikely(head, container)):
        return None
    frames_s = head.frames_s if in_full else head.frames_s[:-_REORDERED_FRAMES]
    step_s, is_vfr, n_missing = _rhythm(frames_s, step_s)
    if not in_full:
        container.seek(round((declared_s - _TAIL_SCAN_S) * av.time_base))
        tail = _scan(_packets(container, stream, None), stream, sound, step_s)
    has_all_listed = 0 < n_listed <= head.n_packets  # an edit list may declare more than there is
    is_cut = not head.jumps and not has_all_listed and tail.end_s < declared_s - _CUT_SHORT_S
    end_s = declared_s if is_cut else tail.video_end_s
    duration_s = max(end_s - first_pts_s(stream) + head.jumps.lead_s, step_s)
    is_counted = in_full and not is_cut
    n_frames = len(head.frames_s) + n_missing if is_counted else round(duration_s / step_s)
    return Timing(max(n_frames, 1), duration_s, is_vfr, head.jumps, head.is_edited)


def _declared_end_s(container: av.container.InputContainer) -> float:
    """Return the declared time stamp of the end: Matroska has it, other demuxers give a length.

    A length is no more than the end, unless time stamps begin below 0, as they do ahead of a wrap.
    """
    start, length = container.start_time or 0, container.duration or 0
    return (length if container.format.name == "matroska,webm" else length + min(start, 0)) / av.time_base


def _is_rate_unlikely(head: _Scan, container: av.container.InputContainer) -> bool:
    """Return whether the head of MPEG-TS or PS has a byte rate far from the rate by its declared length."""
    length_s, head_s = (container.duration or 0) / av.time_base, head.end_s - (head.frames_s[:1].sum())
    if container.format.name not in ("mpegts", "mpeg") or min(length_s, head_s, head.n_bytes) <= 0:
        return False
    ratio = (head.n_bytes / head_s) / (container.size / length_s)
    return not 1 / _UNLIKELY_RATE < ratio < _UNLIKELY_RATE


def _packets(
    container: av.container.InputContainer, stream: av.VideoStream, n_bytes: int | None
) -> Iterator["av.Packet[Stream]"]:
    """Yield packets of all video, sound and subtitle tracks, up to the first beyond `n_bytes`."""
    streams = [*list_tracks(container, "video"), *container.streams.audio, *container.streams.subtitles]
    for packet in read_packets(container, streams, DecodeLog()):
        if n_bytes is not None and (packet.pos or 0) > n_bytes:
            return
        yield packet


def _append(rows: "array[float]", packet: "av.Packet[Stream]") -> None:
    """Add a packet: when it is decoded and shown, its length in seconds, and whether it is discarded."""
    ticks = (packet.dts, packet.pts, packet.duration or 0)
    rows.extend(math.nan if tick is None else float(tick * packet.time_base) for tick in ticks)
    rows.append(packet.is_discard)


def _stamps(rows: "array[float]") -> tuple[Stamps, BoolArray]:
    """Return the time stamps of the packets of `_append`, and [N] which are shown."""
    dts_s, pts_s, length_s, is_discard = np.array(rows).reshape(-1, 4).T
    return Stamps(dts_s, pts_s, length_s), is_discard == 0


def _scan(
    packets: Iterator["av.Packet[Stream]"], stream: av.VideoStream, sound_stream: Stream | None, step_s: float
) -> _Scan:
    """Collect time stamps; a frame without any (raw H.264) comes `step_s` after the one before."""
    pictures, sound, sound_at = array("d"), array("d"), array("q")
    others_end_s, n_bytes = 0.0, 0
    for packet in packets:
        if not packet.size:
            continue
        n_bytes = max(n_bytes, packet.pos or 0)
        if packet.stream.index == stream.index:
            _append(pictures, packet)
            continue
        if sound_stream is not None and packet.stream.index == sound_stream.index:
            _append(sound, packet)
            sound_at.append(len(pictures) // 4)
        if not packet.is_discard:
            ticks = packet.pts if packet.pts is not None else packet.dts
            end_ticks = (ticks or 0) + (packet.duration or 0)
            others_end_s = max(others_end_s, float(end_ticks * packet.time_base))
    (stamps, is_shown), (sound_stamps, is_heard) = _stamps(pictures), _stamps(sound)
    start_s = first_pts_s(stream)
    min_gap_s = MIN_CLOCK_GAP_S if stream.container.format.name in ("mpegts", "mpeg") else MIN_GAP_S
    jumps = find_shown_jumps(
        (stamps, is_shown), (sound_stamps, is_heard), np.array(sound_at, np.int64), start_s, step_s, min_gap_s
    )
    times_s = shift_times(stamps.times_s, jumps.pictures)
    unknown = np.isnan(stamps.pts_s) & np.isnan(stamps.dts_s)
    if 0 < np.count_nonzero(unknown) < len(unknown):
        jumps = _fill(times_s, *_find_untimed(stamps, unknown), jumps, start_s, step_s)
    else:
        times_s[unknown] = np.flatnonzero(unknown) * step_s
    frames_s, lengths_s = times_s[is_shown], stamps.length_s[is_shown]
    if jumps and len(frames_s) > 1:  # the average rate and, in MP4, some frame's length count the gaps
        step_s = float(np.median(np.diff(np.sort(frames_s))))
        lengths_s = np.where(lengths_s > MAX_FRAME_S, 0.0, lengths_s)
    video_end_s = float(np.max(frames_s + np.where(lengths_s > 0, lengths_s, step_s), initial=0.0))
    end_s = max(others_end_s, float(np.max(frames_s + lengths_s, initial=0.0)))
    is_edited = _is_edited(stamps.dts_s, is_shown)
    return _Scan(np.sort(frames_s), video_end_s, end_s, n_bytes, len(is_shown), jumps, is_edited)


def find_shown_jumps(
    pictures: tuple[Stamps, BoolArray],
    sound: tuple[Stamps, BoolArray],
    sound_at: IntArray,
    start_s: float,
    step_s: float,
    min_gap_s: float,
) -> Jumps:
    """Return `find_jumps` of the packets that are shown, by their numbers among all packets.

    An edit list of MP4 that begins inside a group of pictures makes FFmpeg read the group from its start,
    with time stamps that go back; these pictures are never shown.
    """
    (stamps, is_shown), (sound_stamps, is_heard) = pictures, sound
    picture_numbers, sound_numbers = np.flatnonzero(is_shown), np.flatnonzero(is_heard)
    heard_stamps = sound_stamps.take(sound_numbers)
    has_sound = len(sound_numbers) > 0 and not np.isnan(heard_stamps.times_s[0])
    jumps = find_jumps(
        stamps.take(picture_numbers),
        heard_stamps if has_sound else None,
        np.searchsorted(picture_numbers, sound_at[sound_numbers]),
        start_s,
        step_s,
        min_gap_s,
    )
    return replace(
        jumps, pictures=renumber(jumps.pictures, picture_numbers), sound=renumber(jumps.sound, sound_numbers)
    )


def _find_untimed(stamps: Stamps, unknown: BoolArray) -> tuple[BoolArray, int]:
    """Return [N] which packets get a time, and how many of them come before all others (Matroska)."""
    no_pts, n_known, end = np.isnan(stamps.pts_s), 0, 0
    for number, is_unknown in enumerate(no_pts):  # packets are not in order of time
        n_known, end = (0, number + 1) if is_unknown else (n_known + 1, end)
        if n_known == _REORDERED_FRAMES:
            break
    n_lead = int(np.count_nonzero(no_pts[:end]))
    return unknown | (no_pts & (np.arange(len(no_pts)) < end)), n_lead


def _fill(
    times_s: TimeArray, unknown: BoolArray, n_lead: int, jumps: Jumps, first_s: float, step_s: float
) -> Jumps:
    """Put times into [N] for packets without any, the first `n_lead` before the others; return the repair."""
    steps = np.diff(np.sort(times_s[~unknown]))
    steps = steps[steps > 0]
    step_s = float(np.median(steps)) if len(steps) else step_s
    positions = np.flatnonzero(unknown)
    begin_s = float(np.min(times_s[~unknown])) - n_lead * step_s
    times_s[positions[:n_lead]] = begin_s + step_s * np.arange(n_lead)
    for position in positions[n_lead:]:
        times_s[position] = times_s[position - 1] + step_s
    return replace(jumps, untimed=len(positions), lead_s=first_s - begin_s, step_s=step_s)
