"""Trimmed films, and what decisions make of them: parts that are put back or cut, with their reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vidsum.results.decisions import Decision, PartDecision
from vidsum.results.edited_parts import SHORTEST_S, EditedParts, Part, decide, parse_intervals
from vidsum.results.result import intervals_data, to_data
from vidsum.results.summary import Reason, Removal, Trim
from vidsum.types import Interval, join_near

_SAME_S = 1e-3


def start_trim(trim: Trim) -> list[EditedParts]:
    """Return the parts as they were made, as the only group."""
    return [EditedParts(tuple(Part(*segment) for segment in trim.segments))]


def decide_trim(trim: Trim, state: EditedParts, decision: PartDecision) -> EditedParts:
    """Return the parts after a decision."""
    return decide(state, decision, trim.video_duration_s, lambda span: 0.0)


def finish_trim(trim: Trim, groups: Sequence[EditedParts], decisions: Sequence[Decision]) -> Trim:
    """Return a trimmed film; of what it lacks, what it lacked before keeps its reason."""
    segments = join_near((part.interval for part in groups[0].parts), _SAME_S)
    edges = [0.0, *(edge_s for segment in segments for edge_s in segment), trim.video_duration_s]
    gaps = [(low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if high - low > _SAME_S]
    known = _known_removals(trim.removed, decisions)
    return replace(trim, segments=tuple(segments), removed=tuple(_removal(gap, known) for gap in gaps))


def _known_removals(removed: Sequence[Removal], decisions: Sequence[Decision]) -> list[Removal]:
    """Return what was removed and the words that were cut, without what was put back or cut again later."""
    known = list(removed)
    for decision in decisions:
        span = 0.0, 0.0
        if decision["action"] == "take":
            span = decision["start_s"], decision["end_s"]
        elif decision["action"] == "move":
            span = decision["to_start_s"], decision["to_end_s"]
        if span[1] - span[0] >= SHORTEST_S:
            known = [part for part in known if not _has_middle(*span, part)]
        if decision["action"] == "leave" and "text" in decision:
            start_s, end_s = decision["start_s"], decision["end_s"]
            known = [part for part in known if part.start_s < start_s or part.end_s > end_s]
            known.append(Removal(start_s, end_s, "deleted", decision["text"]))
    return sorted(known, key=lambda part: part.start_s)


def _has_middle(start_s: float, end_s: float, part: Removal) -> bool:
    return start_s <= (part.start_s + part.end_s) / 2 < end_s


def _removal(gap: Interval, known: Sequence[Removal]) -> Removal:
    """Return what is missing in a gap, with the reason and the words of what was removed there."""
    inside = [part for part in known if _has_middle(*gap, part)]
    is_cut = not inside or any(part.reason == "deleted" for part in inside)
    reason: Reason = "deleted" if is_cut else inside[0].reason
    return Removal(*gap, reason, " ".join(part.text for part in inside if part.text))


def before_trim(trim: Trim) -> Mapping[str, Any]:
    """Return what decisions change, as data."""
    return {"segments": intervals_data(trim.segments), "removed": to_data(trim.removed)}


def restore_trim(trim: Trim, before: Mapping[str, Any]) -> Trim:
    """Return a trimmed film as it was made. Raises LookupError, TypeError: the data were made up."""
    removed = tuple(Removal(**data) for data in before["removed"])
    return replace(trim, segments=parse_intervals(before["segments"]), removed=removed)
