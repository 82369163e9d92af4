"""Reading results back from files, which anyone may have edited."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.provenance import digest_of
from vidsum.results.cuts import Cutting
from vidsum.results.descriptions import Descriptions
from vidsum.results.documents import to_text
from vidsum.results.faults import RESULTS, fault_of, kind_of
from vidsum.results.feature_files import is_feature_file, read_features
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.result import Result
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.results.transcript import Transcript
from vidsum.text_files import read_json
from vidsum.video.playlist import HINT, PLAYLISTS

_CUTTING: dict[str, type[Cutting]] = {kind.kind: kind for kind in (Summary, Shots, Grounding, Highlights)}


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
    if not Path(path).exists():
        raise InputError(f"{os.fspath(path)}: no such file")
    try:
        document = read_record(path)
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error.message}") from error
    if not allow_playlists:
        refuse_playlist(document, path)
    kind = str(kind_of(document))
    if kind == Transcript.kind:
        return Transcript.from_dict(document)
    if kind == Descriptions.kind:
        return Descriptions.from_dict(document)
    if kind not in _CUTTING:
        raise InputError(f"{os.fspath(path)}: holds {kind}, not the result of a video")
    return result_of(document)


def result_of(document: Mapping[str, Any]) -> Cutting:
    """The result that a valid document of summarize, shots, ground or highlights describes."""
    return _CUTTING[str(kind_of(document))].from_dict(document)


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        InputError: the file cannot be read, is not a JSON object, or holds what no document does: NaN, or
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


def read_result(path: str | os.PathLike[str], *, allow_playlists: bool = False) -> Cutting:
    """The result in a document of summarize, shots, ground or highlights, as written or edited since.

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
    return result_of(document)


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
