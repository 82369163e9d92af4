"""A reel: one film out of clips and photographs, with where each segment comes from and why it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypedDict

from vidsum.results.result import Result, count_text, parse_fields
from vidsum.results.summary import Budget
from vidsum.types import Count, Interval, Length, Number, Seconds, Sha256, rules
from vidsum.video.recorded import in_order

LONGEST_PHOTOGRAPH_S: Final = 60.0  # on screen

SourceKind = Literal["video", "photograph"]
Why = Literal["importance", "picture", "time", "speech", "hand"]
"""The term of the objective by which a segment exceeds the mean of all segments most: it stands out, shows
what nothing else shows, is the only part of its clip or of its part of the day, or is speech. Or somebody
added it by hand."""


@dataclass(frozen=True)
class ReelSource:
    """A clip or photograph, in the order of the film; those without segments are listed, too."""

    path: str
    kind: SourceKind
    bytes: Count
    sha256: Sha256
    recorded: str | None  # ISO 8601, with the offset from UTC where it is known; null: the file has no time
    length_s: Annotated[float, rules(minimum=0)]  # 0 of a photograph
    best: Interval = (0.0, 3.0)  # its part that is worth most by itself; of a photograph as it is shown


@dataclass(frozen=True)
class ReelSegment:
    """A part [start_s, end_s) of a source, in times from its first picture; of a photograph from 0."""

    source: Count  # number in `sources`, from 0
    start_s: Seconds
    end_s: Seconds
    reason: Why
    score: float  # what the objective would lose without it, in seconds times deviations of people's scores
    title: Annotated[str, rules(maxLength=100)] = ""  # the day, on the first segment of each day
    speech: tuple[Interval, ...] = ()  # of the source, where music is lower
    note: str = ""  # the reason in words, as the segment was chosen; empty of what was added by hand

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


def title_days(segments: Sequence[ReelSegment], sources: Sequence[ReelSource]) -> tuple[ReelSegment, ...]:
    """Return segments whose title is the day, as the file says it, where another day begins.

    An earlier day at a later time is no other day: it is written in another time zone.
    """
    titled, day, time = list[ReelSegment](), "", datetime.min.replace(tzinfo=UTC)
    for segment in segments:
        title, text = "", sources[segment.source].recorded
        if text:
            before, time = time, in_order(datetime.fromisoformat(text))
            if text[:10] > day or (text[:10] < day and time < before):
                day = text[:10]
                title = day_in_words(day)
        titled.append(replace(segment, title=title))
    return tuple(titled)


def day_in_words(day: str) -> str:
    """Return a day in words, such as `14 July 2024`."""
    known = date.fromisoformat(day)
    return f"{known.day} {known:%B %Y}"


@dataclass(frozen=True)
class LeftOut:
    """An input that cannot be read or is a copy of another, and why it is left out."""

    path: str
    fault: str
    hint: str = ""  # what would help; empty where nothing is known
    is_copy: bool = False


@dataclass(frozen=True)
class Canvas:
    """Size and rate of the film."""

    width: Annotated[Number, rules(multipleOf=2, maximum=4096)]
    height: Annotated[Number, rules(multipleOf=2, maximum=4096)]
    fps: Annotated[float, rules(minimum=1, maximum=120)]

    @property
    def rate(self) -> Fraction:
        """Frames per second, exactly."""
        return Fraction(self.fps).limit_denominator(1001)


@dataclass(frozen=True)
class Music:
    """A file whose sound is under the film."""

    path: str
    bytes: Count
    sha256: Sha256


class ReelFacts(TypedDict):
    """One film out of many inputs.

    Written by `vidsum reel`. Times of segments are in seconds from the first picture of their source;
    intervals are half-open.
    """

    duration_s: Length  # of the film
    footage_s: Length  # of all inputs, photographs as long as they are shown
    budget: Budget
    canvas: Canvas
    fit: Literal["blur", "crop"]
    music: Music | None
    segments: Annotated[Sequence[ReelSegment], rules(minItems=1)]  # in the order of the film
    sources: Annotated[Sequence[ReelSource], rules(minItems=1)]
    left_out: Sequence[LeftOut]


@dataclass(frozen=True, eq=False)
class Reel(Result):
    """One film out of clips and photographs."""

    kind: ClassVar = "reel"
    parts: ClassVar = "segments"

    segments: tuple[ReelSegment, ...]  # in the order of the film
    sources: tuple[ReelSource, ...]
    canvas: Canvas
    budget_s: float  # maximum length
    footage_s: float  # length of all inputs
    fit: Literal["blur", "crop"] = "blur"  # how pictures of another shape fill the canvas
    music: Music | None = None
    left_out: tuple[LeftOut, ...] = ()
    budget_note: str = ""  # why less than nine tenths of the budget are used; empty where they are

    @property
    def duration_s(self) -> float:
        """Length of the film."""
        return float(sum(segment.length_s for segment in self.segments))

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that it was made from."""
        return (*(source.path for source in self.sources), *([self.music.path] if self.music else []))

    def __repr__(self) -> str:
        used = count_text(len({segment.source for segment in self.segments}), "input")
        count = count_text(len(self.segments), "segment")
        return f"Reel({count} of {used} out of {len(self.sources)}, {self.duration_s:g} s)"

    def to_dict(self) -> dict[str, Any]:
        facts: ReelFacts = {
            "duration_s": self.duration_s,
            "footage_s": self.footage_s,
            "budget": {
                "asked_s": self.budget_s,
                "used_s": self.duration_s,
                "used_share": min(self.duration_s / self.footage_s, 1.0),
                "note": self.budget_note,
            },
            "canvas": self.canvas,
            "fit": self.fit,
            "music": self.music,
            "segments": self.segments,
            "sources": self.sources,
            "left_out": self.left_out,
        }
        return self.document(facts)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        budget = document["budget"]
        facts = {"budget_s": budget["asked_s"], "budget_note": budget["note"]}
        return parse_fields(cls, {**document, **facts})

    def rows(self) -> list[dict[str, Any]]:
        """Return the segments as rows of a table, each with the file that it comes from."""
        return [
            {"file": Path(self.sources[segment.source].path).name, **vars(segment)}
            for segment in self.segments
        ]
