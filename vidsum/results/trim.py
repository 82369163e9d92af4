"""A film without its silence, and without hesitations where these were to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from vidsum.results.result import (
    Result,
    common_fields,
    count_text,
    interval_data,
    round_number,
    round_optional,
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
    text: str = ""
    """The words that are left out; none of silence."""


@dataclass(frozen=True, eq=False)
class Trim(Result):
    """The parts of a video to keep, and those that are left out."""

    kind: ClassVar = "trim"

    segments: tuple[Interval, ...]
    """The parts to keep, in time order."""
    removed: tuple[Removal, ...]
    """The rest, in time order."""
    by: str
    """How silence was told from sound: `loudness` or `voice`."""
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
        removed = [{**asdict(part), **interval_data((part.start_s, part.end_s))} for part in self.removed]
        return self.document(
            duration_s=round_number(self.video_duration_s),
            kept_s=round_number(self.duration_s),
            by=self.by,
            threshold_db=round_optional(self.threshold_db),
            segments=[interval_data(segment) for segment in self.segments],
            removed=removed,
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Trim:
        return cls(
            segments=tuple((segment["start_s"], segment["end_s"]) for segment in document["segments"]),
            removed=tuple(Removal(**part) for part in document["removed"]),
            by=document["by"],
            threshold_db=document["threshold_db"],
            video_duration_s=document["duration_s"],
            **common_fields(document),
        )

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(part) for part in self.removed]
