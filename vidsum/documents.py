"""The JSON documents that vidsum writes: summaries, shots, moments, highlights, transcripts; see schemas/.

The same inputs give the same bytes: nothing in a document depends on when or where it was made. Each ends
with a digest of the rest, so that one which was changed since is not taken for what vidsum wrote.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from vidsum.document_faults import RESULTS, fault_of, kind_of
from vidsum.errors import InputError
from vidsum.features.arrays import metadata_of
from vidsum.outputs import as_utf8, atomic_write
from vidsum.provenance import digest_of
from vidsum.speech.transcript import Transcript, segments_data
from vidsum.text_files import read_json
from vidsum.types import (
    Features,
    Grounding,
    Highlights,
    Interval,
    Moment,
    QueryMoments,
    ScoredShot,
    Shots,
    Summary,
    VideoInfo,
)
from vidsum.video.playlist import HINT, PLAYLISTS

SUMMARY_SCHEMA = "vidsum.summary/1"
SHOTS_SCHEMA = "vidsum.shots/1"
MOMENTS_SCHEMA = "vidsum.moments/1"
HIGHLIGHTS_SCHEMA = "vidsum.highlights/1"
TRANSCRIPT_SCHEMA = "vidsum.transcript/1"

_CONTROL = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What JSON lets through, but a terminal may act upon: names of files may hold it."""

_DECIMALS = 6  # microseconds, and more than float32 scores resolve


def features_document(features: Features, *, with_arrays: bool) -> dict[str, Any]:
    """Features as JSON-ready data: what they are, and the numbers too where asked for."""
    document = {**metadata_of(features), "shape": list(features.array.shape)}
    if with_arrays:
        document["timestamps_s"] = [_number(time) for time in features.timestamps.tolist()]
        document["features"] = features.array.tolist()
        document["logits"] = None if features.logits is None else features.logits.tolist()
    return document


def summary_document(summary: Summary) -> dict[str, Any]:
    """A summary as JSON-ready data."""
    return sealed(
        {
            "schema": SUMMARY_SCHEMA,
            "provenance": dict(summary.provenance),
            "video": _video(summary.video),
            "duration_s": _number(summary.video_duration_s),
            "budget": {
                "asked_s": _number(summary.budget_s),
                "used_s": _number(summary.duration_s),
                "used_share": _number(summary.duration_s / summary.video_duration_s),
            },
            "model": summary.model,
            "model_reason": summary.model_reason,
            "shot_method": summary.shot_method,
            "segments": [_interval(segment) for segment in summary.segments],
            "shots": [_scored_shot(shot) for shot in summary.shots],
            "importance": {
                "timestamps_s": [_number(time) for time in summary.timestamps.tolist()],
                "scores": [_number(score) for score in summary.importance.tolist()],
            },
            "warnings": list(summary.warnings),
        }
    )


def shots_document(shots: Shots) -> dict[str, Any]:
    """Shots as JSON-ready data."""
    return sealed(
        {
            "schema": SHOTS_SCHEMA,
            "provenance": dict(shots.provenance),
            "video": _video(shots.video),
            "method": shots.method,
            "video_fps": _number(shots.video_fps),
            "shots": [
                {**_interval(interval), "first_frame": int(first), "last_frame": int(last)}
                for interval, (first, last) in zip(shots.intervals, shots.change_points, strict=True)
            ],
            "warnings": list(shots.warnings),
        }
    )


def grounding_document(grounding: Grounding, *, with_saliency: bool) -> dict[str, Any]:
    """The moments of queries as JSON-ready data."""
    document: dict[str, Any] = {
        "schema": MOMENTS_SCHEMA,
        "provenance": dict(grounding.provenance),
        "video": _video(grounding.video),
        "duration_s": _number(grounding.video_duration_s),
        "model": grounding.model,
        "space": grounding.space,
        **({} if grounding.evidence == "seen" else {"evidence": grounding.evidence}),
        "queries": [_query(one, with_saliency) for one in grounding.queries],
        "warnings": list(grounding.warnings),
    }
    if with_saliency:
        document["timestamps_s"] = [_number(time) for time in grounding.timestamps.tolist()]
    return sealed(document)


def highlights_document(highlights: Highlights) -> dict[str, Any]:
    """Highlights as JSON-ready data."""
    return sealed(
        {
            "schema": HIGHLIGHTS_SCHEMA,
            "provenance": dict(highlights.provenance),
            "video": _video(highlights.video),
            "duration_s": _number(highlights.video_duration_s),
            "clip_s": _number(highlights.clip_s),
            "model": highlights.model,
            "model_reason": highlights.model_reason,
            "saliency": {
                "timestamps_s": [_number(time) for time in highlights.timestamps.tolist()],
                "scores": [_number(score) for score in highlights.saliency.tolist()],
            },
            "moments": [_moment(moment) for moment in highlights.moments],
            "warnings": list(highlights.warnings),
        }
    )


def transcript_document(transcript: Transcript, *, with_words: bool) -> dict[str, Any]:
    """A transcript as JSON-ready data."""
    segments = segments_data(transcript.segments)
    if not with_words:
        for segment in segments:
            del segment["words"]
    return sealed(
        {
            "schema": TRANSCRIPT_SCHEMA,
            "provenance": dict(transcript.provenance),
            "video": _video(transcript.video),
            "duration_s": _number(transcript.duration_s),
            "language": transcript.language,
            "language_probability": _optional(transcript.language_probability),
            "translated": transcript.translated,
            "segments": segments,
            "warnings": list(transcript.warnings),
        }
    )


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with the digest of the rest of it, which `read_record` checks."""
    return {**document, "digest": digest_of(document)}


def to_text(document: Mapping[str, Any], *, in_a_line: bool = False) -> str:
    """A document as the text of a file, or as one of the lines of a JSON lines file."""
    layout: dict[str, Any] = {"separators": (",", ":")} if in_a_line else {"indent": 1}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, **layout)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", as_utf8(text)) + "\n"


def write_document(document: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a document as UTF-8 JSON.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_write(path) as part:
        part.write_text(to_text(document), encoding="utf-8")


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        InputError: the file cannot be read, holds no JSON object, or holds what no document does: NaN, or
            lists in lists that cannot be written again.
    """
    document = read_json(path)
    if not isinstance(document, dict):
        raise InputError(f"{os.fspath(path)}: not a JSON object")
    try:
        to_text(document)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{os.fspath(path)}: holds infinite numbers, or is nested too deep") from error
    return document


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A document that vidsum wrote and nobody changed since.

    Raises:
        InputError: it is missing, of no schema that is known, its digest does not fit, or see `fault_of`.
            The message does not name the file.
    """
    unknown = InputError("is not known to be made by vidsum")
    try:
        document = read_document(path)
    except InputError:
        raise unknown from None
    if kind_of(document) is None:
        raise unknown
    rest = {name: value for name, value in document.items() if name != "digest"}
    is_whole = isinstance(document.get("provenance"), dict) and document.get("digest") == digest_of(rest)
    if not is_whole or fault_of(document) is not None:
        raise InputError("was edited after vidsum wrote it, or written by another version")
    return document


def read_result(path: str | os.PathLike[str], *, allow_playlists: bool = False) -> dict[str, Any]:
    """A document of summarize, shots, ground or highlights, as vidsum wrote it or edited since.

    Raises:
        InputError: it cannot be read, is a document of another kind, or see `fault_of` and
            `refuse_playlist`.
    """
    document = read_document(path)
    if kind_of(document) not in RESULTS:
        raise InputError(
            f"{os.fspath(path)}: not a result of summarize, shots, ground or highlights",
            hint="give the JSON file that one of these wrote",
        )
    if fault := fault_of(document):
        raise InputError(f"{os.fspath(path)}: {fault}", hint="undo the edit, or run the command again")
    if not allow_playlists:
        refuse_playlist(document, path)
    return document


def refuse_playlist(document: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Raise an InputError where the video of a document is a playlist: a document may come from anybody, and
    must not make FFmpeg open the files that a playlist names.
    """
    if names_playlist(document):
        raise InputError(f"{os.fspath(path)}: was made from a playlist of other files", hint=HINT)


def names_playlist(document: Mapping[str, Any]) -> bool:
    """Whether the video of a document is a playlist of others, by what the document says."""
    video = document.get("video")
    return isinstance(video, Mapping) and video.get("container") in PLAYLISTS


def _number(value: float) -> float:
    return round(float(value), _DECIMALS)


def _optional(value: float | None) -> float | None:
    return None if value is None else _number(value)


def _interval(interval: Interval) -> dict[str, float]:
    return {"start_s": _number(interval[0]), "end_s": _number(interval[1])}


def _query(one: QueryMoments, with_saliency: bool) -> dict[str, Any]:
    present = _optional(one.present)
    moments: list[dict[str, Any]] = [_moment(moment) for moment in one.moments]
    if one.said is not None:
        moments = [
            {**each, "evidence": moment.evidence} for each, moment in zip(moments, one.moments, strict=True)
        ]
    document: dict[str, Any] = {"query": one.query, "present": present, "moments": moments}
    if one.spoken is not None:
        document["spoken"] = {name: value for name, value in one.spoken.items() if name != "text"}
    if with_saliency:
        document["saliency"] = [_number(value) for value in one.saliency.tolist()]
        if one.said is not None:
            document["said"] = [_number(value) for value in one.said.tolist()]
    return document


def _moment(moment: Moment) -> dict[str, float]:
    return {**_interval((moment.start_s, moment.end_s)), "score": _number(moment.score)}


def _scored_shot(shot: ScoredShot) -> dict[str, Any]:
    times = _interval((shot.start_s, shot.end_s))
    return {**times, "score": _number(shot.score), "selected": shot.selected}


def _video(video: VideoInfo | None) -> dict[str, Any] | None:
    return None if video is None else asdict(video)
