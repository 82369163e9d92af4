"""Decisions of people about a result, as plain data, and the file that keeps them next to it.

Times are seconds from the first picture, as in results: of the video, or of the source of a segment of a
reel. `vidsum.results.edits` applies them.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Any, Literal, NotRequired, TypedDict

from vidsum.errors import InputError, OutputError, safe_name
from vidsum.io.atomic import write_text
from vidsum.io.text import read_json
from vidsum.types import Count, FilledText, Seconds, Sha256

ENDING = ".edits"  # in place of the `.json` of the result
_SCHEMA = "vidsum.edits/1"


class Take(TypedDict):
    """A part that is in the result; it joins the parts that it overlaps."""

    action: Literal["take"]
    start_s: Seconds
    end_s: Seconds
    query: NotRequired[Count]  # of moments: the number of the query, from 0; the first if missing
    title: NotRequired[FilledText]  # of a short
    text: NotRequired[str]  # of a short: what is said in it


class Leave(TypedDict):
    """A part that is out of the result."""

    action: Literal["leave"]
    start_s: Seconds
    end_s: Seconds
    query: NotRequired[Count]
    text: NotRequired[str]  # the words that go


class Move(TypedDict):
    """A part of the result that gets other ends."""

    action: Literal["move"]
    start_s: Seconds
    end_s: Seconds
    to_start_s: Seconds
    to_end_s: Seconds
    query: NotRequired[Count]
    title: NotRequired[FilledText]  # of a short; as before if missing
    text: NotRequired[str]  # of a short: what is said in it


class PlannedPart(TypedDict):
    """A part that a plan chose."""

    start_s: Seconds
    end_s: Seconds
    score: NotRequired[float]  # of a highlight


class NewPlan(TypedDict):
    """A new plan around the decisions so far, with its parts, so that no model is needed to apply it."""

    action: Literal["plan"]
    budget_s: NotRequired[Seconds]  # maximum length of a summary
    count: NotRequired[Count]  # maximum number of highlights
    planned: Sequence[PlannedPart]


class Rename(TypedDict):
    """A chapter or a short that gets another title."""

    action: Literal["rename"]
    start_s: Seconds  # a time in it
    title: FilledText


class Merge(TypedDict):
    """A chapter that becomes a part of the chapter before it."""

    action: Literal["merge"]
    start_s: Seconds  # a time in the chapter


class SplitChapter(TypedDict):
    """A chapter that ends where another begins."""

    action: Literal["split"]
    start_s: Seconds  # of the new chapter
    title: FilledText


class LeaveOut(TypedDict):
    """A segment that is out of a reel; it keeps its place among the others."""

    action: Literal["leave_out"]
    segment: Count  # its number in the reel as it was made, from 0; those that were added follow


class TakeBack(TypedDict):
    """A segment that is in a reel again, at its place."""

    action: Literal["take_back"]
    segment: Count


class Reorder(TypedDict):
    """A segment of a reel that gets another place."""

    action: Literal["reorder"]
    segment: Count
    place: Count  # among all segments, also those that are left out, from 0


class SetEnds(TypedDict):
    """A segment of a reel that shows another part of its source."""

    action: Literal["set_ends"]
    segment: Count
    start_s: Seconds  # with the end: of the source; of a photograph their difference is how long it is shown
    end_s: Seconds


class AddPart(TypedDict):
    """A part of a source that becomes a segment of a reel, before those of later sources.

    Its number is the next one.
    """

    action: Literal["add"]
    source: Count  # its number among the sources of the reel, from 0
    start_s: Seconds  # with the end: of the source; of a photograph their difference is how long it is shown
    end_s: Seconds


PartDecision = Take | Leave | Move | NewPlan | Rename | Merge | SplitChapter
SegmentDecision = LeaveOut | TakeBack | Reorder | SetEnds | AddPart
Decision = PartDecision | SegmentDecision


class EditFacts(TypedDict):
    """Decisions about a result.

    Written by `vidsum edit` next to the result as they are made. All times in seconds from the first picture.
    """

    sha256: NotRequired[Sha256]  # of the video that they are about, or of the segments and sources of a reel
    decisions: Sequence[Decision]  # in the order in which they were made
    undone: Sequence[Decision]  # decisions that were undone, the next to redo last


class Edit(TypedDict):
    """Decisions by which a result was corrected, and what they changed."""

    decisions: Sequence[Decision]
    before: Mapping[str, Any]  # the parts of the result that were changed, as they were


def decisions_path(record: Path) -> Path:
    """Return the file of the decisions about the result in a file."""
    return record.with_suffix(ENDING)


def check_decisions(decisions: object, undone: object = ()) -> EditFacts:
    """Return decisions that anyone may have written. Raises InputError: they fit no schema."""
    from jsonschema.exceptions import best_match

    document = {"schema": _SCHEMA, "decisions": decisions, "undone": list(undone)}  # type: ignore[call-overload]
    try:
        json.dumps(document, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("not a decision: it holds no numbers that JSON has") from error
    fault = best_match(_validator().iter_errors(document))
    if fault is not None:
        raise InputError(f"not a decision: {safe_name(fault.json_path[2:])}")
    return {"decisions": document["decisions"], "undone": document["undone"]}


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    rules = (files("vidsum") / "schemas" / "edits.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(rules))


def read_decisions(path: Path, sha256: str | None = None) -> EditFacts:
    """Return the decisions in a file; none where there is no file.

    Raises InputError: it holds something else, or decisions about another video or reel.
    """
    if not path.exists():
        return {"decisions": [], "undone": []}
    hint = f"mv {quote(str(path))} {quote(f'{path}.old')}"
    document = None
    with suppress(InputError):
        document = read_json(path) if path.is_file() else None
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise InputError("is not a file of vidsum edit", hint, subject=path)
    if sha256 and document.get("sha256", sha256) != sha256:
        raise InputError("has decisions about another video or reel", hint, subject=path)
    try:
        return check_decisions(document.get("decisions"), document.get("undone") or ())
    except InputError as error:
        raise InputError(error.parts, hint, subject=path) from error


def write_decisions(path: Path, facts: EditFacts, sha256: str | None = None) -> None:
    """Write decisions about a video or reel. Raises OutputError: it cannot be written, or is another file."""
    try:
        read_decisions(path, sha256)
    except InputError as error:
        raise OutputError("already exists, and was not written by vidsum edit", subject=path) from error
    about = {"schema": _SCHEMA, **({"sha256": sha256} if sha256 else {})}
    lines = [f' "{name}": {json.dumps(fact)}' for name, fact in about.items()]
    for name, items in (("decisions", facts["decisions"]), ("undone", facts["undone"])):
        lines.append(f' "{name}": [' + ",".join(f"\n  {json.dumps(item)}" for item in items) + "\n ]")
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
