"""The MP4 file that `write` and `copy` make: the segments it is made of, chapters, and facts about it."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av

from vidsum.errors import InputError, UsageError
from vidsum.times import format_time
from vidsum.types import Interval

_LEAST_GAP_S = 1.0
"""Less can be missing because a segment does not begin with a new frame."""


@dataclass(frozen=True)
class WrittenVideo:
    """A clip that was written."""

    path: Path
    segments: tuple[Interval, ...]
    """[start_s, end_s) in the source, of what the clip shows one after the other."""
    n_frames: int
    duration_s: float
    has_audio: bool
    warnings: tuple[str, ...] = ()


def checked_segments(segments: Sequence[Interval], duration_s: float) -> list[Interval]:
    """Segments clipped to the video; those that touch are joined, as there is nothing to cut between them.

    Raises UsageError where one is empty, begins before 0 or before the previous one ends, or none is in the
    video.
    """
    joined: list[Interval] = []
    previous_end = 0.0
    for start, end in segments:
        if not start < end:
            raise UsageError(f"the segment {start:g}-{end:g} s is empty")
        if start < previous_end:
            limit = f"the one ahead of it ends, at {previous_end:g} s" if previous_end else "0 s"
            raise UsageError(f"the segment {start:g}-{end:g} s begins before {limit}")
        if joined and start == previous_end:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        previous_end = end
    clipped = [(start, min(end, duration_s)) for start, end in joined if start < duration_s]
    if not clipped:
        raise UsageError(f"no segment lies within the {duration_s:g} s of the video")
    return clipped


def describe_gaps(source: Path, chosen: Sequence[Interval], written: Sequence[Interval]) -> tuple[str, ...]:
    """A warning where the file, being cut short, has no pictures for a part of the chosen segments."""
    written_s = sum(
        max(0.0, min(end, b) - max(start, a))
        for start, end in chosen
        for a, b in written
        if a < end and start < b
    )
    missing_s = sum(end - start for start, end in chosen) - written_s
    if missing_s < _LEAST_GAP_S:
        return ()
    return (f"{source}: has no pictures for {missing_s:.1f} s of the segments, which are left out",)


@contextmanager
def errors_of_ffmpeg(message: str, hint: str | None = None) -> Iterator[None]:
    """Turn FFmpeg's errors into an InputError with this message; errors of files pass through."""
    try:
        yield
    except av.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise InputError(message, hint) from error


def open_mp4(path: Path, comment: str | None) -> av.container.OutputContainer:
    """An MP4 that can play before all of it has arrived, and is the same bytes for the same packets."""
    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    container = av.open(f"file:{path}", "w", format="mp4", options=options)
    if comment is not None:
        container.metadata["comment"] = comment
    return container


def add_chapters(
    container: av.container.OutputContainer,
    segments: Sequence[Interval],
    starts_s: Sequence[float],
    end_s: float,
) -> None:
    """Give an MP4 a chapter for each segment, named by its time in the source: `0:16.00-0:21.00`.

    MP4 has chapters in whole milliseconds; rounded up, so that a player shows the segment's first picture.

    Args:
        container: with all packets written, not closed yet.
        segments: [start_s, end_s) in the source.
        starts_s: when each begins in the MP4.
        end_s: when the last one ends there.
    """
    edges_ms = [math.ceil(1000 * time_s - 1e-6) for time_s in (*starts_s, end_s)]
    container.set_chapters(
        [
            {
                "id": number,
                "start": start_ms,
                "end": end_ms,
                "time_base": Fraction(1, 1000),
                "metadata": {"title": "-".join(map(format_time, segment))},
            }
            for number, (segment, (start_ms, end_ms)) in enumerate(
                zip(segments, pairwise(edges_ms), strict=True)
            )
        ]
    )
