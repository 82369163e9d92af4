"""The segments of a reel, and what decisions make of them: order, other ends, what is out or added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vidsum.errors import InputError
from vidsum.results.decisions import AddPart, Decision, SegmentDecision
from vidsum.results.edited_parts import LEAST_S, note_of
from vidsum.results.reel import LONGEST_PHOTOGRAPH_S, Reel, ReelSegment, title_days
from vidsum.results.result import parse_fields, round_number, to_data
from vidsum.types import intersect


@dataclass(frozen=True)
class PlacedSegment:
    """A segment of a reel, with the part [start_s, end_s) of its source that is shown."""

    number: int  # among the segments of the reel as it was made, then those that were added
    source: int
    start_s: float
    end_s: float
    is_in: bool = True  # whether it is in the film


PlacedSegments = tuple[PlacedSegment, ...]
"""All segments of a reel as it was made, and those that were added, in their order after decisions."""


def place_segments(reel: Reel) -> list[PlacedSegments]:
    """Return the segments as they were made, as the only group of a reel."""
    segments = enumerate(reel.segments)
    return [tuple(PlacedSegment(number, part.source, part.start_s, part.end_s) for number, part in segments)]


def decide_segments(reel: Reel, placed: PlacedSegments, decision: SegmentDecision) -> PlacedSegments:
    """Return the segments after a decision; one that leaves less than 0.2 s of a source changes nothing.

    Raises InputError: there is no such segment or source.
    """
    if decision["action"] == "add":
        return _add_part(reel, placed, decision)
    here = next((at for at, part in enumerate(placed) if part.number == decision["segment"]), None)
    if here is None:
        raise InputError(f"not a decision about this reel: there is no segment {decision['segment']}")
    part, changed = placed[here], [*placed]
    if decision["action"] == "reorder":
        changed.insert(int(decision["place"]), changed.pop(here))
    elif decision["action"] == "set_ends":
        start_s, end_s = _limited(reel, part.source, decision["start_s"], decision["end_s"])
        if end_s - start_s >= LEAST_S:
            changed[here] = replace(part, start_s=start_s, end_s=end_s)
    else:
        changed[here] = replace(part, is_in=decision["action"] == "take_back")
    return tuple(changed)


def _add_part(reel: Reel, placed: PlacedSegments, decision: AddPart) -> PlacedSegments:
    """Return the segments with a part of a source, before the first segment of a later part or source."""
    source = int(decision["source"])
    if source >= len(reel.sources):
        raise InputError(f"not a decision about this reel: there is no source {source}")
    start_s, end_s = _limited(reel, source, decision["start_s"], decision["end_s"])
    if end_s - start_s < LEAST_S:
        return placed
    later = (at for at, part in enumerate(placed) if (part.source, part.start_s) > (source, start_s))
    here = next(later, len(placed))
    return (*placed[:here], PlacedSegment(len(placed), source, start_s, end_s), *placed[here:])


def _limited(reel: Reel, number: int, start_s: float, end_s: float) -> tuple[float, float]:
    """Return the part of a source between two times; a photograph is shown from 0 on."""
    source = reel.sources[number]
    if source.kind == "photograph":
        return 0.0, round_number(min(max(end_s - start_s, 0.0), LONGEST_PHOTOGRAPH_S))
    return round_number(start_s), round_number(min(end_s, source.length_s))


def finish_reel(reel: Reel, groups: Sequence[PlacedSegments], decisions: Sequence[Decision]) -> Reel:
    """Return a reel of the segments that are in; titles are where days begin in the new order."""
    segments = tuple(_segment_of(reel, part) for part in groups[0] if part.is_in)
    if any(segment.title for segment in reel.segments):
        segments = title_days(segments, reel.sources)
    edited = replace(reel, segments=segments)
    budget_s = max(reel.budget_s, edited.duration_s)
    return replace(edited, budget_s=budget_s, budget_note=note_of(edited.duration_s, budget_s))


def _segment_of(reel: Reel, part: PlacedSegment) -> ReelSegment:
    """Return a segment with the ends that were decided; the speech in it that is known."""
    if part.number >= len(reel.segments):
        return ReelSegment(part.source, part.start_s, part.end_s, "hand", 0.0)
    made = reel.segments[part.number]
    speech = intersect(made.speech, (part.start_s, part.end_s))
    return replace(made, start_s=part.start_s, end_s=part.end_s, speech=tuple(speech))


def before_reel(reel: Reel) -> Mapping[str, Any]:
    """Return what decisions change, as data."""
    facts = {"segments": reel.segments, "budget_s": reel.budget_s, "budget_note": reel.budget_note}
    changed: Mapping[str, Any] = to_data(facts)
    return changed


def restore_reel(reel: Reel, before: Mapping[str, Any]) -> Reel:
    """Return a reel as it was made. Raises LookupError, TypeError, ValueError: the data were made up."""
    segments = tuple(parse_fields(ReelSegment, data) for data in before["segments"])
    for segment in segments:
        if not 0 <= segment.source < len(reel.sources):
            raise LookupError(segment.source)
    budget_s, note = float(before["budget_s"]), str(before["budget_note"])
    return replace(reel, segments=segments, budget_s=budget_s, budget_note=note)
