"""Chapters, and what decisions make of them: no gap between them, none too short, three at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vidsum.results.decisions import PartDecision
from vidsum.results.edited_parts import EditedParts, Part
from vidsum.results.result import round_number
from vidsum.results.shots import MIN_CHAPTER_S, MIN_CHAPTERS


def decide_chapters(state: EditedParts, decision: PartDecision) -> EditedParts:
    """Return chapters after a decision; one that would leave too few or too short ones changes nothing."""
    if decision["action"] == "plan":
        return state
    parts = list(state.parts)
    number = _number_at(parts, decision["start_s"])
    if decision["action"] == "rename":
        title = plain_title(decision["title"]) or parts[number].title
        parts[number] = replace(parts[number], title=title, by_hand=True)
    elif decision["action"] == "split":
        parts[number : number + 1] = _split(
            parts[number], decision["start_s"], plain_title(decision["title"])
        )
    elif decision["action"] == "merge" and number > 0 and len(parts) > MIN_CHAPTERS:
        merged = replace(parts[number - 1], end_s=parts[number].end_s, by_hand=True)
        parts[number - 1 : number + 1] = [merged]
    elif decision["action"] == "move":
        number = _number_at(parts, (decision["start_s"] + decision["end_s"]) / 2)
        if abs(decision["to_start_s"] - parts[number].start_s) > abs(
            decision["to_end_s"] - parts[number].end_s
        ):
            _move_start(parts, number, decision["to_start_s"])
        else:
            _move_start(parts, number + 1, decision["to_end_s"])
    return replace(state, parts=tuple(parts))


def plain_title(title: str) -> str:
    """Return a title in one line, without characters that cannot be printed."""
    return " ".join("".join(filter(str.isprintable, part)) for part in title.split())


def _split(part: Part, time_s: float, title: str) -> list[Part]:
    """Return a chapter and another that begins in it; the chapter alone if one would be too short."""
    edge_s = round_number(time_s)
    if not part.start_s + MIN_CHAPTER_S <= edge_s <= part.end_s - MIN_CHAPTER_S:
        return [part]
    after = replace(part, start_s=edge_s, title=title or part.title, by_hand=True)
    return [replace(part, end_s=edge_s, by_hand=True), after]


def _number_at(parts: Sequence[Part], time_s: float) -> int:
    """Return the number of the chapter that holds a time, the last one after the end."""
    return max((number for number, part in enumerate(parts) if part.start_s <= time_s), default=0)


def _move_start(parts: list[Part], number: int, time_s: float) -> None:
    """Let a chapter begin elsewhere, and the one before it end there, if both stay long enough."""
    if not 0 < number < len(parts):
        return
    before, after = parts[number - 1], parts[number]
    low_s, high_s = before.start_s + MIN_CHAPTER_S, after.end_s - MIN_CHAPTER_S
    if low_s <= high_s:
        edge_s = round_number(min(max(time_s, low_s), high_s))
        parts[number - 1] = replace(before, end_s=edge_s, by_hand=True)
        parts[number] = replace(after, start_s=edge_s, by_hand=True)
