"""Results as data: to JSON documents and back, to tables, to HTML for notebooks.

The methods `to_dict`, `save`, `to_pandas` and `_repr_html_` of results (`vidsum.types.Result`) are these
functions, and `load` is the way back.
"""

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from vidsum.errors import InputError, UsageError
from vidsum.features.store import is_feature_file, read_features, write_features
from vidsum.packages import pip_install
from vidsum.results.documents import (
    features_document,
    grounding_document,
    highlights_document,
    read_record,
    refuse_playlist,
    shots_document,
    summary_document,
    transcript_document,
    write_document,
)
from vidsum.speech.transcript import Transcript, segments_of
from vidsum.times import format_time
from vidsum.types import (
    Features,
    FloatArray,
    Grounding,
    Highlights,
    Moment,
    QueryMoments,
    Result,
    ScoredShot,
    Shots,
    Summary,
    TimeArray,
    VideoInfo,
)

if TYPE_CHECKING:
    from pandas import DataFrame

Document = Mapping[str, Any]
_ROWS = 20
"""Rows of a table in a notebook; the others are counted."""


def to_dict(result: Result) -> dict[str, Any]:
    """A result as JSON-ready data, curves included: what `write_json` writes."""
    if isinstance(result, Features):
        return features_document(result, with_arrays=True)
    if isinstance(result, Grounding):
        return grounding_document(result, with_saliency=True)
    if isinstance(result, Highlights):
        return highlights_document(result)
    if isinstance(result, Transcript):
        return transcript_document(result, with_words=True)
    return shots_document(result) if isinstance(result, Shots) else summary_document(cast("Summary", result))


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result as JSON; features as .npz or .h5.

    Raises:
        UsageError: the suffix is not .json, or not that of a feature file.
        OutputError: the file cannot be written.
    """
    if isinstance(result, Features):
        write_features(result, path)
    elif Path(path).suffix.lower() != ".json":
        raise UsageError(f"{os.fspath(path)}: must end in .json", hint="vidsum.write_video writes videos")
    else:
        write_json(result, path)


def write_json(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result as JSON, curves included: see docs/formats.md.

    Raises:
        OutputError: the file cannot be written.
    """
    write_document(to_dict(result), path)


def load(path: str | os.PathLike[str], *, allow_playlists: bool = False) -> Result:
    """The result in a file that vidsum wrote: JSON, or features.

    Moments written without their saliency (`vidsum ground` without `--saliency`) have empty curves.

    Args:
        path: the file.
        allow_playlists: its video may be a playlist of other files.

    Raises:
        InputError: the file is missing, was not written by vidsum, was changed since, or names a playlist.
    """
    if is_feature_file(os.fspath(path)):
        return read_features(path)
    try:
        document = read_record(path)
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error.message}") from error
    if not allow_playlists:
        refuse_playlist(document, path)
    kind = document["schema"].removeprefix("vidsum.").split("/")[0]
    if kind not in _READERS:
        raise InputError(f"{os.fspath(path)}: holds {kind}, not the result of a video")
    return _READERS[kind](document)


def to_pandas(result: Result) -> "DataFrame":
    """A table: shots of a summary, shots, moments of queries, highlights, segments of speech, or features by
    time.

    Raises UsageError where pandas is not installed.
    """
    try:
        from pandas import DataFrame, Index
    except ImportError as error:
        raise UsageError("pandas is not installed", hint=pip_install("pandas")) from error
    if isinstance(result, Features):
        return DataFrame(result.array, index=Index(result.timestamps, name="time_s"))
    return DataFrame(_rows(result))


def to_html(result: Result) -> str:
    """A heading and a table, for notebooks."""
    heading = f"<p>{escape(repr(result))}</p>"
    rows = [] if isinstance(result, Features) else _rows(result)
    if not rows:
        return heading
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(map(_cell, row.items()))}</tr>" for row in rows[:_ROWS])
    more = f"<p>… {len(rows) - _ROWS} more</p>" if len(rows) > _ROWS else ""
    return f"{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(item: tuple[str, Any]) -> str:
    name, value = item
    if isinstance(value, float):
        value = format_time(value) if name.endswith("_s") else f"{value:.3f}"
    return f"<td>{escape(str(value))}</td>"


def _rows(result: Result) -> list[dict[str, Any]]:
    """What a result consists of, one row each."""
    if isinstance(result, Summary):
        return [{**vars(shot)} for shot in result.shots]
    if isinstance(result, Shots):
        return [{"start_s": start, "end_s": end} for start, end in result.intervals]
    if isinstance(result, Highlights):
        return _ranked(result.moments)
    if isinstance(result, Transcript):
        return [
            {name: value for name, value in vars(segment).items() if name != "words"}
            for segment in result.segments
        ]
    return [
        {"query": one.query, "present": one.present, **row}
        for one in cast("Grounding", result).queries
        for row in _ranked(one.moments)
    ]


def _ranked(moments: Sequence[Moment]) -> list[dict[str, Any]]:
    return [{"rank": rank, **vars(moment)} for rank, moment in enumerate(moments, 1)]


def _summary(document: Document) -> Summary:
    return Summary(
        segments=tuple((one["start_s"], one["end_s"]) for one in document["segments"]),
        shots=tuple(ScoredShot(**shot) for shot in document["shots"]),
        importance=_scores(document["importance"]["scores"]),
        timestamps=_times(document["importance"]["timestamps_s"]),
        budget_s=document["budget"]["asked_s"],
        video_duration_s=document["duration_s"],
        video_fps=document["video"]["fps"] if document["video"] else 30.0,
        model=document["model"],
        model_reason=document["model_reason"],
        shot_method=document["shot_method"],
        **_common(document),
    )


def _shots(document: Document) -> Shots:
    shots = document["shots"]
    edges = [shots[0]["start_s"], *(shot["end_s"] for shot in shots)]
    return Shots(_times(edges), document["method"], video_fps=document["video_fps"], **_common(document))


def _grounding(document: Document) -> Grounding:
    times = _times(document.get("timestamps_s", []))
    return Grounding(
        queries=tuple(
            QueryMoments(
                one["query"],
                _moments(one["moments"]),
                _scores(one.get("saliency", [])),
                one.get("present"),
                _scores(one["said"]) if "said" in one else None,
                {**one["spoken"], "text": one["query"]} if "spoken" in one else None,
            )
            for one in document["queries"]
        ),
        timestamps=times,
        step_s=float(times[1] - times[0]) if len(times) > 1 else document["duration_s"],
        video_duration_s=document["duration_s"],
        model=document["model"],
        space=document["space"],
        evidence=document.get("evidence", "seen"),
        **_common(document),
    )


def _highlights(document: Document) -> Highlights:
    return Highlights(
        saliency=_scores(document["saliency"]["scores"]),
        timestamps=_times(document["saliency"]["timestamps_s"]),
        clip_s=document["clip_s"],
        moments=_moments(document["moments"]),
        video_duration_s=document["duration_s"],
        model=document.get("model", ""),
        model_reason=document.get("model_reason", ""),
        **_common(document),
    )


def _transcript(document: Document) -> Transcript:
    return Transcript(
        segments=segments_of([{"words": (), **segment} for segment in document["segments"]]),
        language=document["language"],
        language_probability=document["language_probability"],
        duration_s=document["duration_s"],
        translated=document["translated"],
        **_common(document),
    )


_READERS = {
    "summary": _summary,
    "shots": _shots,
    "moments": _grounding,
    "highlights": _highlights,
    "transcript": _transcript,
}


def _common(document: Document) -> dict[str, Any]:
    video = VideoInfo(**document["video"]) if document["video"] else None
    return {"video": video, "provenance": document["provenance"], "warnings": tuple(document["warnings"])}


def _moments(found: Sequence[Document]) -> tuple[Moment, ...]:
    return tuple(
        Moment(one["start_s"], one["end_s"], one["score"], one.get("evidence", "seen")) for one in found
    )


def _scores(values: Sequence[float]) -> FloatArray:
    return np.array(values, np.float32)


def _times(values: Sequence[float]) -> TimeArray:
    return np.array(values, np.float64)
