"""The frames of segments of a video, and when each is shown in a clip that joins the segments."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import av
import numpy as np

from vidsum.types import Interval, VideoInfo, join_near
from vidsum.video.changes import ChangeMeter, Changes
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import DecodedFrame, can_seek, decode_frames
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_video, video_stream
from vidsum.video.timing import read_frame_times, read_jumps

_SEEK_GAP_S = 3.0  # a shorter gap is decoded and dropped: a seek would gain little

STAYS_S = Fraction(1, 3)
"""A frame from before a segment that stays in it for less is left out."""
_EARLY_S = 5e-4  # a frame up to this long after an edge is at it: files round times to ms
_FINE_BASE = Fraction(1, 90_000)
_RATE_ERROR = 0.1  # between declared and average rate, which a long last frame lowers


@dataclass(frozen=True, eq=False)
class SegmentFrame:
    """A frame of segment number `segment`; ticks are of the stream's time base, from the first picture on."""

    segment: int
    tick: int  # when it goes on screen in the segment
    end_tick: int  # when it goes off screen: at the next frame, or where the segment ends
    decoded: DecodedFrame


def in_ticks(segments: Sequence[Interval], time_base: Fraction) -> list[tuple[int, int]]:
    """Return [first tick, end tick) of each segment, at least a tick long.

    A frame up to half a tick or half a millisecond ahead of an edge counts as after it: an edge made from a
    frame number stays before that frame though the file has rounded its time (Matroska: to 1 ms).
    """
    slack = min(Fraction(1, 2), Fraction(1, 2000) / time_base)
    rounded = [
        (math.ceil(start / time_base - slack), math.ceil(end / time_base - slack)) for start, end in segments
    ]
    return [(start, max(end, start + 1)) for start, end in rounded]


def segment_frames(
    container: av.container.InputContainer,
    stream: av.VideoStream,
    segments: Sequence[tuple[int, int]],
    jumps: Jumps,
    log: DecodeLog,
) -> Iterator[SegmentFrame]:
    """Yield every frame whose time lies in one of the segments (from `in_ticks`), once for each, in order.

    A segment may begin before the one ahead of it ends, in a file that `can_seek`. The frame on screen where
    a segment begins comes first if it stays for `STAYS_S` or for all of it.
    """
    time_base = stream.time_base or Fraction(1)
    frames = decode_frames(container, stream, jumps=jumps, log=log)
    ahead: list[DecodedFrame] = []
    on_screen: DecodedFrame | None = None
    reached = before = 0
    for number, (start, end) in enumerate(segments):
        is_far = start - reached > _SEEK_GAP_S / time_base and can_seek(container, stream, jumps)
        is_back, before = start < before, end
        if is_far or is_back:
            start_s = max(float(start * time_base), _EARLY_S)  # 0 would go on where the container is
            frames = decode_frames(container, stream, start_s=start_s, log=log)
            ahead, on_screen = [], None
        upcoming, ahead = chain(ahead, frames), []
        for decoded in upcoming:
            reached = round(decoded.time_s / time_base)
            if on_screen is not None:
                yield from _in_segment(number, on_screen, reached, (start, end), time_base)
            if reached >= end:
                ahead = [decoded]
                break
            on_screen = decoded
        if not ahead and on_screen is not None:  # the file ends here
            average_s = float(1 / stream.average_rate) if stream.average_rate else 0.0
            length_s = on_screen.end_s - on_screen.time_s or average_s
            own_end = reached + max(1, round(length_s / time_base))
            yield from _in_segment(number, on_screen, own_end, (start, end), time_base)


def _in_segment(
    number: int, decoded: DecodedFrame, off_tick: int, segment: tuple[int, int], time_base: Fraction
) -> Iterator[SegmentFrame]:
    """Yield the frame in a segment if it goes off screen at `off_tick`: once, or not at all."""
    start, end = segment
    tick, end_tick = round(decoded.time_s / time_base), min(off_tick, end)
    begins_within = start <= tick < end
    stays = end_tick == end or end_tick - start >= STAYS_S / time_base
    if begins_within or (tick < start < end_tick and stays):
        yield SegmentFrame(number, max(tick, start), end_tick, decoded)


def snap_to_frames(video: VideoInfo, segments: Sequence[Interval]) -> list[Interval]:
    """Return segments whose edges `segment_frames` keeps: longer, by less than a frame or `STAYS_S`.

    They begin with the frame on screen, or so early that it stays there long enough to be shown.
    """
    times, stays_s = read_frame_times(video), float(STAYS_S)
    snapped = list[Interval]()
    for start_s, end_s in segments:
        place = int(np.searchsorted(times, start_s + _EARLY_S, side="right"))
        on_screen_s = float(times[max(place - 1, 0)])
        next_s = float(times[place]) if place < len(times) else video.duration_s
        place = int(np.searchsorted(times, end_s - _EARLY_S))
        off_s = float(times[place]) if place < len(times) else video.duration_s
        last_s = off_s if off_s - end_s < stays_s else end_s
        snapped.append((max(on_screen_s, min(start_s, next_s - stays_s)), last_s))
    return snapped


def on_frames(video: VideoInfo, start_s: float, end_s: float) -> Interval:
    """Return a part of the same length, or up to the end, that begins with a frame."""
    times = read_frame_times(video)
    place = max(int(np.searchsorted(times, start_s + _EARLY_S, side="right")) - 1, 0)
    first_s = float(times[place])
    return first_s, min(first_s + end_s - start_s, video.duration_s)


def clip_time_base(info: VideoInfo, stream: av.VideoStream, first: SegmentFrame) -> Fraction:
    """Return seconds in a tick of the clip: one frame where the rate is constant, else the source's tick.

    A declared rate counts only if the first frame stays that long.
    """
    base = stream.time_base or _FINE_BASE
    if not info.is_vfr:
        for rate in (stream.base_rate, stream.guessed_rate, stream.average_rate):
            if (
                rate
                and abs(float(rate) / info.fps - 1) < _RATE_ERROR
                and abs(1 / (rate * base) - (first.end_tick - first.tick)) < 1
            ):
                return 1 / rate
    return base if base.numerator == 1 and 1_000 <= base.denominator <= 1_000_000 else _FINE_BASE


class ClipTimeline:
    """Timeline of consecutive segments, on which frames stay on screen as long as in the source."""

    def __init__(self, source_base: Fraction, clip_base: Fraction) -> None:
        self.source_base, self.clip_base = source_base, clip_base
        self.tick = -1  # clip tick at which the frame placed last goes on screen
        self.end_tick = 0  # clip tick at which it goes off screen
        self.segments: list[Interval] = []  # [start_s, end_s) in the source of each, as far as placed
        self._segment = -1
        self._source_start = self._clip_start = 0

    def place(self, frame: SegmentFrame) -> bool:
        """Put a frame at the end of the clip. True where it begins a new segment."""
        is_new = frame.segment != self._segment
        if is_new:
            self._segment, self._source_start, self._clip_start = frame.segment, frame.tick, self.end_tick
            self.segments.append((0.0, 0.0))
        self.tick = max(self._in_clip(frame.tick), self.tick + 1)
        self.end_tick = max(self._in_clip(frame.end_tick), self.tick + 1)
        source_s, clip_s = self.segment_start_s
        self.segments[-1] = (float(source_s), float(source_s + self.end_s - clip_s))
        return is_new

    def _in_clip(self, source_tick: int) -> int:
        seconds = (source_tick - self._source_start) * self.source_base
        return self._clip_start + round(seconds / self.clip_base)

    @property
    def end_s(self) -> Fraction:
        return self.end_tick * self.clip_base

    @property
    def segment_start_s(self) -> tuple[Fraction, Fraction]:
        """When the segment begins in the source and in the clip."""
        return self._source_start * self.source_base, self._clip_start * self.clip_base


def measure_changes(video: VideoInfo, segments: Sequence[Interval]) -> Changes:
    """Measure the changes of pictures in segments; the first of each has 0. Raises InputError."""
    meter, segment, last_s = ChangeMeter(), -1, float("-inf")
    with open_video(video.path) as container:
        stream = video_stream(container, video)
        ticks = in_ticks(join_near(sorted(segments)), stream.time_base or Fraction(1))
        for frame in segment_frames(container, stream, ticks, read_jumps(video), DecodeLog()):
            if frame.segment != segment:
                meter.reset()
                segment = frame.segment
            if frame.decoded.time_s > last_s:  # one picture may be on screen in several segments
                last_s = frame.decoded.time_s
                meter.add(last_s, frame.decoded.frame)
    return meter.result(video.path)
