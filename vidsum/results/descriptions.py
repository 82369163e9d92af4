"""Descriptions: what is seen in each segment of a video, in words, as JSON, WebVTT and SubRip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypedDict

from vidsum.results.provenance_types import Writer
from vidsum.results.result import Result, video_prefix
from vidsum.times import to_srt, to_vtt
from vidsum.types import Count, FilledText, Fraction, Interval, Length, Seconds

VLM = "vlm:"  # begins the writer of descriptions by a vision-language model; the model's name follows
_HEAD = "WEBVTT\nKind: descriptions\nLanguage: en\n"  # for people and editors; players need none of it


@dataclass(frozen=True)
class Description:
    """A sentence about [start_s, end_s) of a video; of a description for a pause, the time to speak it in."""

    start_s: Seconds
    end_s: Seconds
    text: FilledText
    confidence: Fraction | None
    """Probability that people accept it of the picture; none of a vision-language model, which gives none."""


class DescriptionFacts(TypedDict):
    """Descriptions of a video.

    Written by `vidsum describe`. All times in seconds from the first picture; intervals are half-open.
    """

    duration_s: Length
    writer: Writer
    """The source of the sentences; people: --texts; vlm:NAME: a vision-language model on a server; write,
    tags: an earlier version."""
    unsure: Count  # number of segments without a description, since no sentence was sure enough
    gaps: Sequence[tuple[Seconds, Seconds]] | None
    """The pauses of the speech that descriptions were fitted into, each [start_s, end_s); null without
    --in-gaps."""
    descriptions: Sequence[Description]  # in order of time; none overlaps another


@dataclass(frozen=True, eq=False)
class Descriptions(Result):
    """Sentences about the pictures of a video."""

    kind: ClassVar = "descriptions"
    parts: ClassVar = "descriptions"

    descriptions: tuple[Description, ...]  # in time order, apart; none where nothing is sure enough
    writer: str  # their source: `words`, `retrieve`, `people`, or `vlm:` and the name of a model
    video_duration_s: float
    n_unsure: int = 0  # segments without a sentence that is sure enough
    gaps: tuple[Interval, ...] | None = None  # pauses of speech, where descriptions were fitted into them
    n_sent: int | None = None  # frames that this run sent to the model of a server; files do not record it

    @property
    def is_by_vlm(self) -> bool:
        """Whether a vision-language model wrote them."""
        return self.writer.startswith(VLM)

    def __repr__(self) -> str:
        summary = f"{len(self.descriptions)} descriptions, {self.video_duration_s:g} s"
        return f"Descriptions({video_prefix(self.video)}{summary}, by {self.writer})"

    def at(self, time_s: float) -> str | None:
        """Return the text of the description of a time; None where there is none."""
        return next(
            (entry.text for entry in self.descriptions if entry.start_s <= time_s < entry.end_s), None
        )

    def as_text(self, form: Literal["vtt", "srt"]) -> str:
        """As WebVTT for a track of the kind `descriptions`, or as SubRip."""
        cues = [(entry.start_s, entry.end_s, entry.text) for entry in self.descriptions]
        return to_srt(cues) if form == "srt" else to_vtt(cues).replace("WEBVTT\n", _HEAD, 1)

    def to_dict(self) -> dict[str, Any]:
        facts: DescriptionFacts = {
            "duration_s": self.video_duration_s,
            "writer": self.writer,
            "unsure": self.n_unsure,
            "gaps": self.gaps,
            "descriptions": self.descriptions,
        }
        return self.document(facts)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        return super().from_dict({**document, "n_unsure": document["unsure"]})
