"""Shots and chapters: a video cut into parts that follow each other without a gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NotRequired, Self, TypedDict

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.results.result import Result, Span, count_text, intervals_data, video_prefix
from vidsum.types import Count, FilledText, FrameRate, Interval, Length, Seconds, TimeArray, rules


class NumberedShot(Span):
    """A shot [start_s, end_s), and its first and last frame, both inside it."""

    first_frame: Count
    last_frame: Count


class ShotFacts(TypedDict):
    """Shots of a video.

    Written by `vidsum shots`. Shots are half-open and follow each other; frame numbers are inclusive.
    """

    method: str
    video_fps: FrameRate
    shots: Annotated[Sequence[NumberedShot], rules(minItems=1)]


@dataclass(frozen=True, eq=False)
class Shots(Result):
    """A video cut into shots that follow each other without a gap."""

    kind: ClassVar = "shots"

    edges_s: TimeArray  # [S + 1] seconds; shot i is [edges_s[i], edges_s[i + 1]); from 0 to the video's end
    method: str
    video_fps: float = 30.0

    def __post_init__(self) -> None:
        if self.edges_s.ndim != 1 or len(self.edges_s) < 2 or (np.diff(self.edges_s) <= 0).any():
            raise UsageError("the edges of shots must be two or more increasing times")

    def __len__(self) -> int:
        return len(self.edges_s) - 1

    def __repr__(self) -> str:
        return f"Shots({video_prefix(self.video)}{len(self)} by {self.method}, {self.edges_s[-1]:g} s)"

    @property
    def intervals(self) -> list[Interval]:
        """Each shot's [start_s, end_s)."""
        return list(pairwise(self.edges_s.tolist()))

    def numbers_at(self, times_s: TimeArray) -> npt.NDArray[np.int64]:
        """Return [T] number of the shot that each of the times lies in."""
        return np.searchsorted(self.edges_s[1:-1], times_s, side="right").astype(np.int64)

    @property
    def change_points(self) -> npt.NDArray[np.int64]:
        """[S, 2] first and last frame number of each shot, both inside it, as in the field's h5 files."""
        edges = np.round(self.edges_s * self.video_fps).astype(np.int64)
        return np.stack([edges[:-1], np.maximum(edges[1:] - 1, edges[:-1])], axis=1)

    def to_dict(self) -> dict[str, Any]:
        frames = self.change_points.tolist()
        shots: list[NumberedShot] = [
            {**span, "first_frame": first, "last_frame": last}
            for span, (first, last) in zip(intervals_data(self.intervals), frames, strict=True)
        ]
        facts: ShotFacts = {"method": self.method, "video_fps": self.video_fps, "shots": shots}
        return self.document(facts)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        shots = document["shots"]
        edges = np.array([shots[0]["start_s"], *(shot["end_s"] for shot in shots)], np.float64)
        return super().from_dict({**document, "edges_s": edges})

    def rows(self) -> list[dict[str, Any]]:
        return [{"start_s": start, "end_s": end} for start, end in self.intervals]


MIN_CHAPTERS, MIN_CHAPTER_S = 3, 10.0  # YouTube shows chapters from 0:00, three at least, none shorter


@dataclass(frozen=True)
class Chapter:
    """A part [start_s, end_s) of a video."""

    start_s: Seconds
    end_s: Seconds
    title: FilledText


class ChapterFacts(TypedDict):
    """Chapters of a video.

    Written by `vidsum chapters`. Chapters follow each other from 0 to the end of the video; times in seconds
    from the first picture.
    """

    duration_s: Length
    evidence: Annotated[str, rules(enum=("speech", "picture"))]  # where boundaries and titles come from
    slides: NotRequired[Count]  # of a talk, whose titles may be read; 0 in other videos
    chapters: Annotated[Sequence[Chapter], rules(minItems=MIN_CHAPTERS)]


@dataclass(frozen=True, eq=False)
class Chapters(Result):
    """A video cut into chapters without a gap, from 0 to its end."""

    kind: ClassVar = "chapters"
    parts: ClassVar = "chapters"

    chapters: tuple[Chapter, ...]  # in time order; at least `MIN_CHAPTERS` of at least `MIN_CHAPTER_S`
    evidence: str  # where their boundaries and titles come from: `speech` or `picture`
    video_duration_s: float
    slides: int = 0  # of a talk, whose titles may be read; none in other videos

    def __repr__(self) -> str:
        number = count_text(len(self.chapters), "chapter")
        return f"Chapters({video_prefix(self.video)}{number} by {self.evidence}, {self.video_duration_s:g} s)"

    def to_dict(self) -> dict[str, Any]:
        facts: ChapterFacts = {
            "duration_s": self.video_duration_s,
            "evidence": self.evidence,
            "slides": self.slides,
            "chapters": self.chapters,
        }
        return self.document(facts)
