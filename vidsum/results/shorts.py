"""Shorts: the passages of a video that can be posted by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypedDict

from vidsum.results.result import Result, count_text, video_prefix
from vidsum.types import FilledText, Interval, Length, Seconds, rules


@dataclass(frozen=True)
class Short:
    """A passage [start_s, end_s) of a video, with its title and what is said in it."""

    start_s: Seconds
    end_s: Seconds
    score: float  # what it adds to those before it; comparable among the shorts of one video only
    title: FilledText
    text: str  # what is said; empty for shorts by picture

    @property
    def interval(self) -> Interval:
        """Start and end in seconds."""
        return self.start_s, self.end_s


class ShortFacts(TypedDict):
    """Shorts of a video.

    Written by `vidsum shorts`. All times in seconds from the first picture; intervals are half-open.
    """

    duration_s: Length
    evidence: Annotated[str, rules(enum=("speech", "picture"))]  # what their edges come from
    note: str  # why there are fewer than were asked for; empty where there are as many
    shorts: Sequence[Short]  # best first; none overlaps another


@dataclass(frozen=True, eq=False)
class Shorts(Result):
    """The passages of a video that can be posted by themselves."""

    kind: ClassVar = "shorts"
    parts: ClassVar = "shorts"

    shorts: tuple[Short, ...]  # best first; none overlaps another
    evidence: str  # what their edges come from: `speech` or `picture`
    video_duration_s: float
    note: str = ""  # why there are fewer than were asked for; empty where there are as many

    def __repr__(self) -> str:
        number = count_text(len(self.shorts), "short")
        return f"Shorts({video_prefix(self.video)}{number} by {self.evidence}, {self.video_duration_s:g} s)"

    def to_dict(self) -> dict[str, Any]:
        facts: ShortFacts = {
            "duration_s": self.video_duration_s,
            "evidence": self.evidence,
            "note": self.note,
            "shorts": self.shorts,
        }
        return self.document(facts)
