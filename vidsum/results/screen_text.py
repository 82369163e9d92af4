"""Text on the screen of a video: lines with words, places and times; as SubRip, WebVTT or plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NotRequired, TypedDict

from vidsum.results.result import Result, count_text, video_prefix
from vidsum.results.transcript import TextFormat
from vidsum.times import format_short_time, to_srt, to_vtt
from vidsum.types import Count, FilledText, Fraction, Length, Seconds

_MAX_TIMES = 3  # that a sentence lists
_UNREAD_REASONS = "letters of a script that is not known, or faint, curved, mirrored or stacked"

Box = tuple[Fraction, Fraction, Fraction, Fraction]
"""Left, top, right, bottom, as fractions of the picture's sides."""


@dataclass(frozen=True)
class ScreenWord:
    """A word as it is written."""

    text: str
    confidence: Fraction  # how sure the recognizer is of it, in [0, 1]
    box: Box


@dataclass(frozen=True)
class ScreenLine:
    """A line of text that is on screen in [start_s, end_s)."""

    start_s: Seconds
    end_s: Seconds
    text: FilledText
    confidence: Fraction
    box: Box
    words: tuple[ScreenWord, ...] = ()  # single characters where words are not separated, as in Chinese


@dataclass(frozen=True)
class UnreadPlace:
    """A place with text in [start_s, end_s) that could be seen but not read."""

    start_s: Seconds
    end_s: Seconds
    box: Box


class ScreenTextFacts(TypedDict):
    """Text on the screen of a video.

    Written by `vidsum transcribe --on-screen-text`. All times in seconds from the first picture; intervals
    are half-open.
    """

    duration_s: Length
    n_frames_read: Count  # frames on which text was looked for
    lines: Sequence[ScreenLine]  # in order of time, then from top to bottom
    unread: NotRequired[Sequence[UnreadPlace]]
    """Places with text that could be seen but not read, in order of time."""


@dataclass(frozen=True)
class Screen:
    """The lines that are on screen together in [start_s, end_s), in reading order."""

    start_s: float
    end_s: float
    lines: tuple[ScreenLine, ...]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, eq=False)
class ScreenText(Result):
    """Text on the screen of a video, as lines with times."""

    kind: ClassVar = "screen_text"
    parts: ClassVar = "lines"

    lines: tuple[ScreenLine, ...]  # in order of time, then from top to bottom; none where nothing can be read
    duration_s: float
    n_frames_read: int  # frames on which text was looked for
    unread: tuple[UnreadPlace, ...] = ()  # in order of time

    def __repr__(self) -> str:
        return f"ScreenText({video_prefix(self.video)}{len(self.lines)} lines, {self.duration_s:g} s)"

    def screens(self) -> list[Screen]:
        """Return the spans in which the same lines are on screen, with these; none without lines."""
        edges_s = sorted({edge_s for line in self.lines for edge_s in (line.start_s, line.end_s)})
        starts = sorted(self.lines, key=lambda line: line.start_s)
        screens, on_screen, number = list[Screen](), list[ScreenLine](), 0
        for start_s, end_s in pairwise(edges_s):
            while number < len(starts) and starts[number].start_s <= start_s:
                on_screen.append(starts[number])
                number += 1
            on_screen = [line for line in on_screen if line.end_s > start_s]
            if on_screen:
                lines = sorted(on_screen, key=lambda line: (line.box[1], line.box[0]))
                screens.append(Screen(start_s, end_s, tuple(lines)))
        return screens

    def as_text(self, form: TextFormat) -> str:
        """Return a cue for each screen as SubRip or WebVTT; as plain text, each line once."""
        if form == "txt":
            return "".join(f"{line.text}\n" for line in self.lines)
        cues = ((screen.start_s, screen.end_s, screen.text) for screen in self.screens())
        return to_srt(cues) if form == "srt" else to_vtt(cues)

    def to_dict(self) -> dict[str, Any]:
        facts: ScreenTextFacts = {
            "duration_s": self.duration_s,
            "n_frames_read": self.n_frames_read,
            "lines": self.lines,
            "unread": self.unread,
        }
        return self.document(facts)


def describe_unread(text: ScreenText) -> tuple[str, ...]:
    """Return a sentence that says where text was seen but not read; none where there is none."""
    if not text.unread:
        return ()
    times = [format_short_time(place.start_s) for place in text.unread]
    first = ", ".join(list(dict.fromkeys(times))[:_MAX_TIMES])
    more = ", ..." if len(set(times)) > _MAX_TIMES else ""
    count = count_text(len(text.unread), "place")
    return (f"text in {count} was seen but not read ({first}{more}): {_UNREAD_REASONS}",)
