"""The frames of some stretches of a video, decoded without what lies between them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import av

from vidsum.types import Interval
from vidsum.video.losses import DecodeLog
from vidsum.video.pyav_reader import DecodedFrame, decode_frames, has_time_stamps

_SEEK_GAP_S = 3.0
"""A shorter gap is decoded and dropped: key frames lie seconds apart, so a seek would gain little."""


@dataclass(frozen=True, eq=False)
class StretchFrame:
    """A frame of stretch number `stretch`; ticks are of the stream's time base, from the first picture on."""

    stretch: int
    tick: int
    """When it goes on screen."""
    end_tick: int
    """When it goes off screen: at the next frame, or where the stretch ends."""
    decoded: DecodedFrame


def in_ticks(segments: Sequence[Interval], time_base: Fraction) -> list[tuple[int, int]]:
    """[first tick, end tick) of each segment.

    A frame up to half a tick or half a millisecond ahead of an edge counts as after it, so that an edge made
    from a frame number falls before that frame though the file has rounded its time (Matroska: to 1 ms).
    """
    slack = min(Fraction(1, 2), Fraction(1, 2000) / time_base)
    return [
        (math.ceil(start / time_base - slack), math.ceil(end / time_base - slack)) for start, end in segments
    ]


def stretch_frames(
    container: av.container.InputContainer,
    stream: av.VideoStream,
    stretches: Sequence[tuple[int, int]],
    log: DecodeLog,
) -> Iterator[StretchFrame]:
    """Every frame whose time lies in one of the stretches, once, in order.

    Args:
        container: from `open_video`.
        stream: its video stream.
        stretches: from `in_ticks`; apart, in order.
        log: counts what is met.
    """
    time_base = stream.time_base or Fraction(1)
    frames = decode_frames(container, stream, log=log)
    ahead: list[DecodedFrame] = []
    reached = 0
    for number, (start, end) in enumerate(stretches):
        if start - reached > _SEEK_GAP_S / time_base and has_time_stamps(stream):
            frames, ahead = decode_frames(container, stream, start_s=float(start * time_base), log=log), []
        upcoming, ahead = chain(ahead, frames), []
        held: tuple[int, DecodedFrame] | None = None
        for decoded in upcoming:
            reached = round(decoded.time_s / time_base)
            if held is not None:
                yield StretchFrame(number, held[0], min(reached, end), held[1])
            held = (reached, decoded) if start <= reached < end else None
            if reached >= end:
                ahead = [decoded]
                break
        if held is not None:  # the file ends here
            own_end = reached + round(_own_duration_s(held[1], stream) / time_base)
            yield StretchFrame(number, reached, max(reached + 1, min(own_end, end)), held[1])


def _own_duration_s(decoded: DecodedFrame, stream: av.VideoStream) -> float:
    """How long the last frame of a file stays: as it says itself, or as long as frames do on average."""
    average_s = float(1 / stream.average_rate) if stream.average_rate else 0.0
    return decoded.end_s - decoded.time_s or average_s
