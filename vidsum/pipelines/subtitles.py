"""Subtitles of a video in place of a transcript: a file, by default of the video's name, or a track in it.

Their words have no times: what is cut by them is cut at the ends of cues.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, Mention
from vidsum.features.settings import Extraction
from vidsum.io.output_lists import outputs_in
from vidsum.io.provenance import identify_file
from vidsum.io.text import read_text
from vidsum.pipelines.plan import Plan
from vidsum.results.cached import find_cached, store_cached
from vidsum.results.clock import shift_times
from vidsum.results.transcript import Segment, Transcript
from vidsum.times import Cue, format_time, parse_subtitles
from vidsum.types import Progress, VideoInfo
from vidsum.version import __version__
from vidsum.video.probe import start_offset_s
from vidsum.video.subtitle_tracks import choose_subtitle_track, read_subtitle_track, sound_language
from vidsum.video.tracks import language_code

_SUFFIXES = (".srt", ".vtt")
_FLAGS = ("default", "cc", "sdh")  # words in names, besides languages; others, as `forced`, are refused
_NOTE = re.compile(r"[\[(][^\])]*[\])]|[\s♪♫]+")  # a cue that says what is heard, such as [applause]


@dataclass(frozen=True)
class SubtitleSource:
    """The subtitles that are the transcript of a video."""

    facts: dict[str, Any]  # as a provenance has them; see `vidsum.results.provenance_types.Subtitles`
    path: Path | None = None
    track: int | None = None  # number of a track of the video, in place of a path

    @property
    def language(self) -> str | None:
        """Code of their language; None where neither name nor tracks say it."""
        return self.facts.get("language")

    @property
    def digest(self) -> str:
        """SHA-256 of the file, or of a name of the track."""
        return str(self.facts.get("sha256") or hashlib.sha256(f"track {self.track}".encode()).hexdigest())


def find_subtitles(path: str | os.PathLike[str], extraction: Extraction) -> SubtitleSource | None:
    """Return the subtitles that are chosen, or that have the name of a video; None without any.

    Raises InputError: a chosen file cannot be read, or there is no such track.
    """
    if extraction.subtitles == "none":
        return None
    if extraction.subtitles == "track":
        track = choose_subtitle_track(path, extraction.audio_track)
        facts = {"subtitles": f"track {track.number}", **_language_fact(track.language)}
        return SubtitleSource(facts, track=track.number)
    if extraction.subtitles is not None:
        file = Path(extraction.subtitles)
        named = [(file, _language_in(file.stem))]
    else:
        named = _files_of_name(Path(path))
    if not named:
        return None
    spoken = sound_language(path, extraction.audio_track)
    chosen = named[0] if extraction.subtitles else _choose(named, spoken)
    if chosen is None:
        return None
    file, language = chosen[0], chosen[1] or spoken
    facts = {"subtitles": file.name, "sha256": identify_file(file)["sha256"], **_language_fact(language)}
    return SubtitleSource(facts, file)


def _language_fact(language: str | None) -> dict[str, str]:
    return {"language": language} if language else {}


def plan_subtitles(video: VideoInfo, extraction: Extraction) -> Plan[Transcript] | None:
    """Plan a transcript of the subtitles of a video; None where it has none.

    Its segments are cues, whose words have no times. A file is read here, a track when the plan runs. Raises
    InputError: see `find_subtitles`; or they are not SubRip or WebVTT, or no cue is within the video.
    """
    source = find_subtitles(video.path, extraction)
    if source is None:
        return None
    audio = {"audio_track": video.audio_track} if video.audio_track else {}
    about = {**identify_file(Path(video.path)), **audio}
    provenance: dict[str, Any] = {"vidsum": __version__, "video": about, "speech": source.facts}
    if source.path is not None:
        cues = shift_times(parse_subtitles(read_text(source.path)), -start_offset_s(video))
        transcript = _to_transcript(cues, source, video, provenance)
        return Plan(provenance, lambda progress: transcript)
    return Plan(provenance, partial(_read_track, source, video, provenance, extraction))


def _read_track(
    source: SubtitleSource,
    video: VideoInfo,
    provenance: dict[str, Any],
    extraction: Extraction,
    progress: Progress | None,
) -> Transcript:
    """Return the transcript of a track, from the cache if it is there: a track lies across the whole file."""
    if extraction.cache and (known := find_cached(Transcript, provenance)):
        return replace(known, video=video)
    if progress:
        progress("reading subtitles", 0, 0)
    assert source.track is not None
    cues = shift_times(read_subtitle_track(video.path, source.track), -video.start_s)
    transcript = _to_transcript(cues, source, video, provenance)
    if extraction.cache:
        store_cached(transcript)
    return transcript


def _to_transcript(
    cues: Sequence[Cue], source: SubtitleSource, video: VideoInfo, provenance: dict[str, Any]
) -> Transcript:
    """Return cues, in seconds from the first picture, as a transcript. Raises InputError: none is of it."""
    place, hint = source.path or video.path, Mention("subtitles", "none")
    name = "" if source.path else f"subtitle {source.facts['subtitles']} "
    if not cues:
        raise InputError(f"{name}has no cue of SubRip or WebVTT", hint=hint, subject=place)
    said = [
        Segment(start_s, min(end_s, video.duration_s), text, 1.0, 0.0)
        for start_s, end_s, text in cues
        if start_s < min(end_s, video.duration_s) and not _NOTE.fullmatch(text)
    ]
    if not said:
        fault = f"{name}has no speech within the {format_time(video.duration_s)} of the video"
        raise InputError(fault, hint=hint, subject=place)
    return Transcript(
        segments=tuple(said),
        language=source.language,
        language_probability=1.0 if source.language else None,
        duration_s=video.duration_s,
        video=video,
        provenance=provenance,
    )


def _files_of_name(video: Path) -> list[tuple[Path, str | None]]:
    """Return the files of subtitles with the name of a video and their languages, plain names first.

    Names are `film.srt` and `film.en.vtt`, with words such as `sdh`. Forced subtitles are left out, and what
    vidsum wrote.
    """
    named = list[tuple[int, Path, str | None]]()
    try:
        names = sorted(os.listdir(video.parent))  # noqa: PTH208  # quicker in large folders
    except OSError:  # the folder may be used, but not listed
        return []
    for name in names:
        stem, suffix = os.path.splitext(name)  # noqa: PTH122
        if suffix.lower() not in _SUFFIXES or not f"{stem}.".startswith(f"{video.stem}."):
            continue
        words = stem[len(video.stem) + 1 :].lower().split(".") if stem != video.stem else []
        codes = [code for word in words if word not in _FLAGS and (code := language_code(word))]
        is_plain = len(codes) <= 1 and all(word in _FLAGS or language_code(word) for word in words)
        if is_plain and not _is_of_vidsum(video.with_name(name), video.stem):
            named.append((len(words), video.with_name(name), codes[0] if codes else None))
    return [(path, code) for _, path, code in sorted(named, key=lambda file: file[0])]


def _is_of_vidsum(path: Path, stem: str) -> bool:
    """Return whether vidsum wrote a file: `transcribe`, whose words have times in the cache, or an export.

    An export may number shots, or have the times of another film. Records have the stem of the video too.
    """
    listed = outputs_in(path.parent.glob(f"{glob.escape(stem)}*.json")).get(path.name, set())
    return bool(listed) and identify_file(path)["sha256"] in listed


def _choose(named: Sequence[tuple[Path, str | None]], spoken: str | None) -> tuple[Path, str | None] | None:
    """Return the file in the language of the sound, else one whose name has none; None: all are in others.

    Where the sound has no language either, one language that all names have is taken for it.
    """
    order = [spoken, None] if spoken else [None]
    for language in order:
        if fitting := [file for file in named if file[1] == language]:
            return fitting[0]
    languages = {code for _, code in named}
    return named[0] if spoken is None and len(languages) == 1 else None


def _language_in(stem: str) -> str | None:
    """Return the language at the end of a name such as `film.en`, maybe ahead of words such as `sdh`."""
    _, *words = stem.lower().split(".")
    return next((code for word in reversed(words) if (code := language_code(word))), None)
