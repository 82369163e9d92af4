"""Chapters: a video cut into titled parts that follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vidsum.results.result import Result, common_fields, count_text, video_prefix

MIN_CHAPTERS, MIN_CHAPTER_S = 3, 10.0
"""YouTube shows chapters from 0:00, three at least, none shorter than this."""


@dataclass(frozen=True)
class Chapter:
    """A part [start_s, end_s) of a video."""

    start_s: float
    end_s: float
    title: str


@dataclass(frozen=True, eq=False)
class Chapters(Result):
    """A video cut into chapters without a gap, from 0 to its end."""

    kind: ClassVar = "chapters"
    parts: ClassVar = "chapters"

    chapters: tuple[Chapter, ...]  # in time order; at least `MIN_CHAPTERS` of at least `MIN_CHAPTER_S`
    evidence: str  # where their boundaries and titles come from: `speech` or `picture`
    video_duration_s: float

    def __repr__(self) -> str:
        number = count_text(len(self.chapters), "chapter")
        return f"Chapters({video_prefix(self.video)}{number} by {self.evidence}, {self.video_duration_s:g} s)"

    def to_dict(self) -> dict[str, Any]:
        return self.document(duration_s=self.video_duration_s, evidence=self.evidence, chapters=self.chapters)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Chapters:
        return cls(
            chapters=tuple(Chapter(**chapter) for chapter in document["chapters"]),
            evidence=document["evidence"],
            video_duration_s=document["duration_s"],
            **common_fields(document),
        )
