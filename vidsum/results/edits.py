"""Results corrected by hand: what follows from a result and decisions about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from vidsum.errors import InputError, UsageError
from vidsum.results.cut_list import Cutting
from vidsum.results.decisions import Decision, check_decisions
from vidsum.results.edited_parts import EditedParts, Part, decide
from vidsum.results.moments import Highlights, Moment
from vidsum.results.summary import ScoredShot, Summary
from vidsum.types import FloatArray, Interval, TimeArray

Editable = Summary | Highlights
Edited = TypeVar("Edited", bound=Editable)
KEY = "edit"  # of provenance
_BY_HAND = "chosen by hand"
_NOTED_SHARE = 0.9  # of the budget; less is explained
_SAME_S = 1e-3


@dataclass(frozen=True)
class _Rules:
    """How decisions change the results of a kind."""

    keys: tuple[str, ...]  # of the document, which decisions change
    fields: tuple[str, ...]  # of the result, which these keys hold
    whole: bool  # whether parts are left out as wholes
    start: Callable[[Any], EditedParts]
    score: Callable[[Any], Callable[[Interval], float]]
    finish: Callable[[Any, EditedParts], Any]


def apply_decisions(result: Edited, decisions: Sequence[Decision]) -> Edited:
    """Return a result as decisions of people make it.

    They apply to the result as it was made, whatever decisions it holds already; without any it is that
    result. The provenance holds the decisions and the parts that they changed, so that the files of the
    result are known to differ.

    Args:
        result: a summary or highlights.
        decisions: in the order in which they were made; see docs/formats.md.

    Raises InputError: one is no decision. UsageError: the result cannot be edited.
    """
    made = original_of(result)
    checked = check_decisions([dict(decision) for decision in decisions])["decisions"]
    if not checked:
        return made
    rules, document = _rules_of(made), made.to_dict()
    before = {name: document[name] for name in rules.keys}
    edited: Edited = rules.finish(made, edit_state(made, checked))
    provenance = {**made.provenance, KEY: {"decisions": checked, "before": before}}
    return replace(edited, provenance=provenance)


def edit_state(result: Editable, decisions: Sequence[Decision]) -> EditedParts:
    """Return the parts of a result after decisions about it as it was made, and who took them."""
    made = original_of(result)
    rules = _rules_of(made)
    state, score = rules.start(made), rules.score(made)
    for decision in decisions:
        state = decide(state, decision, made.video_duration_s, score, whole=rules.whole)
    return state


def decisions_of(result: Editable) -> Sequence[Decision]:
    """Return the decisions that a result holds."""
    decisions: Sequence[Decision] = result.provenance.get(KEY, {}).get("decisions", ())
    return decisions


def original_of(result: Edited) -> Edited:
    """Return a result as it was before all decisions. Raises InputError: the file was made up."""
    edit = result.provenance.get(KEY)
    if edit is None:
        return result
    facts: Mapping[str, Any] = edit["before"]
    rules = _rules_of(result)
    if set(facts) != set(rules.keys):
        raise InputError("does not hold what was edited", "run the command again that made it")
    parsed = type(result).from_dict({**result.to_dict(), **facts})
    values: dict[str, Any] = {name: getattr(parsed, name) for name in rules.fields}
    if isinstance(parsed, Summary):
        values["shots"] = _mark(parsed.shots, parsed.segments)
    provenance = {name: part for name, part in result.provenance.items() if name != KEY}
    return replace(result, provenance=provenance, **values)


def editable(result: Cutting) -> Editable:
    """Return a result that decisions can change. Raises UsageError: it is of another kind."""
    _rules_of(result)
    assert isinstance(result, Editable)
    return result


def _rules_of(result: Cutting) -> _Rules:
    rules = _RULES.get(result.kind)
    if rules is None:
        raise UsageError(f"{result.kind} cannot be edited", hint="give a result of summarize or highlights")
    return rules


def _start_summary(summary: Summary) -> EditedParts:
    score = _score_summary(summary)
    parts = tuple(Part(*segment, score(segment)) for segment in summary.segments)
    return EditedParts(parts, budget_s=summary.budget_s)


def _score_summary(summary: Summary) -> Callable[[Interval], float]:
    return lambda span: float(_samples(summary.importance, summary.timestamps, span).mean())


def _finish_summary(summary: Summary, state: EditedParts) -> Summary:
    segments = tuple(part.interval for part in state.parts)
    is_short = state.length_s < _NOTED_SHARE * state.limit_s
    return replace(
        summary,
        segments=segments,
        shots=_mark(summary.shots, segments),
        budget_s=state.limit_s,
        budget_note=_BY_HAND if is_short else "",
    )


def _mark(shots: Sequence[ScoredShot], segments: Sequence[Interval]) -> tuple[ScoredShot, ...]:
    """Return shots, those selected of which a segment holds a part."""
    spans = np.array(segments, np.float64).reshape(-1, 2)

    def is_in(shot: ScoredShot) -> bool:
        common = np.minimum(spans[:, 1], shot.end_s) - np.maximum(spans[:, 0], shot.start_s)
        return bool((common > _SAME_S).any())

    return tuple(replace(shot, selected=is_in(shot)) for shot in shots)


def _start_highlights(highlights: Highlights) -> EditedParts:
    parts = sorted((Part(*moment.interval, moment.score) for moment in highlights.moments), key=_start_of)
    return EditedParts(tuple(parts), count=len(parts))


def _score_highlights(highlights: Highlights) -> Callable[[Interval], float]:
    """Return the score that `choose_highlights` gives: of peak and mean, less the mean of the video."""
    curve, times = highlights.saliency, highlights.timestamps

    def score(span: Interval) -> float:
        inside = _samples(curve, times, span)
        return float((inside.max() + inside.mean()) / 2 - curve.mean())

    return score


def _finish_highlights(highlights: Highlights, state: EditedParts) -> Highlights:
    ranked = sorted(state.parts, key=lambda part: -part.score)
    return replace(highlights, moments=tuple(Moment(*part.interval, part.score) for part in ranked))


def _samples(curve: FloatArray, times: TimeArray, span: Interval) -> FloatArray:
    """Return the samples in a span; of a short one the sample before it."""
    first, last = np.searchsorted(times, span)
    if first == last:
        first, last = max(0, first - 1), max(1, last)
    inside: FloatArray = curve[first:last]
    return inside if len(inside) else np.zeros(1, np.float32)


def _start_of(part: Part) -> float:
    return part.start_s


_RULES: Mapping[str, _Rules] = {
    Summary.kind: _Rules(
        ("segments", "budget"),
        ("segments", "budget_s", "budget_note"),
        False,
        _start_summary,
        _score_summary,
        _finish_summary,
    ),
    Highlights.kind: _Rules(
        ("moments",), ("moments",), True, _start_highlights, _score_highlights, _finish_highlights
    ),
}
