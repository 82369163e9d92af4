"""Decode frames and read packets with PyAV, damaged ones left out; times count from the first picture."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

import av
from av.stream import Stream

from vidsum.video.damage import DecodeLog
from vidsum.video.frames import TOLERANCE_S, in_seconds
from vidsum.video.jumps import Jumps, PacketShifter
from vidsum.video.skipping import FrameSkipper

_STEPS_BACK_S = (0.0, 1.0, 4.0, 16.0, 64.0)  # seconds earlier to seek, in turn, when a seek lands late
_MAX_FRAME_S = 24 * 3600.0  # a frame that claims to stay on screen for longer is damaged
_MIN_STEP_S = 0.001
_MAX_READ_ERRORS = 100  # failed reads in a row after which a file is given up


@dataclass(frozen=True, eq=False)
class DecodedFrame:
    """A decoded frame as stored: not turned upright, not resized, its pixels perhaps not square."""

    time_s: float  # when it goes on screen, counted from the first picture
    frame: av.VideoFrame
    is_next: bool = True  # False where pictures before it were not decoded (see `FrameSkipper`)

    @property
    def turn_deg(self) -> int:
        """Clockwise turn that shows the picture upright: 0, 90, 180 or 270."""
        return round(-self.frame.rotation / 90) % 4 * 90

    @property
    def end_s(self) -> float:
        """When it goes off screen, by its own duration; `time_s` where the file gives it none that can be."""
        length_s = in_seconds(self.frame.duration or 0, self.frame.time_base or Fraction(0))
        return self.time_s + (length_s if 0 < length_s <= _MAX_FRAME_S else 0.0)


def first_pts_s(stream: Stream) -> float:
    """Return the time stamp of the first picture or sound, in seconds, from which times count."""
    if stream.start_time is None or stream.time_base is None:
        return 0.0
    return float(stream.start_time * stream.time_base)


def can_seek(container: av.container.InputContainer, stream: Stream, jumps: Jumps) -> bool:
    """Return whether a seek lands right: not without time stamps (raw H.264) or where they jump.

    Nor in H.264 of 4:4:4, which FFmpeg decodes only after reading x264's build number at the file's start.
    """
    picture = stream.codec_context if isinstance(stream, av.VideoStream) else None
    is_444 = picture is not None and picture.name == "h264" and (picture.pix_fmt or "").startswith("yuv444")
    return stream.start_time is not None and not jumps and not is_444


def seek(container: av.container.InputContainer, stream: Stream, ticks: int) -> None:
    """Seek to a key frame, at or before a time stamp where the file allows it; formats may refuse."""
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

    A `start_s` above 0 seeks in a file that `can_seek`; else decoding goes on from where the container is.
    """
    log = log if log is not None else DecodeLog()
    if start_s <= 0:
        yield from decode_onward(container, stream, jumps or Jumps(), log)
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
    """Decode from a frame at or before `start_s`; where a seek lands late, seek earlier."""
    for back_s in (*(step for step in _STEPS_BACK_S if step < start_s), start_s + 10.0):
        ticks = round((first_pts_s(stream) + start_s - back_s) / (stream.time_base or 1))
        seek(container, stream, ticks)
        frames = decode_onward(container, stream, Jumps(), log)
        first = next(frames, None)
        if first is not None and first.time_s <= start_s + TOLERANCE_S:
            break
    if first is not None:
        yield from chain([first], frames)


def decode_onward(
    container: av.container.InputContainer,
    stream: av.VideoStream,
    jumps: Jumps,
    log: DecodeLog,
    skipper: FrameSkipper | None = None,
) -> Iterator[DecodedFrame]:
    """Decode from where the container stands, which is the file's start where time stamps jump."""
    shifter = PacketShifter(jumps.pictures)
    start_s, last_s, n_left_out = first_pts_s(stream) - jumps.lead_s, float("-inf"), 0
    step_s, is_guessed = jumps.step_s or usual_step_s(stream), False
    # AVI has no presentation times, and those that FFmpeg guesses for H.264 with B-frames run back and forth
    is_avi = container.format.name == "avi"
    packets = read_packets(container, [stream], log)
    for packet in skipper.mark(packets) if skipper else packets:
        log.packets += packet.size > 0 and not packet.is_discard
        shifter.shift(packet)
        for frame in decode_packet(packet, log):
            ticks = frame.dts if is_avi else frame.pts
            if ticks is None or frame.time_base is None:
                time_s, is_guessed = max(last_s + step_s, 0.0), True  # raw H.264 runs at its declared rate
            else:
                time_s = in_seconds(ticks, frame.time_base) - start_s
                is_guessed = is_guessed and time_s <= last_s
                if is_guessed:  # those without time stamps took more time than there was
                    time_s = last_s + _MIN_STEP_S
            n_left_out += skipper.count(time_s) if skipper else 0
            decoded = DecodedFrame(time_s, frame, is_next=n_left_out == 0)
            log.add_frame(time_s, decoded.end_s)
            log.damaged += frame.is_corrupt
            if time_s > last_s:  # a frame at the time of the one before is never seen
                last_s, n_left_out = time_s, 0
                yield decoded
    if skipper:
        skipper.count(math.inf)


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
    """Yield packets from the current position, an empty one for each stream last; read on after errors."""
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
