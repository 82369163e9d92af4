"""Results corrected by hand: what follows from a result and decisions about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from vidsum.errors import InputError, UsageError
from vidsum.results.decisions import Decision, check_decisions
from vidsum.results.edit_rules import RULES, EditRules
from vidsum.results.edited_parts import EditedParts
from vidsum.results.edited_reel import PlacedSegments
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.reel import Reel
from vidsum.results.result import Result, to_data
from vidsum.results.shorts import Shorts
from vidsum.results.shots import Chapters
from vidsum.results.summary import Summary, Trim

Editable = Summary | Highlights | Trim | Grounding | Chapters | Shorts  # of one video
EditableResult = Editable | Reel
Edited = TypeVar("Edited", bound=EditableResult)
KEY = "edit"  # of provenance


def apply_decisions(result: Edited, decisions: Sequence[Decision]) -> Edited:
    """Return a result as decisions of people make it.

    They apply to the result as it was made, whatever decisions it holds already; without any it is that
    result. The provenance holds the decisions and the parts that they changed, so that the files of the
    result are known to differ.

    Args:
        result: a summary, highlights, a trimmed film, moments, chapters, shorts or a reel.
        decisions: in the order in which they were made; see docs/formats.md.

    Raises InputError: one is no decision, or not about such a result. UsageError: it cannot be edited.
    """
    made = original_of(result)
    checked = check_decisions([dict(decision) for decision in decisions])["decisions"]
    if not checked:
        return made
    rules = _rules_of(made)
    edited: Edited = rules.finish(made, _decided(made, checked), checked)
    edit = {"decisions": checked, "before": rules.before(made)}
    return replace(edited, provenance={**made.provenance, KEY: edit})


def edit_groups(result: Editable, decisions: Sequence[Decision]) -> list[EditedParts]:
    """Return the parts of a result, for each query where it has queries, after decisions about it as made.

    Raises InputError: a decision is not about such a result, or the file was made up.
    """
    return _decided(original_of(result), decisions)


def placed_segments(reel: Reel, decisions: Sequence[Decision]) -> PlacedSegments:
    """Return all segments of a reel, as made and added, after decisions. Raises errors of `edit_groups`."""
    placed: PlacedSegments = _decided(original_of(reel), decisions)[0]
    return placed


def _decided(made: EditableResult, decisions: Sequence[Decision]) -> list[Any]:
    """Return the groups of a result without decisions, after some."""
    rules = _rules_of(made)
    with _whole_record():
        groups = rules.start(made)
    for decision in decisions:
        query = int(decision.get("query", 0))  # type: ignore[call-overload]
        if decision["action"] not in rules.actions or query >= len(groups):
            raise InputError(f"not a decision about {made.kind}: {decision['action']}")
        groups[query] = rules.decide(made, groups[query], decision)
    return groups


def subject_sha256(result: EditableResult) -> str | None:
    """Return the SHA-256 of what decisions are about; None: unknown.

    That is the video, or of a reel its segments and sources.
    """
    made = original_of(result)
    if not isinstance(made, Reel):
        sha256: str | None = made.provenance.get("video", {}).get("sha256")
        return sha256
    parts = [(made.sources[part.source].sha256, part.start_s, part.end_s) for part in made.segments]
    sources = [source.sha256 for source in made.sources]
    return hashlib.sha256(json.dumps(to_data([parts, sources])).encode()).hexdigest()


def decisions_of(result: EditableResult) -> Sequence[Decision]:
    """Return the decisions that a result holds."""
    decisions: Sequence[Decision] = result.provenance.get(KEY, {}).get("decisions", ())
    return decisions


def original_of(result: Edited) -> Edited:
    """Return a result as it was before all decisions. Raises InputError: the file was made up."""
    edit = result.provenance.get(KEY)
    if edit is None:
        return result
    provenance = {name: part for name, part in result.provenance.items() if name != KEY}
    with _whole_record():
        made: Edited = _rules_of(result).restore(result, edit["before"])
    return replace(made, provenance=provenance)


@contextmanager
def _whole_record() -> Iterator[None]:
    """Let what a made-up provenance lacks end in an InputError."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        hint = "run the command again that made it"
        raise InputError("does not hold what was edited", hint) from error


def editable(result: Result) -> EditableResult:
    """Return a result that decisions can change. Raises UsageError: it is of another kind."""
    _rules_of(result)
    assert isinstance(result, EditableResult)
    if isinstance(result, Trim) and list(result.segments) != sorted(result.segments):
        raise UsageError(
            "cannot be edited: its parts were moved by a script",
            hint="edit the script, and run vidsum trim again",
        )
    return result


def _rules_of(result: Result) -> EditRules:
    if type(result) not in RULES:
        hint = "give the JSON of summarize, highlights, trim, ground, chapters, shorts or reel"
        raise UsageError(f"{result.kind} cannot be edited", hint)
    return RULES[type(result)]
