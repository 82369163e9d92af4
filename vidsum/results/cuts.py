"""What a result cuts from its video: segments, shots or moments."""

from collections.abc import Iterable
from dataclasses import dataclass

from vidsum.outputs import as_utf8
from vidsum.results.documents import number
from vidsum.results.moments import Grounding, Highlights, Moment
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.types import Interval

Cutting = Summary | Shots | Grounding | Highlights
"""A result that cuts its video."""


@dataclass(frozen=True)
class Cut:
    """A segment [start_s, end_s) of the video, and what the result says about it."""

    start_s: float
    end_s: float
    label: str
    """In one line: its kind and number, or its query and rank."""
    query: str = ""
    rank: int | None = None
    score: float | None = None
    evidence: str = ""
    """What found a moment, `seen` or `said`, where the result tells."""


def cuts_of(result: Cutting) -> list[Cut]:
    """The cuts of a result, in its order: segments and shots in time, moments by query and then by rank."""
    return [cut for group in groups_of(result) for cut in group]


def groups_of(result: Cutting) -> list[list[Cut]]:
    """The cuts of each query; those of a result without queries are one group. Times are as in documents."""
    if isinstance(result, Grounding):
        is_seen = result.evidence == "seen"
        return [
            _moments(query.moments, query.query, tells=query.said is not None or not is_seen)
            for query in result.queries
        ]
    if isinstance(result, Highlights):
        return [_moments(result.moments)]
    if isinstance(result, Shots):
        return [_spans(result.intervals, "shot")]
    return [_spans(result.segments, "segment")]


def _spans(spans: Iterable[Interval], kind: str) -> list[Cut]:
    return [Cut(number(start), number(end), f"{kind} {rank}") for rank, (start, end) in enumerate(spans, 1)]


def _moments(moments: Iterable[Moment], query: str = "", *, tells: bool = False) -> list[Cut]:
    text = as_utf8(" ".join(query.split()))
    return [
        Cut(
            number(moment.start_s),
            number(moment.end_s),
            f"{text} ({rank})" if text else f"highlight {rank}",
            text,
            rank,
            number(moment.score),
            moment.evidence if tells else "",
        )
        for rank, moment in enumerate(moments, 1)
    ]
