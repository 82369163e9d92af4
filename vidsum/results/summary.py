"""The parts of a video that are worth keeping: a summary, or a film without its silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypedDict

from vidsum.results.result import Result, Span, count_text, intervals_data, video_prefix
from vidsum.types import FloatArray, Fraction, Interval, Length, Seconds, TimeArray, rules


@dataclass(frozen=True)
class ScoredShot:
    """A shot [start_s, end_s) with the mean importance of its best piece, and whether the summary has one."""

    start_s: Seconds
    end_s: Seconds
    score: float
    selected: bool


class Budget(TypedDict):
    """The length that was allowed, and the length that is used."""

    asked_s: Annotated[float, rules(minimum=0)]
    used_s: Seconds
    used_share: Fraction
    note: str


class Importance(TypedDict):
    """The importance score of each feature."""

    timestamps_s: Sequence[Seconds]
    scores: Sequence[float]


class SummaryFacts(TypedDict):
    """A video summary.

    Written by `vidsum summarize`. All times in seconds from the first picture; intervals are half-open.
    """

    duration_s: Length
    budget: Budget
    model: str
    model_reason: str  # reason for the model: it was requested, or chosen by auto
    shot_method: str
    segments: Annotated[Sequence[Span], rules(minItems=1)]  # to keep, half-open, in time order
    shots: Annotated[Sequence[ScoredShot], rules(minItems=1)]
    importance: Importance


@dataclass(frozen=True, eq=False)
class Summary(Result):
    """A summary: which segments of a video to keep, and why."""

    kind: ClassVar = "summary"
    parts: ClassVar = "shots"

    segments: tuple[Interval, ...]  # in time order; pieces of two shots may touch
    shots: tuple[ScoredShot, ...]
    importance: FloatArray  # [T] importance score of each feature
    timestamps: TimeArray  # [T] seconds, of the features
    budget_s: float  # maximum length of the summary
    video_duration_s: float
    video_fps: float
    model: str  # the model of the importance scores
    shot_method: str
    model_reason: str = ""  # why that model: one line
    budget_note: str = ""  # why less than nine tenths of the budget are used; empty where they are

    @property
    def duration_s(self) -> float:
        """Length of the summary."""
        return float(sum(end - start for start, end in self.segments))

    def __repr__(self) -> str:
        lengths = f"{self.duration_s:g} s of {self.video_duration_s:g} s"
        count = count_text(len(self.segments), "segment")
        return f"Summary({video_prefix(self.video)}{count}, {lengths}, by {self.model})"

    def to_dict(self) -> dict[str, Any]:
        facts: SummaryFacts = {
            "duration_s": self.video_duration_s,
            "budget": {
                "asked_s": self.budget_s,
                "used_s": self.duration_s,
                "used_share": self.duration_s / self.video_duration_s,
                "note": self.budget_note,
            },
            "model": self.model,
            "model_reason": self.model_reason,
            "shot_method": self.shot_method,
            "segments": intervals_data(self.segments),
            "shots": self.shots,
            "importance": {"timestamps_s": self.timestamps.tolist(), "scores": self.importance.tolist()},
        }
        return self.document(facts)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        budget, curve, video = document["budget"], document["importance"], document["video"]
        facts = {"importance": curve["scores"], "timestamps": curve["timestamps_s"]}
        facts |= {"budget_s": budget["asked_s"], "budget_note": budget["note"]}
        return super().from_dict({**document, **facts, "video_fps": video["fps"] if video else 30.0})


Reason = Literal["silence", "filler", "false start", "deleted"]


@dataclass(frozen=True)
class Removal:
    """A part [start_s, end_s) of the video that is left out."""

    start_s: Seconds
    end_s: Seconds
    reason: Reason
    text: str = ""  # the words that are left out; none of silence


class TrimFacts(TypedDict):
    """A trimmed film.

    Written by `vidsum trim`. All times in seconds from the first picture; intervals are half-open.
    """

    duration_s: Length
    kept_s: Seconds  # length of the segments together
    by: Annotated[str, rules(enum=("loudness", "voice", "script"))]
    threshold_db: float | None  # level below which sound is silence, in dB of full scale; null with voice
    segments: Annotated[Sequence[Span], rules(minItems=1)]  # to keep, half-open, in the order of the new film
    removed: Sequence[Removal]  # what lies in no segment, in time order


@dataclass(frozen=True, eq=False)
class Trim(Result):
    """The parts of a video to keep, and those that are left out."""

    kind: ClassVar = "trim"
    parts: ClassVar = "removed"

    segments: tuple[Interval, ...]  # the parts to keep, in the order of the new film; of a script not in time
    removed: tuple[Removal, ...]  # the rest, in time order
    by: str  # how silence was told from sound, `loudness` or `voice`; or `script`
    threshold_db: float | None  # level of silence, in dB of full scale; None if a voice detector decided
    video_duration_s: float

    @property
    def duration_s(self) -> float:
        """Length of what is kept."""
        return float(sum(end - start for start, end in self.segments))

    def __repr__(self) -> str:
        lengths = f"{self.duration_s:g} s of {self.video_duration_s:g} s"
        return f"Trim({video_prefix(self.video)}{lengths} in {count_text(len(self.segments), 'segment')})"

    def to_dict(self) -> dict[str, Any]:
        facts: TrimFacts = {
            "duration_s": self.video_duration_s,
            "kept_s": self.duration_s,
            "by": self.by,
            "threshold_db": self.threshold_db,
            "segments": intervals_data(self.segments),
            "removed": self.removed,
        }
        return self.document(facts)
