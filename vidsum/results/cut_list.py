"""The cuts of a result from its video: segments, shots or moments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from vidsum.io.atomic import as_utf8
from vidsum.results.descriptions import Descriptions
from vidsum.results.moments import Grounding, Highlights, Moment, shorten
from vidsum.results.result import round_number
from vidsum.results.shorts import Shorts
from vidsum.results.shots import Chapters, Shots
from vidsum.results.summary import Summary, Trim
from vidsum.results.transcript import Transcript
from vidsum.types import Interval

Cutting = Summary | Trim | Shots | Chapters | Shorts | Grounding | Highlights  # a result that cuts its video


@dataclass(frozen=True)
class Cut:
    """A segment [start_s, end_s) of the video, with its label and scores."""

    start_s: float
    end_s: float
    label: str  # in one line: its kind and number, or its query and rank
    query: str = ""
    rank: int | None = None
    score: float | None = None
    evidence: str = ""  # the evidence for a moment (`Evidence`), where the result has it
    present: float | None = None  # match probability of its query for the whole video, where it is known
    video: str = ""  # path of the video as the result has it; none for features
    is_kept: bool = False  # whether it is a part of a summary or trim, which leaves the rest out


def cuts_of(result: Cutting) -> list[Cut]:
    """Return the cuts of a result: segments and shots in time, moments by query and then by rank."""
    path = as_utf8(result.video.path) if result.video else ""
    return [replace(cut, video=path) for group in groups_of(result) for cut in group]


_MAX_NAME = 60  # letters of speech in the name of a clip


def name_cuts(cuts: Sequence[Cut], speech: Transcript | None, seen: Descriptions | None) -> list[Cut]:
    """Return cuts named by query and rank; others by their first spoken words, or by a description."""

    def name(cut: Cut) -> str:
        said = speech.text_between(cut.start_s, cut.end_s) if speech else ""
        described = seen.at((cut.start_s + cut.end_s) / 2) if seen else None
        return as_utf8(shorten(said, _MAX_NAME) or described or cut.label)

    return [cut if cut.query else replace(cut, label=name(cut)) for cut in cuts]


def length_of(result: Cutting) -> float:
    """Return the length of the video of a result in seconds."""
    return float(result.edges_s[-1]) if isinstance(result, Shots) else result.video_duration_s


def groups_of(result: Cutting) -> list[list[Cut]]:
    """Return the cuts of each query; the cuts of a result without queries are one group."""
    if isinstance(result, Grounding):
        is_of_pictures = result.evidence == ("picture",)
        return [
            _moments(query.moments, query.query, query.present, has_evidence=not is_of_pictures)
            for query in result.queries
        ]
    if isinstance(result, Highlights):
        return [_moments(result.moments)]
    if isinstance(result, Shots):
        return [_spans(result.intervals, "shot")]
    if isinstance(result, Chapters):
        return [
            [
                Cut(round_number(part.start_s), round_number(part.end_s), as_utf8(part.title))
                for part in result.chapters
            ]
        ]
    if isinstance(result, Shorts):
        return [
            [
                Cut(
                    round_number(part.start_s),
                    round_number(part.end_s),
                    as_utf8(part.title),
                    rank=rank,
                    score=round_number(part.score),
                )
                for rank, part in enumerate(result.shorts, 1)
            ]
        ]
    return [[replace(cut, is_kept=True) for cut in _spans(result.segments, "segment")]]


def best_time(start_s: float, end_s: float, times_s: Sequence[float], scores: Sequence[float]) -> float:
    """Return the time of the highest sample in a segment, the middle one of several; else its middle."""
    inside = [(score, time) for time, score in zip(times_s, scores, strict=True) if start_s <= time < end_s]
    top = max(inside, default=(0.0, 0.0))[0]
    best = [time for score, time in inside if score == top]
    return best[len(best) // 2] if best else (start_s + end_s) / 2


def _spans(spans: Iterable[Interval], kind: str) -> list[Cut]:
    return [
        Cut(round_number(start), round_number(end), f"{kind} {rank}")
        for rank, (start, end) in enumerate(spans, 1)
    ]


def _moments(
    moments: Iterable[Moment], query: str = "", present: float | None = None, *, has_evidence: bool = False
) -> list[Cut]:
    text = as_utf8(" ".join(query.split()))
    return [
        Cut(
            round_number(moment.start_s),
            round_number(moment.end_s),
            f"{text} ({rank})" if text else f"highlight {rank}",
            text,
            rank,
            round_number(moment.score),
            moment.evidence if has_evidence else "",
            None if present is None else round_number(present),
        )
        for rank, moment in enumerate(moments, 1)
    ]
