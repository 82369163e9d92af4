"""Reading results back from files, which anyone may have edited: `find_fault` checks what a schema cannot."""

import json
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import chain, pairwise
from math import inf
from pathlib import Path
from typing import Any, TypeVar, get_args

from vidsum.errors import InputError, quote, require_type, safe_name
from vidsum.io.atomic import stems_of
from vidsum.io.file_names import existing_path, missing_file
from vidsum.io.provenance import is_sealed
from vidsum.io.text import read_json
from vidsum.results.cut_list import Cutting
from vidsum.results.descriptions import Descriptions
from vidsum.results.feature_files import is_feature_file, read_features
from vidsum.results.reel import LONGEST_PHOTOGRAPH_S, Reel
from vidsum.results.result import Result, to_text
from vidsum.results.screen_text import ScreenText
from vidsum.results.transcript import Transcript
from vidsum.types import VideoInfo
from vidsum.video.probe import holds_video

Texts = Descriptions | Transcript | ScreenText
Text = TypeVar("Text", Descriptions, Transcript, ScreenText)
_CUTTING: dict[str, type[Cutting]] = {kind.kind: kind for kind in get_args(Cutting)}
_OF_MANY: dict[str, type[Reel]] = {Reel.kind: Reel}
_TEXTS: dict[str, type[Texts]] = {kind.kind: kind for kind in get_args(Texts)}


def load(path: str | os.PathLike[str]) -> Result:
    """Return the result in a file that vidsum wrote: JSON, or features; saliency that is missing is empty.

    Raises InputError: the file is missing, was not written by vidsum, or was changed since.
    """
    require_type(path, str, os.PathLike)
    path = existing_path(os.fspath(path))
    if is_feature_file(os.fspath(path)):
        return read_features(path)
    if not Path(path).exists():
        raise missing_file(path)
    try:
        document = read_record(path)
    except InputError as error:
        raise InputError(error.parts, error.hint_text, subject=path) from error
    kind = str(kind_of(document))
    result = {**_CUTTING, **_OF_MANY, **_TEXTS}.get(kind)
    if result is None:
        raise InputError(f"holds {kind}, not the result of a video", subject=os.fspath(path))
    return result.from_dict(document)


def load_text_for(path: Path, video: VideoInfo, kind: type[Text]) -> Text | None:
    """Return the unchanged descriptions or transcript of a video from the folder of a file, or None."""
    for stem in stems_of(video.path):
        with suppress(InputError):
            text = load(path.with_name(f"{stem}_{kind.kind}.json"))
            if isinstance(text, kind) and text.video and text.video.bytes == video.bytes:
                return text
    return None


def result_of(document: Mapping[str, Any]) -> Cutting:
    """Return the result that a valid document with the cuts of a video describes."""
    return _CUTTING[str(kind_of(document))].from_dict(document)


def exportable_of(document: Mapping[str, Any]) -> Cutting | Reel:
    """Return the result that a valid document with cuts describes, or a reel."""
    return {**_CUTTING, **_OF_MANY}[str(kind_of(document))].from_dict(document)


def read_displayable(path: str | os.PathLike[str]) -> Cutting | Texts:
    """Return the result of `read_result`, or an unedited transcript or descriptions; errors as of `load`."""
    if not Path(path).is_file() or kind_of(read_document(path)) not in _TEXTS:
        return _of_one(_read_cuts(path, _CUTTING, (*_CUTTING, *_TEXTS)))
    result = load(path)
    assert isinstance(result, Texts)
    return result


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON object in a file. Raises InputError: none, NaN, or lists nested too deep."""
    try:
        document = read_json(path)
    except InputError as error:
        if Path(path).is_file():
            with suppress(OSError), Path(path).open("rb") as file:
                if holds_video(file):
                    hint = f"vidsum summarize {shlex.quote(os.fspath(path))} makes one"
                    raise InputError("is a video, not a result", hint, subject=path) from error
        raise
    if not isinstance(document, dict):
        raise InputError("not a JSON object", subject=os.fspath(path))
    try:
        to_text(document)
    except (ValueError, RecursionError) as error:
        raise InputError("holds infinite numbers, or is nested too deep", subject=os.fspath(path)) from error
    return document


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a document that vidsum wrote and nobody changed since.

    Raises InputError, which does not name the file: it is missing, has no known schema or another digest, or
    see `find_fault`.
    """
    unknown = InputError("is not known to be made by vidsum")
    try:
        document = read_document(path)
    except InputError:
        raise unknown from None
    if kind_of(document) is None:
        raise unknown
    is_whole = isinstance(document.get("provenance"), dict) and is_sealed(document)
    if not is_whole or find_fault(document) is not None:
        raise InputError("was edited after vidsum wrote it, or written by another version")
    return document


def read_result(path: str | os.PathLike[str]) -> Cutting:
    """Return the result in a document with cuts, such as a summary, as written or edited since.

    Raises InputError: it cannot be read, is a document of another kind, or see `find_fault`.
    """
    return _of_one(_read_cuts(path, _CUTTING, _CUTTING))


def read_exportable(path: str | os.PathLike[str]) -> Cutting | Reel:
    """Return the result of `read_result`, or a reel."""
    kinds = (*_CUTTING, *_OF_MANY)
    return _read_cuts(path, kinds, kinds)


def _of_one(result: Cutting | Reel) -> Cutting:
    assert not isinstance(result, Reel)
    return result


def _read_cuts(
    path: str | os.PathLike[str], kinds: Collection[str], accepted: Iterable[str]
) -> Cutting | Reel:
    """Return the result of `read_result`; the error of another document names the kinds accepted."""
    document = read_document(path)
    kind, name = str(kind_of(document)), os.fspath(path)
    if kind in _TEXTS:
        raise InputError("has texts, not cuts", hint=_TEXT_COMMANDS[kind], subject=name)
    if kind not in kinds:
        *others, last = dict.fromkeys(_COMMANDS.get(kind, kind) for kind in accepted)
        fault = f"not a result of {', '.join(others)} or {last}"
        raise InputError(fault, hint="give the JSON file that one of these wrote", subject=name)
    if reason := find_fault(document):
        raise InputError(reason, hint="undo the edit, or run the command again", subject=name)
    return exportable_of(document)


_TEXT_COMMANDS = {
    "transcript": "vidsum transcribe VIDEO --format srt",
    "screen_text": "vidsum transcribe VIDEO --on-screen-text --format srt",
    "descriptions": "vidsum describe VIDEO",
}
_COMMANDS = {
    "summary": "summarize",
    "moments": "ground",
    "transcript": "transcribe",
    "screen_text": "transcribe",
    "descriptions": "describe",
}  # commands by the kind of document that they write, where it is called otherwise

_LARGEST = 2.0**53  # any number: up to here, JSON's numbers are exact to 1
_FREE = ("provenance.", "budget.asked_s")  # here numbers may be as large as they were typed: a seed, a budget
_LONGEST_PATH = 4096  # in bytes; Linux opens no longer ones
_ROUNDED_S = 0.001  # by which times of reels err
_LATE_S, _LATE_FRACTION = 2.0, 0.02  # how far a segment may end after its video, as headers err


def find_fault(document: Mapping[str, Any]) -> str | None:
    """Return the first fault of a document, in one line; None without any."""
    kind = kind_of(document)
    if kind is None:
        return "names no schema of vidsum"
    faults = [_wrong_numbers(document), _against_schema(document, kind)]
    if kind in (*_CUTTING, "descriptions", "screen_text"):
        faults += [
            _wrong_path(document.get("video")),
            _wrong_segments(document, kind),
            _wrong_curves(document),
        ]
    if kind in _OF_MANY:
        faults.append(_wrong_reel(document))
    try:
        return next(chain.from_iterable(faults), None)
    except RecursionError:
        return "is nested too deep"


def kind_of(document: Mapping[str, Any]) -> str | None:
    """Return the kind that a document's schema names, such as `summary`; None for none of vidsum's."""
    match = re.fullmatch(r"vidsum\.(\w+)/\d+", str(document.get("schema")))
    return match[1] if match and _schema_of(match[1]).is_file() else None


def _schema_of(kind: str) -> Any:
    return files("vidsum") / "schemas" / f"{kind}.schema.json"


def _wrong_numbers(value: Any, where: str = "") -> Iterator[str]:
    """Yield numbers that nothing can be computed with."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _wrong_numbers(part, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _wrong_numbers(part, f"{where}[{number}]")
    elif isinstance(value, int | float) and not abs(value) <= _LARGEST and not where.startswith(_FREE):
        yield f"{safe_name(where)}: {quote(value)} is too large"


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator  # 0.1 s, which is well spent where there is one to check

    return Draft202012Validator(json.loads(_schema_of(kind).read_text(encoding="utf-8")))


def _against_schema(document: Mapping[str, Any], kind: str) -> Iterator[str]:
    from jsonschema.exceptions import best_match

    error = best_match(_validator(kind).iter_errors(document))
    if error is not None:
        is_of_keys = error.validator in ("required", "additionalProperties")
        what = safe_name(error.message) if is_of_keys else f"{quote(error.instance)} does not fit"
        yield f"{safe_name(error.json_path[2:]) or kind}: {what} (not valid by the schema of {kind})"


def _wrong_path(video: Mapping[str, Any] | None) -> Iterator[str]:
    path = video["path"] if video else "."
    try:
        is_path = 0 < len(os.fsencode(path)) <= _LONGEST_PATH and "\0" not in path
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        is_path = False
    if not is_path:
        yield f"video.path: {quote(path)} is not a path"


def _wrong_segments(document: Mapping[str, Any], kind: str) -> Iterator[str]:
    """Yield segments that end before they begin, or after the video."""
    film = document if "duration_s" in document else document["video"]  # shots have no length of their own
    duration_s = film["duration_s"] if film else inf
    latest_s = duration_s + max(_LATE_S, _LATE_FRACTION * duration_s)
    for where, segment in _segments(document):
        start_s, end_s = segment["start_s"], segment["end_s"]
        if end_s < start_s or (end_s == start_s and "moments" not in where):
            yield f"{where}: ends at {end_s:g} s, but begins at {start_s:g} s"
        is_inside = start_s >= 0 and end_s <= latest_s
        if not is_inside and segment.get("evidence") != "speech":  # sound may begin earlier, and last longer
            yield f"{where}: lasts from {start_s:g} to {end_s:g} s, but the video has {duration_s:g} s"
        if segment.get("last_frame", 0) < segment.get("first_frame", 0):
            yield f"{where}: last_frame is before first_frame"
    if kind in ("shots", "chapters"):
        for number, (before, after) in enumerate(pairwise(document[kind]), 1):
            if before["end_s"] != after["start_s"]:
                yield f"{kind}[{number}]: does not begin where the {kind[:-1]} before it ends"


def _wrong_reel(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield sources without a path or with no time, and segments of none, or that a film cannot show."""
    for source in document["sources"]:
        yield from _wrong_path(source)
        try:
            datetime.fromisoformat(source["recorded"] or "2000-01-01")
        except ValueError:
            yield f"sources: {quote(source['recorded'])} is not a time"
    for where, segment in _segments(document):
        if segment["source"] >= len(document["sources"]):
            yield f"{where}: there is no source {segment['source']}"
            continue
        source, end_s = document["sources"][segment["source"]], segment["end_s"]
        if end_s <= segment["start_s"]:
            yield f"{where}: ends at {end_s:g} s, but begins at {segment['start_s']:g} s"
        longest_s = LONGEST_PHOTOGRAPH_S if source["kind"] == "photograph" else source["length_s"]
        if end_s > longest_s + _ROUNDED_S:
            yield f"{where}: ends at {end_s:g} s, but its source at {longest_s:g} s"
        if not segment["title"].isprintable():
            yield f"{where}: its title {quote(segment['title'])} is not one line"


def _segments(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the segments, shots and moments of a result, with their places."""
    names = ("segments", "removed", "shots", "chapters", "shorts", "moments", "descriptions", "lines")
    lists = {name: document[name] for name in names if name in document}
    for number, query in enumerate(document.get("queries", ())):
        lists[f"queries[{number}].moments"] = query["moments"]
    for name, items in lists.items():
        yield from ((f"{name}[{number}]", item) for number, item in enumerate(items))


def _wrong_curves(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield curves that do not have one score per time, or whose times do not increase."""
    times_s = document.get("timestamps_s", ())
    curves = {
        name: (document[name]["timestamps_s"], document[name]["scores"])
        for name in ("importance", "saliency")
        if name in document
    }
    for number, query in enumerate(document.get("queries", ())):
        curves[f"queries[{number}].saliency"] = times_s, query.get("saliency", ())
        curves[f"queries[{number}].said"] = times_s, query.get("said", times_s)
    for where, (times, scores) in curves.items():
        if len(times) != len(scores):
            yield f"{where}: has {len(scores)} scores for {len(times)} times"
        if any(later <= earlier for earlier, later in pairwise(times)):
            yield f"{where}: its times do not increase"
