"""A closer look at parts of a video: all of their pictures are decoded, and how much each changes."""

from collections.abc import Sequence
from fractions import Fraction

from vidsum.types import Features, Interval, VideoInfo
from vidsum.video.changes import ChangeMeter
from vidsum.video.damage import DecodeLog
from vidsum.video.pyav_reader import open_source, video_stream
from vidsum.video.segments import in_ticks, segment_frames
from vidsum.video.timing import jumps_of


def changes_within(video: VideoInfo, segments: Sequence[Interval]) -> Features:
    """The changes of the pictures on screen in segments of a video; see `ChangeMeter.measured`.

    `segments` are [start_s, end_s), in any order. The first picture of each has a change of 0. Raises
    InputError where none can be decoded.
    """
    meter, segment, last_s = ChangeMeter(), -1, float("-inf")
    with open_source(video) as container:
        stream = video_stream(container, video.path)
        ticks = in_ticks(_joined(segments), stream.time_base or Fraction(1))
        for shown in segment_frames(container, stream, ticks, jumps_of(video), DecodeLog()):
            if shown.segment != segment:
                meter.start_again()
                segment = shown.segment
            if shown.decoded.time_s > last_s:  # one picture may be on screen in several segments
                last_s = shown.decoded.time_s
                meter.see(last_s, shown.decoded.frame)
    return meter.measured(video)


def _joined(segments: Sequence[Interval]) -> list[Interval]:
    """The same in order, those that overlap or touch as one; none begins before 0."""
    joined: list[Interval] = []
    for start, end in sorted(segments):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((max(start, 0.0), end))
    return joined
