"""When each frame of the source is shown in a clip that joins segments of it."""

from fractions import Fraction

import av

from vidsum.types import Interval, VideoInfo
from vidsum.video.segments import SegmentFrame

_FINE_BASE = Fraction(1, 90_000)
_RATE_ERROR = 0.1
"""A declared frame rate may be this far from the average one, which a long last frame lowers."""


def clip_time_base(info: VideoInfo, stream: av.VideoStream, first: SegmentFrame) -> Fraction:
    """Seconds in a tick of the clip: one frame where the frame rate is constant, else the source's own tick.

    So a constant rate stays exactly that, even from a file that rounds its times to milliseconds, and frames
    of a variable rate keep their times. A declared rate counts only if the first frame stays that long.
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


class Timeline:
    """Joins segments without a gap, and leaves each frame on screen for as long as it was in the source."""

    def __init__(self, source_base: Fraction, clip_base: Fraction) -> None:
        self.source_base, self.clip_base = source_base, clip_base
        self.tick = -1
        """Clip tick at which the frame placed last goes on screen."""
        self.end_tick = 0
        """Clip tick at which it goes off screen."""
        self.segments: list[Interval] = []
        """[start_s, end_s) in the source of each segment, as far as it has been placed."""
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
        """Length of the clip so far, in seconds."""
        return self.end_tick * self.clip_base

    @property
    def segment_start_s(self) -> tuple[Fraction, Fraction]:
        """When the segment begins in the source and in the clip."""
        return self._source_start * self.source_base, self._clip_start * self.clip_base
