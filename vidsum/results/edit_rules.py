"""Rules by which decisions change the results of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vidsum.results.decisions import Decision, PartDecision
from vidsum.results.edited_chapters import decide_chapters
from vidsum.results.edited_parts import (
    LEAST_S,
    EditedParts,
    Part,
    Score,
    decide,
    note_of,
    parse_intervals,
    subtract_spans,
)
from vidsum.results.edited_reel import (
    before_reel,
    decide_segments,
    finish_reel,
    place_segments,
    restore_reel,
)
from vidsum.results.edited_shorts import (
    before_shorts,
    decide_shorts,
    finish_shorts,
    restore_shorts,
    start_shorts,
)
from vidsum.results.edited_trim import before_trim, decide_trim, finish_trim, restore_trim, start_trim
from vidsum.results.moments import Grounding, Highlights, Moment
from vidsum.results.reel import Reel
from vidsum.results.result import Result, intervals_data, to_data
from vidsum.results.shorts import Shorts
from vidsum.results.shots import Chapter, Chapters
from vidsum.results.summary import ScoredShot, Summary, Trim
from vidsum.types import FloatArray, Interval, TimeArray, join_near

_SAME_S = 1e-3
_OF_PARTS = frozenset(("take", "leave", "move"))


@dataclass(frozen=True)
class EditRules:
    """Rules of a kind of result, whose parts are in groups: one of each query, else one."""

    actions: frozenset[str]  # decisions that it knows
    start: Callable[[Any], list[Any]]  # gives the groups: `EditedParts`, or of a reel `PlacedSegments`
    decide: Callable[[Any, Any, Any], Any]  # gives a group after a decision
    finish: Callable[[Any, Sequence[Any], Sequence[Decision]], Any]  # gives the edited result
    before: Callable[[Any], Mapping[str, Any]]  # gives what decisions change, as data
    restore: Callable[[Any, Mapping[str, Any]], Any]  # gives the result as it was made, from that data


def _start_summary(summary: Summary) -> list[EditedParts]:
    """Return the segments, divided where a part begins or ends that `--keep` asked for: it does not give way.

    A shorter rest than LEAST_S stays with it: segments are rounded up to frames.
    """
    spans = summary.provenance.get("summary", {}).get("keep", ())
    keep = [(float(start_s), float(end_s)) for start_s, end_s in spans if start_s < end_s]
    score, parts = _score_summary(summary), list[Part]()
    for segment in summary.segments:
        rests = subtract_spans([segment], keep)
        rests = [rest for rest in rests if rest == segment or rest[1] - rest[0] >= LEAST_S]
        parts += [Part(*rest, score(rest)) for rest in rests]
        parts += [Part(*span, score(span), by_hand=True) for span in subtract_spans([segment], rests)]
    return [EditedParts(_in_time(parts), budget_s=summary.budget_s)]


def _score_summary(summary: Summary) -> Score:
    return lambda span: float(_samples(summary.importance, summary.timestamps, span).mean())


def _decide_summary(summary: Summary, state: EditedParts, decision: PartDecision) -> EditedParts:
    return decide(state, decision, summary.video_duration_s, _score_summary(summary))


def _finish_summary(
    summary: Summary, groups: Sequence[EditedParts], decisions: Sequence[Decision]
) -> Summary:
    """Return a summary; parts that touch are a single segment, as there is no cut."""
    segments = tuple(join_near(part.interval for part in groups[0].parts))
    state = replace(groups[0], parts=tuple(Part(*segment) for segment in segments))
    return replace(
        summary,
        segments=segments,
        shots=_mark(summary.shots, segments),
        budget_s=state.limit_s,
        budget_note=note_of(state.length_s, state.limit_s),
    )


def _before_summary(summary: Summary) -> Mapping[str, Any]:
    budget = {"budget_s": summary.budget_s, "budget_note": summary.budget_note}
    return {"segments": intervals_data(summary.segments), **to_data(budget)}


def _restore_summary(summary: Summary, before: Mapping[str, Any]) -> Summary:
    segments = parse_intervals(before["segments"])
    budget_s, note = float(before["budget_s"]), str(before["budget_note"])
    shots = _mark(summary.shots, segments)
    return replace(summary, segments=segments, shots=shots, budget_s=budget_s, budget_note=note)


def _mark(shots: Sequence[ScoredShot], segments: Sequence[Interval]) -> tuple[ScoredShot, ...]:
    """Return shots, those selected of which a segment holds a part."""
    spans = np.array(segments, np.float64).reshape(-1, 2)

    def is_in(shot: ScoredShot) -> bool:
        common = np.minimum(spans[:, 1], shot.end_s) - np.maximum(spans[:, 0], shot.start_s)
        return bool((common > _SAME_S).any())

    return tuple(replace(shot, selected=is_in(shot)) for shot in shots)


def _start_highlights(highlights: Highlights) -> list[EditedParts]:
    parts = [Part(*moment.interval, moment.score) for moment in highlights.moments]
    return [EditedParts(_in_time(parts), count=len(parts))]


def _decide_highlights(highlights: Highlights, state: EditedParts, decision: PartDecision) -> EditedParts:
    curve, times = highlights.saliency, highlights.timestamps

    def score(span: Interval) -> float:
        """Return the score that `choose_highlights` gives: of peak and mean, less the mean of the video."""
        inside = _samples(curve, times, span)
        return float((inside.max() + inside.mean()) / 2 - curve.mean())

    return decide(state, decision, highlights.video_duration_s, score, whole=True)


def _finish_highlights(
    highlights: Highlights, groups: Sequence[EditedParts], decisions: Sequence[Decision]
) -> Highlights:
    ranked = sorted(groups[0].parts, key=lambda part: -part.score)
    return replace(highlights, moments=tuple(Moment(*part.interval, part.score) for part in ranked))


def _before_highlights(highlights: Highlights) -> Mapping[str, Any]:
    return {"moments": [to_data(moment.to_dict()) for moment in highlights.moments]}


def _restore_highlights(highlights: Highlights, before: Mapping[str, Any]) -> Highlights:
    return replace(highlights, moments=tuple(_moment(data) for data in before["moments"]))


def _start_moments(grounding: Grounding) -> list[EditedParts]:
    return [
        EditedParts(
            _in_time(
                [
                    Part(*moment.interval, moment.score, moment=number)
                    for number, moment in enumerate(query.moments)
                ]
            )
        )
        for query in grounding.queries
    ]


def _decide_moments(grounding: Grounding, state: EditedParts, decision: PartDecision) -> EditedParts:
    best = max((part.score for part in state.parts), default=1.0)  # of what a person adds
    return decide(state, decision, grounding.video_duration_s, lambda span: best, whole=True)


def _finish_moments(
    grounding: Grounding, groups: Sequence[EditedParts], decisions: Sequence[Decision]
) -> Grounding:
    queries = []
    for query, state in zip(grounding.queries, groups, strict=True):
        ranked = sorted(state.parts, key=_rank_of_moment)
        moments = tuple(_moment_of(part, query.moments) for part in ranked)
        queries.append(replace(query, moments=moments))
    return replace(grounding, queries=tuple(queries))


def _rank_of_moment(part: Part) -> tuple[float, int]:
    """Return what moments are in order of: of equal scores, added ones are first."""
    return -part.score, -1 if part.moment is None else part.moment


def _moment_of(part: Part, moments: Sequence[Moment]) -> Moment:
    """Return the moment of a part, with the probability and evidence that it had before its ends moved."""
    if part.moment is None:
        return Moment(*part.interval, part.score)
    return replace(moments[part.moment], start_s=part.start_s, end_s=part.end_s)


def _before_moments(grounding: Grounding) -> Mapping[str, Any]:
    with_evidence = grounding.evidence != ("picture",)
    lists = [
        [to_data(moment.to_dict(with_evidence=with_evidence)) for moment in query.moments]
        for query in grounding.queries
    ]
    return {"moments": lists}


def _restore_moments(grounding: Grounding, before: Mapping[str, Any]) -> Grounding:
    pairs = zip(grounding.queries, before["moments"], strict=True)
    queries = (replace(query, moments=tuple(map(_moment, moments))) for query, moments in pairs)
    return replace(grounding, queries=tuple(queries))


def _start_chapters(chapters: Chapters) -> list[EditedParts]:
    return [
        EditedParts(tuple(Part(part.start_s, part.end_s, title=part.title) for part in chapters.chapters))
    ]


def _decide_chapters(chapters: Chapters, state: EditedParts, decision: PartDecision) -> EditedParts:
    return decide_chapters(state, decision)


def _finish_chapters(
    chapters: Chapters, groups: Sequence[EditedParts], decisions: Sequence[Decision]
) -> Chapters:
    parts = (Chapter(part.start_s, part.end_s, part.title) for part in groups[0].parts)
    return replace(chapters, chapters=tuple(parts))


def _before_chapters(chapters: Chapters) -> Mapping[str, Any]:
    return {"chapters": to_data(chapters.chapters)}


def _restore_chapters(chapters: Chapters, before: Mapping[str, Any]) -> Chapters:
    return replace(chapters, chapters=tuple(Chapter(**data) for data in before["chapters"]))


def _samples(curve: FloatArray, times: TimeArray, span: Interval) -> FloatArray:
    """Return the samples in a span; of a short one the sample before it."""
    first, last = np.searchsorted(times, span)
    if first == last:
        first, last = max(0, first - 1), max(1, last)
    inside: FloatArray = curve[first:last]
    return inside if len(inside) else np.zeros(1, np.float32)


def _in_time(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: part.interval))


def _moment(data: Mapping[str, Any]) -> Moment:
    return Moment(**data)


RULES: Mapping[type[Result], EditRules] = {
    Summary: EditRules(
        _OF_PARTS | {"plan"},
        _start_summary,
        _decide_summary,
        _finish_summary,
        _before_summary,
        _restore_summary,
    ),
    Highlights: EditRules(
        _OF_PARTS | {"plan"},
        _start_highlights,
        _decide_highlights,
        _finish_highlights,
        _before_highlights,
        _restore_highlights,
    ),
    Trim: EditRules(_OF_PARTS, start_trim, decide_trim, finish_trim, before_trim, restore_trim),
    Grounding: EditRules(
        _OF_PARTS, _start_moments, _decide_moments, _finish_moments, _before_moments, _restore_moments
    ),
    Chapters: EditRules(
        frozenset(("move", "rename", "merge", "split")),
        _start_chapters,
        _decide_chapters,
        _finish_chapters,
        _before_chapters,
        _restore_chapters,
    ),
    Shorts: EditRules(
        _OF_PARTS | {"rename"}, start_shorts, decide_shorts, finish_shorts, before_shorts, restore_shorts
    ),
    Reel: EditRules(
        frozenset(("leave_out", "take_back", "reorder", "set_ends", "add")),
        place_segments,
        decide_segments,
        finish_reel,
        before_reel,
        restore_reel,
    ),
}
"""All kinds that decisions can change."""
