"""A film without its silence, and without hesitations where these were to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vidsum.results.result import (
    Result,
    common_fields,
    count_text,
    intervals_data,
    parse_intervals,
    video_prefix,
)
from vidsum.types import Interval

Reason = Literal["silence", "filler", "false start"]


@dataclass(frozen=True)
class Removal:
    """A part [start_s, end_s) of the video that is left out."""

    start_s: float
    end_s: float
    reason: Reason
    text: str = ""  # the words that are left out; none of silence


@dataclass(frozen=True, eq=False)
class Trim(Result):
    """The parts of a video to keep, and those that are left out."""

    kind: ClassVar = "trim"
    parts: ClassVar = "removed"

    segments: tuple[Interval, ...]  # the parts to keep, in time order
    removed: tuple[Removal, ...]  # the rest, in time order
    by: str  # how silence was told from sound: `loudness` or `voice`
    threshold_db: float | None
    """Level below which sound counts as silence, in dB of full scale; None if a voice detector decided."""
    video_duration_s: float

    @property
    def duration_s(self) -> float:
        """Length of what is kept."""
        return float(sum(end - start for start, end in self.segments))

    def __repr__(self) -> str:
        lengths = f"{self.duration_s:g} s of {self.video_duration_s:g} s"
        return f"Trim({video_prefix(self.video)}{lengths} in {count_text(len(self.segments), 'segment')})"

    def to_dict(self) -> dict[str, Any]:
        return self.document(
            duration_s=self.video_duration_s,
            kept_s=self.duration_s,
            by=self.by,
            threshold_db=self.threshold_db,
            segments=intervals_data(self.segments),
            removed=self.removed,
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Trim:
        return cls(
            segments=parse_intervals(document["segments"]),
            removed=tuple(Removal(**part) for part in document["removed"]),
            by=document["by"],
            threshold_db=document["threshold_db"],
            video_duration_s=document["duration_s"],
            **common_fields(document),
        )
