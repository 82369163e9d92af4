"""Shorts, and what decisions make of them: other ends, other titles, what is left out or added.

None overlaps another; a decision by which two would changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from vidsum.results.decisions import Decision, PartDecision, Take
from vidsum.results.edited_chapters import plain_title
from vidsum.results.edited_parts import LEAST_S, EditedParts, Part, limited, most_in, overlap_s
from vidsum.results.result import parse_fields, to_data
from vidsum.results.shorts import Short, Shorts
from vidsum.types import Interval


def start_shorts(shorts: Shorts) -> list[EditedParts]:
    """Return the shorts as they were made, as the only group."""
    parts = [
        Part(short.start_s, short.end_s, short.score, title=short.title, text=short.text, moment=number)
        for number, short in enumerate(shorts.shorts)
    ]
    return [EditedParts(_in_time(parts))]


def decide_shorts(shorts: Shorts, state: EditedParts, decision: PartDecision) -> EditedParts:
    """Return the shorts after a decision; one that makes a short of less than 0.2 s changes nothing.

    A short that is taken again is as it was made. A short of which half or more is left out goes as a whole,
    and stays as it is if less is.
    """
    if decision["action"] == "rename":
        return _rename(state, decision["start_s"], decision["title"])
    if decision["action"] == "plan" or decision["action"] == "merge" or decision["action"] == "split":
        return state  # of other kinds
    span = limited(decision["start_s"], decision["end_s"], shorts.video_duration_s)
    if decision["action"] == "leave":
        stays = (part for part in state.parts if 2 * overlap_s(part.interval, span) < part.length_s)
        return replace(state, parts=tuple(stays))
    if decision["action"] == "take":
        return _add(state, _taken(shorts, span, decision), state.parts)
    moved = most_in(state.parts, span)
    if moved is None:
        return state
    start_s, end_s = limited(decision["to_start_s"], decision["to_end_s"], shorts.video_duration_s)
    title = plain_title(decision.get("title", "")) or moved.title
    new = replace(moved, start_s=start_s, end_s=end_s, by_hand=True, title=title)
    others = [part for part in state.parts if part is not moved]
    return _add(state, replace(new, text=decision.get("text", moved.text)), others)


def _rename(state: EditedParts, time_s: float, title: str) -> EditedParts:
    parts = (
        replace(part, title=plain_title(title) or part.title, by_hand=True)
        if part.start_s <= time_s < part.end_s
        else part
        for part in state.parts
    )
    return replace(state, parts=tuple(parts))


def _taken(shorts: Shorts, span: Interval, decision: Take) -> Part:
    """Return a new short, or one as it was made."""
    made = next((part for part in start_shorts(shorts)[0].parts if part.interval == span), None)
    title = plain_title(decision.get("title", "")) or "New short"
    return made or Part(*span, by_hand=True, title=title, text=decision.get("text", ""))


def _add(state: EditedParts, part: Part, others: Sequence[Part]) -> EditedParts:
    is_apart = all(overlap_s(part.interval, other.interval) <= 0 for other in others)
    if part.length_s < LEAST_S or not is_apart:
        return state
    return replace(state, parts=_in_time([*others, part]))


def finish_shorts(shorts: Shorts, groups: Sequence[EditedParts], decisions: Sequence[Decision]) -> Shorts:
    """Return shorts as they were decided, in the order in which they were made; added ones are last."""
    ranked = sorted(groups[0].parts, key=lambda part: inf if part.moment is None else part.moment)
    chosen = tuple(Short(*part.interval, part.score, part.title, part.text) for part in ranked)
    note = shorts.note if len(chosen) == len(shorts.shorts) else "chosen by hand"
    return replace(shorts, shorts=chosen, note=note)


def before_shorts(shorts: Shorts) -> Mapping[str, Any]:
    """Return what decisions change, as data."""
    changed: Mapping[str, Any] = to_data({"shorts": shorts.shorts, "note": shorts.note})
    return changed


def restore_shorts(shorts: Shorts, before: Mapping[str, Any]) -> Shorts:
    """Return shorts as they were made. Raises LookupError, TypeError, ValueError: the data were made up."""
    made = tuple(parse_fields(Short, data) for data in before["shorts"])
    return replace(shorts, shorts=made, note=str(before["note"]))


def _in_time(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: part.interval))
