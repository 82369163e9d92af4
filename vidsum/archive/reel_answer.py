"""The answer of the tool `reel`."""

from dataclasses import dataclass, field

from vidsum.archive.paging import AnswerPage


@dataclass(frozen=True)
class SourceSpan:
    """A part [start_s, end_s) of a video."""

    video: str
    start_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class ReelAnswer(AnswerPage):
    """The film that was written, and its parts, in order."""

    path: str
    duration_s: float
    parts: list[SourceSpan] = field(default_factory=list)
