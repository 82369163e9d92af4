"""Reading with PyAV, the default reader, and the low-level decoding that reader, probe and writer share.

Times are counted from the first picture, whatever time stamp the file gives it. A packet that does not decode
is counted and left out; the rest of the video is still read.
"""

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import av
from av.codec.hwaccel import HWAccel
from av.stream import Stream

from vidsum.errors import InputError
from vidsum.names import nearest
from vidsum.types import TrackChoice, VideoInfo
from vidsum.video.changes import ChangeMeter
from vidsum.video.damage import DecodeLog
from vidsum.video.frames import TOLERANCE_S, Frame, Sampling, sample_stream
from vidsum.video.jumps import Jumps, Mover
from vidsum.video.playlist import HINT, PLAYLISTS, is_playlist, is_text, looks_like_playlist, open_options
from vidsum.video.tracks import choose_track, tracks_of
from vidsum.video.unseen import Unseen

_STEPS_BACK_S = (0.0, 1.0, 4.0, 16.0, 64.0)
"""Seconds earlier to seek, in turn, when a seek lands after its target."""
_LONGEST_FRAME_S = 24 * 3600.0
"""A frame that claims to stay on screen for longer is damaged."""
_LEAST_STEP_S = 0.001
_MAX_READ_ERRORS = 100
"""Failed reads in a row after which a file is given up."""


@dataclass(frozen=True, eq=False)
class DecodedFrame:
    """A decoded frame as stored: not turned upright, not resized, its pixels perhaps not square."""

    time_s: float
    """When it goes on screen, counted from the first picture."""
    frame: av.VideoFrame
    is_next: bool = True
    """False where pictures between it and the frame before were not decoded (see `Unseen`)."""

    @property
    def turn_deg(self) -> int:
        """Clockwise turn that shows the picture upright: 0, 90, 180 or 270."""
        return round(-self.frame.rotation / 90) % 4 * 90

    @property
    def end_s(self) -> float:
        """When it goes off screen, by its own duration; `time_s` where the file gives it none that can be."""
        length_s = float((self.frame.duration or 0) * (self.frame.time_base or 0))
        return self.time_s + (length_s if 0 < length_s <= _LONGEST_FRAME_S else 0.0)


def read_samples(
    info: VideoInfo,
    samplings: Sequence[Sampling],
    jumps: Jumps,
    log: DecodeLog,
    *,
    hardware: str | None = None,
    strict: bool = False,
    fast: bool = False,
    meter: ChangeMeter | None = None,
) -> Iterator[tuple[int, Frame]]:
    """(i, frame) of each sampling i, in time order; decoded by `hardware`, if that is named.

    Frames that nobody sees are not decoded if FFmpeg can do without them, unless `strict`; for `fast` see
    `vidsum.video.unseen`. `meter` sees all frames that are decoded.
    """
    with open_source(info, hardware) as container:
        stream = video_stream(container, info)
        # AVI is read by its decoding times, which are another order
        is_whole = strict or hardware or jumps or container.format.name == "avi"
        unseen = None if is_whole else Unseen(stream, samplings, first_pts_s(stream), log, fast=fast)
        decoded = _decode_on(container, stream, jumps, log, unseen)
        timed = ((frame.time_s, frame) for frame in (decoded if meter is None else _metered(decoded, meter)))
        yield from sample_stream(
            timed, samplings, info, log, lambda maker, shown: maker.from_frame(shown.frame, shown.turn_deg)
        )


def _metered(decoded: Iterable[DecodedFrame], meter: ChangeMeter) -> Iterator[DecodedFrame]:
    for frame in decoded:
        meter.see(frame.time_s, frame.frame, is_next=frame.is_next)
        yield frame


def open_source(info: VideoInfo, hardware: str | None = None) -> av.container.InputContainer:
    """Open a video that has been probed, be it a playlist; see `open_video`."""
    return open_video(info.path, allow_playlists=is_playlist(info), hardware=hardware)


def open_video(
    path: str | os.PathLike[str], *, allow_playlists: bool = False, hardware: str | None = None
) -> av.container.InputContainer:
    """Open a video file; close it, or use it in a `with`.

    No other file is opened, unless `allow_playlists` takes a playlist of local files for a video. Raises
    InputError where it cannot be read, is not a video, or has no video stream.
    """
    container = open_media(path, allow_playlists=allow_playlists, hardware=hardware)
    try:
        video_stream(container, path)
    except InputError:
        container.close()
        raise
    for stream in container.streams.video:
        if stream.codec_context:
            stream.thread_type = "AUTO"  # too late once a packet has been decoded
    return container


def open_media(
    path: str | os.PathLike[str],
    what: str = "a video",
    *,
    allow_playlists: bool = False,
    hardware: str | None = None,
) -> av.container.InputContainer:
    """Return the same for any file that FFmpeg reads, whatever streams it has; messages call it `what`.

    `hardware` is a kind of FFmpeg's (`cuda`, `vaapi`); where it does not decode the file, PyAV raises errors
    of many kinds (see `vidsum.video.hardware`).
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", os.fspath(path)):
        hint = (
            "vidsum.download(url) makes a copy" if os.fspath(path).startswith("http") else "download it first"
        )
        raise InputError(f"{path}: is a URL, and only files can be read", hint=hint)
    path = Path(path)
    check_readable(path)
    options = {"pattern_type": "none", **open_options(path, allow_playlists=allow_playlists)}
    try:
        # "file:" keeps a colon in a name from naming a protocol, pattern_type a % from naming a series
        accelerated = HWAccel(hardware, allow_software_fallback=False) if hardware else None
        return av.open(f"file:{path}", options=options, metadata_errors="replace", hwaccel=accelerated)
    except (av.FFmpegError, ValueError) as error:
        # "invalid argument" is what FFmpeg says where it knows a format, but may not use it
        is_unused = isinstance(error, av.error.ArgumentError) and is_text(path)
        if not allow_playlists and (is_unused or looks_like_playlist(path)):
            raise InputError(f"{path}: is a playlist of other files, not a video", hint=HINT) from error
        with path.open("rb") as file:
            is_mp4 = file.read(12)[4:8] == b"ftyp"
        cut_short = "is cut short or damaged: the index that an MP4 file needs (moov) is missing"
        fault = cut_short if is_mp4 else f"is not {what}, or is damaged at its start"
        raise InputError(f"{path}: {fault}") from error


def check_readable(path: Path) -> None:
    """Raise InputError where there is no readable file with something in it."""
    try:
        is_there = path.exists()
        faults = {
            "no such file": not is_there,
            "is a folder, not a video": path.is_dir(),
            # a video is opened twice, and a pipe can be read only once
            "is a pipe or device; only files can be read": not path.is_file(),
            "permission denied": not os.access(path, os.R_OK),
            "is empty": is_there and path.stat().st_size == 0,
        }
    except (OSError, ValueError) as error:  # a name that is too long, or holds a NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"{path}: cannot be opened ({reason.lower()})") from error
    if fault := next((fault for fault, applies in faults.items() if applies), None):
        raise InputError(f"{path}: {fault}", hint=None if is_there else _near(path))


def _near(path: Path) -> str | None:
    """Return the file or folder of the nearest name beside one that is missing."""
    with suppress(OSError):
        for name in nearest(path.name, os.listdir(path.parent)):  # noqa: PTH208  # names alone
            return str(path.with_name(name))
    return None


def video_stream(
    container: av.container.InputContainer,
    source: VideoInfo | str | os.PathLike[str],
    choice: TrackChoice = None,
) -> av.VideoStream:
    """Return the video track that was read when a video was probed, or that `choose_track` chooses.

    Raises InputError where there is none, none such, or no decoder for it.
    """
    path, choice = (source.path, source.video_track) if isinstance(source, VideoInfo) else (source, choice)
    if container.format.name == "tty":  # FFmpeg would draw a text file as a video of its letters
        raise InputError(f"{path}: is text, not a video")
    if not tracks_of(container, "video"):
        raise InputError(f"{path}: has {'sound but ' if container.streams.audio else ''}no video")
    stream: av.VideoStream = choose_track(container, path, "video", choice)
    if not stream.codec_context:  # decoding it would crash
        raise InputError(f"{path}: FFmpeg has no decoder for its video")
    return stream


def first_pts_s(stream: Stream) -> float:
    """Time stamp of the first picture or sound, in seconds: `decode_frames` counts its times from it."""
    if stream.start_time is None or stream.time_base is None:
        return 0.0
    return float(stream.start_time * stream.time_base)


def can_seek(container: av.container.InputContainer, stream: Stream, jumps: Jumps) -> bool:
    """Return whether a seek lands right: not without time stamps (raw H.264), where they jump, or in a
    playlist.

    In H.264 of 4:4:4 neither: FFmpeg decodes what x264 wrote before build 151 only after it has read the
    build number, which stands at the very start of the file.
    """
    picture = stream.codec_context if isinstance(stream, av.VideoStream) else None
    is_444 = picture is not None and picture.name == "h264" and (picture.pix_fmt or "").startswith("yuv444")
    is_plain = container.format.name not in PLAYLISTS and not is_444
    return stream.start_time is not None and not jumps and is_plain


def seek(container: av.container.InputContainer, stream: Stream, ticks: int) -> None:
    """Go to a key frame, at or before a time stamp where the file allows it.

    AVI, FLV and GIF refuse times before their start: that goes to the start. A file in which no seek succeeds
    stays where it is.
    """
    for target in (ticks, stream.start_time or 0):
        with suppress(av.FFmpegError):
            container.seek(target, stream=stream)
            return


def decode_frames(
    container: av.container.InputContainer,
    stream: av.VideoStream,
    *,
    start_s: float = 0.0,
    jumps: Jumps | None = None,
    log: DecodeLog | None = None,
) -> Iterator[DecodedFrame]:
    """Decode from the frame on screen at `start_s` to the end of the file, in the order of presentation.

    With `start_s` (from the first picture) above 0 this seeks in a file that `can_seek`; else it decodes from
    where the container stands, which is the start of the file if it has just been opened. Frames that the
    decoder marks as damaged are given like any other, and counted in `log`.
    """
    log = log if log is not None else DecodeLog()
    if start_s <= 0:
        yield from _decode_on(container, stream, jumps or Jumps(), log)
        return
    before: DecodedFrame | None = None
    for decoded in _seek_and_decode(container, stream, start_s, log):
        if before is not None and decoded.time_s > start_s + TOLERANCE_S:
            yield before
        before = decoded
    if before is not None:
        yield before


def _seek_and_decode(
    container: av.container.InputContainer, stream: av.VideoStream, start_s: float, log: DecodeLog
) -> Iterator[DecodedFrame]:
    """Decode from a frame at or before `start_s` on.

    In MPEG-TS, and where a key frame is followed by frames shown before it, a seek lands too late: then seek
    earlier, at last to the very start.
    """
    for back_s in (*(step for step in _STEPS_BACK_S if step < start_s), start_s + 10.0):
        ticks = round((first_pts_s(stream) + start_s - back_s) / (stream.time_base or 1))
        seek(container, stream, ticks)
        frames = _decode_on(container, stream, Jumps(), log)
        first = next(frames, None)
        if first is not None and first.time_s <= start_s + TOLERANCE_S:
            break
    if first is not None:
        yield from chain([first], frames)


def _decode_on(
    container: av.container.InputContainer,
    stream: av.VideoStream,
    jumps: Jumps,
    log: DecodeLog,
    unseen: Unseen | None = None,
) -> Iterator[DecodedFrame]:
    """Decode from where the container stands, which is the file's start where time stamps jump."""
    mover = Mover(jumps.pictures)
    start_s, last_s, n_left_out = first_pts_s(stream) - jumps.lead_s, float("-inf"), 0
    step_s, is_guessed = jumps.step_s or usual_step_s(stream), False
    # AVI has no presentation times, and those that FFmpeg guesses for H.264 with B-frames run back and forth
    is_avi = container.format.name == "avi"
    packets = read_packets(container, [stream], log)
    for packet in unseen.mark(packets) if unseen else packets:
        log.packets += packet.size > 0 and not packet.is_discard
        mover.move(packet)
        for frame in decode_packet(packet, log):
            ticks = frame.dts if is_avi else frame.pts
            if ticks is None or frame.time_base is None:
                time_s, is_guessed = max(last_s + step_s, 0.0), True  # raw H.264 runs at its declared rate
            else:
                time_s = float(ticks * frame.time_base) - start_s
                is_guessed = is_guessed and time_s <= last_s
                if is_guessed:  # those without time stamps took more time than there was
                    time_s = last_s + _LEAST_STEP_S
            n_left_out += unseen.count(time_s) if unseen else 0
            decoded = DecodedFrame(time_s, frame, is_next=n_left_out == 0)
            log.saw(time_s, decoded.end_s)
            log.damaged += frame.is_corrupt
            if time_s > last_s:  # a frame at the time of the one before is never seen
                last_s, n_left_out = time_s, 0
                yield decoded
    if unseen:
        unseen.count(math.inf)


def usual_step_s(stream: av.VideoStream) -> float:
    """Return seconds from one frame to the next at the rate that the file declares, else at 25 a second."""
    return float(1 / stream.average_rate) if stream.average_rate else 0.04


def decode_packet(packet: "av.Packet[Stream]", log: DecodeLog) -> list[Any]:
    """Return its frames; of one that does not decode none, which `log` counts."""
    try:
        return list(packet.decode())
    except av.FFmpegError:
        log.errors += 1
        return []


def read_packets(
    container: av.container.InputContainer, streams: Sequence[Stream], log: DecodeLog
) -> Iterator["av.Packet[Stream]"]:
    """Packets from where the container stands, an empty one for each stream last; reads on after an error."""
    errors_in_a_row = 0
    while errors_in_a_row < _MAX_READ_ERRORS:
        try:
            for packet in container.demux(*streams):
                errors_in_a_row = 0
                yield packet
            return
        # a failed read ends the iterator: start another; PyAV does not know streams that turn up midway
        except (av.FFmpegError, IndexError):
            errors_in_a_row += 1
            log.errors += 1
