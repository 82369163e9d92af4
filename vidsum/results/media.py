"""The video behind a timeline: its frame rate as editors know it, its time code, its sound; cuts of it."""

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from vidsum.errors import InputError, is_one_line, safe_name
from vidsum.io.atomic import as_utf8
from vidsum.results.cut_list import Cut
from vidsum.types import TimeArray, VideoInfo
from vidsum.video.open import open_video
from vidsum.video.probe import start_offset_s
from vidsum.video.segments import STAYS_S
from vidsum.video.timing import read_frame_times
from vidsum.video.tracks import choose_track

NTSC_RATES = tuple(Fraction(rate * 1000, 1001) for rate in (24, 30, 60))
WHOLE_RATES = tuple(map(Fraction, (24, 25, 30, 50, 60)))

_SAME_RATE = 1e-4  # rates that differ by less are one, rounded: 23.976 is 24000/1001, but 24 is not
_EARLY_S = 0.0005  # a frame up to this long ahead of an edge counts as after it, as where an MP4 is written
_TIME_CODE = re.compile(r"(\d\d):(\d\d):(\d\d)[:;.](\d\d)")


@dataclass(frozen=True)
class Media:
    """A video as a timeline sees it."""

    path: Path
    rate: Fraction  # frames per second of the timeline
    is_conformed: bool  # whether the video itself has another rate, or a variable one
    fps: float  # frames per second by which the timeline counts the video's frames
    n_frames: int
    width: int
    height: int  # as shown, with square pixels; even, as encoders want them and MLT's player takes them
    n_channels: int  # channels of sound; 0 without sound
    sample_rate: int  # samples of the sound per second
    time_code: str | None  # time code of the first frame, such as `01:00:00;00`; None for a conformed video
    source_fps: float = 0.0  # frames per second of a conformed video itself, on average
    shown_s: TimeArray | None = None  # [N] when each frame of a conformed video is shown
    begins_s: TimeArray | None = None  # [N] from when on an editor shows each of them, if not from then on
    offset_s: float = 0.0  # of the first picture in players' time, by which cuts are given
    lead: int = 0  # whole frames ahead of the first picture, which editors count, too

    @property
    def is_drop_frame(self) -> bool:
        """Whether time codes leave out numbers: at 29.97 and 59.94 Hz, unless the file's own does not."""
        counts_all = self.time_code is not None and ";" not in self.time_code
        return self.rate in NTSC_RATES[1:] and not counts_all

    def at(self, rate: Fraction) -> "Media":
        """Return the same video in a timeline of another rate, to which it is conformed."""
        fps = float(rate)
        n_frames = max(1, round(self.n_frames / self.fps * fps))
        facts: dict[str, Any] = {"rate": rate, "fps": fps, "n_frames": n_frames, "time_code": None}
        facts["lead"] = int(self.lead / self.fps * fps + _SAME_RATE)
        if self.shown_s is None:
            facts |= {"shown_s": np.arange(self.n_frames - self.lead) / self.fps, "source_fps": self.fps}
        return replace(self, is_conformed=True, **facts)

    def by_mlt(self) -> "Media":
        """Return the same video as MLT shows it in a timeline, perhaps of another rate.

        MLT begins with the first picture, numbers frames by the average rate, rounded, and shows the first
        that has the number of a time or a higher one (by experiment with 7.12).
        """
        if self.lead:
            return replace(self, lead=0, n_frames=self.n_frames - self.lead).by_mlt()
        if self.shown_s is None:
            return self
        last_s = (np.floor(self.shown_s[:-1] * self.source_fps + 0.5) + 0.5) / self.source_fps
        return replace(self, begins_s=np.concatenate([[0.0], last_s]))

    def frames(self, start_s: float, end_s: float) -> tuple[int, int]:
        """Return [first, end) of a segment in frames of the file: one frame at least, all in the video.

        They are the frames of the segment's MP4: in a conformed video, an edge is the first frame of the
        timeline that shows the first picture at or after it; where the picture on screen stays, it is the
        edge itself.
        """
        first, end = (self._first_at(time_s - self.offset_s) for time_s in (start_s, end_s))
        if end <= first and self.shown_s is not None and self.begins_s is None:  # within one picture
            first = self._at_or_after(start_s - self.offset_s)
        first = min(max(first, 0), self.n_frames - 1)
        return first, min(max(end, first + 1), self.n_frames)

    def _first_at(self, time_s: float) -> int:
        """Return the first frame that shows the first picture at or after a time from the first of all."""
        if self.shown_s is None:
            return self.lead + math.ceil((time_s - _EARLY_S) * self.fps)
        shown_s = self._next_shown_s(time_s)
        stays = self.begins_s is None and time_s > 0 and shown_s - time_s >= STAYS_S
        return self._at_or_after(time_s if stays else shown_s)

    def _at_or_after(self, time_s: float) -> int:
        return self.lead + math.ceil(time_s * self.fps - _SAME_RATE)

    def _next_shown_s(self, time_s: float) -> float:
        """Return when the first picture at or after a time is shown; the video's end without one."""
        assert self.shown_s is not None
        place = np.searchsorted(self.shown_s, time_s - _EARLY_S)
        begins_s = self.shown_s if self.begins_s is None else self.begins_s
        return float(begins_s[place]) if place < len(begins_s) else (self.n_frames - self.lead) / self.fps

    def number_of(self, time_code: str) -> int:
        """Return the number of a time code's frame, 0 of 00:00:00:00. Raises ValueError: it is none."""
        match = _TIME_CODE.fullmatch(time_code)
        hours, minutes, seconds, frames = map(int, match.groups()) if match else (0, 60, 0, 0)
        minutes, nominal = minutes + 60 * hours, round(self.rate)
        dropped = nominal // 15 if self.is_drop_frame else 0
        is_dropped = frames < dropped and not seconds and minutes % 10
        if minutes - 60 * hours > 59 or seconds > 59 or frames >= nominal or is_dropped:
            raise ValueError(f"{time_code}: not a time code at {float(self.rate):g} frames per second")
        return (minutes * 60 + seconds) * nominal + frames - dropped * (minutes - minutes // 10)

    def time_code_of(self, number: int) -> str:
        """Return the time code of a frame by its number, on a clock of 24 hours."""
        nominal = round(self.rate)
        if self.is_drop_frame:
            dropped = nominal // 15
            tens, rest = divmod(number, nominal * 600 - 9 * dropped)
            minutes = max(0, rest - dropped) // (nominal * 60 - dropped)
            number += dropped * (9 * tens + minutes)
        seconds, frames = divmod(number, nominal)
        point = ";" if self.is_drop_frame else ":"
        return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{point}{frames:02}"

    @property
    def first_number(self) -> int:
        """The number of the first frame, by the file's time code. Raises ValueError: see `number_of`."""
        return 0 if self.time_code is None else self.number_of(self.time_code)


@dataclass(frozen=True)
class Clip:
    """A cut of a video in a timeline."""

    cut: Cut
    media: Media  # all media of a timeline share a rate and a way of counting time codes
    place: str  # path of the video as the file is to say it, absolute or relative to the file

    @cached_property
    def span(self) -> tuple[int, int]:
        return self.media.frames(self.cut.start_s, self.cut.end_s)

    @property
    def n_frames(self) -> int:
        return self.span[1] - self.span[0]

    @property
    def name(self) -> str:
        return one_line(self.media.path.name)

    @property
    def marker(self) -> str:
        """Text of its marker: label, score and evidence."""
        score = "" if self.cut.score is None else f" {self.cut.score:.3f} {self.cut.evidence}".rstrip()
        return f"{one_line(self.cut.label)}{score}"


def one_line(text: str) -> str:
    """Return a text without what ends a line or cannot stand in XML."""
    return "".join(letter if is_one_line(letter) else "_" for letter in as_utf8(text))


def read_media(video: VideoInfo) -> Media:
    """Return the facts about a video file that timelines need. Raises InputError: the file cannot be read."""
    rate, is_own = timeline_rate(video.fps)
    is_conformed = video.is_vfr or not is_own
    fps = float(rate) if is_conformed else video.fps
    with open_video(video.path) as container:
        code = next(_time_codes(container), None)
        sound = choose_track(container, video.path, "audio", video.audio_track)
    offset_s = start_offset_s(video)
    lead = int((offset_s + _EARLY_S) * fps)
    n_frames = max(1, round(video.duration_s * fps)) if is_conformed else video.n_frames
    return Media(
        path=Path(video.path),
        rate=rate,
        is_conformed=is_conformed,
        fps=fps,
        n_frames=lead + n_frames,
        width=video.display_width + video.display_width % 2,
        height=video.display_height + video.display_height % 2,
        n_channels=sound.channels if sound else 0,
        sample_rate=sound.sample_rate if sound else 0,
        time_code=None if is_conformed else code,
        source_fps=video.fps if is_conformed else 0.0,
        shown_s=read_frame_times(video) if is_conformed else None,
        offset_s=offset_s,
        lead=lead,
    )


def timeline_rate(fps: float) -> tuple[Fraction, bool]:
    """Return the frame rate of a timeline for a video's, and whether they are the same.

    A rate that editors do not have goes to one of 24, 25, 30, 50 and 60 Hz: to the lowest that is a whole
    multiple of it, else to the highest of which it is a whole multiple, else to the nearest.
    """
    for rate in (*NTSC_RATES, *WHOLE_RATES):
        if abs(fps / rate - 1) < _SAME_RATE:
            return rate, True
    multiples = [rate for rate in WHOLE_RATES if _is_whole(float(rate) / fps)]
    parts = [rate for rate in WHOLE_RATES[::-1] if _is_whole(fps / float(rate))]
    return next(iter(multiples + parts), min(WHOLE_RATES, key=lambda rate: abs(float(rate) - fps))), False


def check_path(format: str, place: str) -> None:
    """Raise InputError where a format that holds plain paths cannot name this one; see `is_one_line`."""
    if not is_one_line(place):
        fault = "its path has a control character, a line break or a byte that is not UTF-8"
        message = f".{format} cannot name this file: {fault}"
        raise InputError(
            message, hint="rename the video, or export .otio, .fcpxml or .xml", subject=safe_name(place)
        )


def url_of(path: str) -> str:
    """Return a path as a URL: `file:///...` for an absolute one."""
    prefix = "file://" if Path(path).is_absolute() else ""
    return prefix + quote(os.fsencode(Path(path).as_posix()))


def _is_whole(ratio: float) -> bool:
    return round(ratio) > 0 and abs(ratio / round(ratio) - 1) < _SAME_RATE


def _time_codes(container: Any) -> Iterator[str]:
    video = container.streams.video
    for holder in (*video, container, *(stream for stream in container.streams if stream not in video)):
        tags = {name.lower(): value for name, value in holder.metadata.items()}
        if _TIME_CODE.fullmatch(tags.get("timecode", "")):
            yield tags["timecode"].replace(".", ";")
