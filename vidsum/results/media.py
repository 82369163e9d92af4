"""The video behind a timeline: its frame rate as editors know it, its time code, its sound."""

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vidsum.errors import InputError
from vidsum.text_files import named
from vidsum.types import VideoInfo
from vidsum.video.pyav_reader import open_source

NTSC_RATES = tuple(Fraction(rate * 1000, 1001) for rate in (24, 30, 60))
WHOLE_RATES = tuple(map(Fraction, (24, 25, 30, 50, 60)))

_SAME_RATE = 1e-4
"""Rates that differ by less are one, rounded: 23.976 is 24000/1001, but 24 is not."""
_EARLY_S = 0.0005
"""A frame up to this long ahead of an edge counts as after it, as where an MP4 is written."""
_PLAIN_PATHS = ("edl", "kdenlive", "mlt")
"""Formats whose files have the path of the video as it is; the others have a URL, which any name has."""
_TIME_CODE = re.compile(r"\d\d:\d\d:\d\d[:;.]\d\d")


@dataclass(frozen=True)
class Media:
    """A video as a timeline sees it."""

    path: Path
    rate: Fraction
    """Frames per second of the timeline."""
    is_conformed: bool
    """Whether the video itself has another rate, or a variable one."""
    fps: float
    """Frames per second by which the timeline counts the video's frames."""
    n_frames: int
    width: int
    height: int
    """As shown, with square pixels; even, as encoders want them and MLT's player takes them."""
    n_channels: int
    """Channels of sound; 0 without sound."""
    time_code: str | None
    """Of the first frame, such as `01:00:00;00`; None for a conformed video, where it does not fit."""

    @property
    def is_drop_frame(self) -> bool:
        """Whether time codes leave out numbers, to stay in step with the clock at 29.97 and 59.94 Hz.

        They do at these rates, unless the file's own time code does not.
        """
        counts_all = self.time_code is not None and ";" not in self.time_code
        return self.rate in NTSC_RATES[1:] and not counts_all

    def at(self, rate: Fraction) -> "Media":
        """The same video in a timeline of another rate, to which it is conformed."""
        fps = float(rate)
        n_frames = max(1, round(self.n_frames / self.fps * fps))
        return replace(self, rate=rate, is_conformed=True, fps=fps, n_frames=n_frames, time_code=None)

    def frames(self, start_s: float, end_s: float) -> tuple[int, int]:
        """[first, end) of a segment in frames, from the first picture: one frame at least, all in the video.

        At the video's own rate, these are the frames that the MP4 of the segment has. In a conformed video,
        the edges move to the nearest frames of the timeline.
        """
        if self.is_conformed:
            first, end = (math.floor(time * self.fps + 0.5) for time in (start_s, end_s))
        else:
            first, end = (math.ceil((time - _EARLY_S) * self.fps) for time in (start_s, end_s))
        first = min(max(first, 0), self.n_frames - 1)
        return first, min(max(end, first + 1), self.n_frames)


def media_of(video: VideoInfo) -> Media:
    """What a timeline needs to know of a video file. Raises InputError: the file cannot be read."""
    rate, is_own = timeline_rate(video.fps)
    is_conformed = video.is_vfr or not is_own
    fps = float(rate) if is_conformed else video.fps
    with open_source(video) as container:
        code = next(_time_codes(container), None)
        channels = container.streams.audio[0].channels if container.streams.audio else 0
    return Media(
        path=Path(video.path),
        rate=rate,
        is_conformed=is_conformed,
        fps=fps,
        n_frames=max(1, round(video.duration_s * fps)) if is_conformed else video.n_frames,
        width=video.display_width + video.display_width % 2,
        height=video.display_height + video.display_height % 2,
        n_channels=channels if video.has_audio else 0,
        time_code=None if is_conformed else code,
    )


def timeline_rate(fps: float) -> tuple[Fraction, bool]:
    """The frame rate of a timeline for a video's, and whether they are the same.

    Other rates than those of editors go to one of 24, 25, 30, 50 and 60 Hz: the lowest that is a whole
    multiple, then the highest that it is one of, else the nearest.
    """
    for rate in (*NTSC_RATES, *WHOLE_RATES):
        if abs(fps / rate - 1) < _SAME_RATE:
            return rate, True
    multiples = [rate for rate in WHOLE_RATES if _is_whole(float(rate) / fps)]
    parts = [rate for rate in WHOLE_RATES[::-1] if _is_whole(fps / float(rate))]
    return next(iter(multiples + parts), min(WHOLE_RATES, key=lambda rate: abs(float(rate) - fps))), False


def check_place(format: str, place: str) -> None:
    """See to it that files of a format can name a video by this path.

    Raises InputError: they cannot, as it is not text of one line.
    """
    if format in _PLAIN_PATHS and not place.isprintable():
        fault = f"{named(place)}: .{format} cannot name this file: its path is not text in UTF-8 on one line"
        raise InputError(fault, hint="rename the video, or export .otio, .fcpxml or .xml")


def url_of(path: str) -> str:
    """A path as a URL: `file:///...` for an absolute one."""
    prefix = "file://" if Path(path).is_absolute() else ""
    return prefix + quote(os.fsencode(Path(path).as_posix()))


def _is_whole(ratio: float) -> bool:
    return round(ratio) > 0 and abs(ratio / round(ratio) - 1) < _SAME_RATE


def _time_codes(container: Any) -> Iterator[str]:
    """The time codes in a file's metadata, those of the picture first."""
    video = container.streams.video
    for holder in (*video, container, *(stream for stream in container.streams if stream not in video)):
        tags = {name.lower(): value for name, value in holder.metadata.items()}
        if _TIME_CODE.fullmatch(tags.get("timecode", "")):
            yield tags["timecode"].replace(".", ";")
