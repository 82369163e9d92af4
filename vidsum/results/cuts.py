"""What a result cuts from its video, segments, shots or moments; as CSV, subtitles and chapters.

All times are of the source video."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from vidsum import times
from vidsum.outputs import as_utf8
from vidsum.results.moments import Grounding, Highlights, Moment
from vidsum.results.result import number
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.times import clock, short_clock
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


def best_time(start_s: float, end_s: float, times_s: Sequence[float], scores: Sequence[float]) -> float:
    """The time of the highest sample of a curve in a segment, the middle one of several: shots often begin
    and end in a fade; else the middle of the segment.
    """
    inside = [(score, time) for time, score in zip(times_s, scores, strict=True) if start_s <= time < end_s]
    top = max(inside, default=(0.0, 0.0))[0]
    best = [time for score, time in inside if score == top]
    return best[len(best) // 2] if best else (start_s + end_s) / 2


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


_COLUMNS = (
    "number",
    "start",
    "end",
    "start_s",
    "end_s",
    "seconds",
    "label",
    "query",
    "rank",
    "score",
    "evidence",
)


def to_csv(cuts: Sequence[Cut]) -> str:
    """One row per cut under a row of names; empty cells for what a kind of result does not have."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for row, cut in enumerate(cuts, 1):
        times = clock(cut.start_s), clock(cut.end_s), cut.start_s, cut.end_s
        about = cut.label, cut.query, cut.rank, cut.score, cut.evidence
        rows.writerow([row, *times, round(cut.end_s - cut.start_s, 6), *about])
    return text.getvalue()


def to_srt(cuts: Sequence[Cut]) -> str:
    """SubRip subtitles: each cut's label while it lasts."""
    return times.to_srt(_cues(cuts))


def to_vtt(cuts: Sequence[Cut]) -> str:
    """WebVTT cues: each cut's label while it lasts."""
    return times.to_vtt(_cues(cuts))


def to_chapters(cuts: Sequence[Cut]) -> str:
    """One line per cut: when it begins, and its label. The first is at 0:00, as YouTube requires."""
    ordered = _in_time(cuts)
    opening = [] if ordered and ordered[0].start_s < 1 else ["0:00 Start"]
    return "\n".join([*opening, *(f"{short_clock(int(cut.start_s))} {cut.label}" for cut in ordered)]) + "\n"


LISTS: Mapping[str, Callable[[Sequence[Cut]], str]] = {
    "csv": to_csv,
    "srt": to_srt,
    "vtt": to_vtt,
    "chapters": to_chapters,
}
"""Writers of the formats that need neither the video nor another package."""


def _in_time(cuts: Sequence[Cut]) -> list[Cut]:
    return sorted(cuts, key=attrgetter("start_s", "end_s"))


def _cues(cuts: Sequence[Cut]) -> list[times.Cue]:
    return [(cut.start_s, cut.end_s, cut.label) for cut in _in_time(cuts)]
