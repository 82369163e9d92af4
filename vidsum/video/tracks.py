"""The tracks of a file, and the one of each kind that is read: FFmpeg's choice, or the user's."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import av
from av.stream import Disposition, Stream

from vidsum.errors import InputError
from vidsum.types import TrackChoice

PathLike = str | os.PathLike[str]
TrackKind = Literal["video", "audio"]

_COVERS = Disposition.attached_pic | Disposition.timed_thumbnails
_DEFAULT_SCORE = 5_000_000  # that FFmpeg adds for the flag `default` (`map_auto_video`)
_LANGUAGES = Path(__file__).with_name("languages.txt")  # the codes of a language in ISO 639 on each line


def list_tracks(container: av.container.InputContainer, kind: TrackKind) -> list[Any]:
    """List the streams of a kind in the order of the file, without covers and thumbnails."""
    return [stream for stream in getattr(container.streams, kind) if not stream.disposition & _COVERS]


def choose_track(
    container: av.container.InputContainer, name: PathLike, kind: TrackKind, choice: TrackChoice = None
) -> Any:
    """Choose the stream of a kind to read; None where the file has none.

    Without a choice (a number from 1, or a language) it is the one that `ffmpeg -i` maps: the flag `default`
    counts most, then pixels or channels; the first of equals. Tracks that are empty or that FFmpeg cannot
    decode come last. `name` is what errors call the file. Raises InputError: it has no such track.
    """
    tracks = list_tracks(container, kind)
    fitting = [
        track
        for number, track in enumerate(tracks, 1)
        if choice is None or str(choice) == str(number) or _is_in(track, str(choice))
    ]
    if choice is not None and not fitting:
        raise InputError(
            f"has no {kind} track {choice}; it has {_format_tracks(tracks) or 'none'}", subject=name
        )
    return max(fitting, key=_score, default=None)


def track_number(container: av.container.InputContainer, track: Stream | None) -> int | None:
    """Return the number of a track among tracks of its kind; None where there is no other."""
    tracks = list_tracks(container, "audio" if isinstance(track, av.AudioStream) else "video")
    return tracks.index(track) + 1 if track and len(tracks) > 1 else None


def codec_name(track: Any) -> str:
    return str(track.codec_context.codec.canonical_name) if track.codec_context else "unknown"


def describe_choice(container: av.container.InputContainer, kind: TrackKind, number: int) -> str:
    """Return a message on the track that is used in place of others."""
    tracks = list_tracks(container, kind)
    used = f"used {kind} track {number} of {len(tracks)} ({_label(tracks[number - 1])})"
    return f"{used}; others: {_format_tracks(tracks, besides=number)}"


def _format_tracks(tracks: Sequence[Any], besides: int = 0) -> str:
    return ", ".join(f"{n} {_label(track)}" for n, track in enumerate(tracks, 1) if n != besides)


def _label(track: Any) -> str:
    title = track.metadata.get("title")
    return f"{track.language or 'und'}{f' {title!r}' if title else ''}"


def describe_tracks(container: av.container.InputContainer, used: Sequence[Stream]) -> list[dict[str, Any]]:
    """List what is known of each track; those that are `used` are marked."""
    facts = []
    for kind in get_args(TrackKind):
        for number, track in enumerate(list_tracks(container, kind), 1):
            codec = track.codec_context
            sizes = ("width", "height") if kind == "video" else ("channels", "sample_rate")
            facts.append(
                {
                    "kind": kind,
                    "number": number,
                    "chosen": track in used,
                    "codec": codec_name(track),
                    **{name: getattr(codec, name, None) for name in sizes},
                    "language": track.language,
                    "title": track.metadata.get("title"),
                    "flags": [flag.name for flag in Disposition if track.disposition & flag],
                }
            )
    return facts


def _score(track: Any) -> tuple[bool, int]:
    """Rate a track as FFmpeg does (fftools, `map_auto_video` and `map_auto_audio`)."""
    codec = track.codec_context
    if codec is None:
        return False, 0
    size = codec.width * codec.height if track.type == "video" else codec.channels
    # a Matroska file declares empty tracks, as where a recorder had no input
    lengths = [text for name, text in track.metadata.items() if name.upper().startswith("DURATION")]
    is_empty = bool(lengths) and not lengths[0].strip("0:.")
    return not is_empty, size + _DEFAULT_SCORE * bool(track.disposition & Disposition.default)


def language_code(tag: str | None) -> str | None:
    """Return the code of two letters of a language, such as `en` of `eng` or `en-GB`; None: not known."""
    language = _primary(tag or "")
    lines = _LANGUAGES.read_text(encoding="utf-8").splitlines()
    return next((codes.split()[0] for codes in lines if language in codes.split()), None)


def _is_in(track: Any, language: str) -> bool:
    """Return whether a track is in a language, which may be given by any of its codes."""
    spoken, wanted = track.language or "und", language
    return _primary(spoken) == _primary(wanted) or language_code(spoken) == language_code(wanted) is not None


def _primary(tag: str) -> str:
    """Return the language of a tag, without region and script."""
    return re.split("[-_]", tag.lower())[0]
