"""Subtitles of a video in place of a transcript: a file, by default of the video's name, or a track in it.

Their words have no times: what is cut by them is cut at the ends of cues.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, Mention, VidsumError
from vidsum.features.settings import Extraction
from vidsum.io.output_lists import outputs_in
from vidsum.io.provenance import identify_file
from vidsum.io.text import read_text
from vidsum.pipelines.plan import Plan
from vidsum.results.cached import find_cached, store_cached
from vidsum.results.clock import shift_times, to_player_time
from vidsum.results.cut_list import Cutting, cuts_of
from vidsum.results.load import load
from vidsum.results.summary import Summary
from vidsum.results.transcript import Segment, Transcript
from vidsum.times import Cue, find_empty_times, find_unread_times, format_time, parse_cues, parse_subtitles
from vidsum.types import Progress, VideoInfo
from vidsum.version import __version__
from vidsum.video.probe import start_offset_s
from vidsum.video.subtitle_tracks import choose_subtitle_track, read_subtitle_track, sound_language
from vidsum.video.tracks import language_code

_SUFFIXES = (".srt", ".vtt")
_RACY_NS = 2_000_000_000  # a folder that changed so lately may change again within a tick of its clock
_MAX_LINES = 5  # that a warning names; it counts the others
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
        text = read_text(source.path)
        cues = shift_times(parse_subtitles(text), -start_offset_s(video))
        transcript = _to_transcript(cues, source, video, provenance)
        transcript = replace(transcript, warnings=_describe_faulty(source.path, text))
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


def read_cues(path: Path) -> list[Cue]:
    """Return the cues of SubRip or WebVTT that people made for vidsum. Raises InputError: it misses one."""
    text = read_text(path)
    cues, faulty = parse_cues(text), find_unread_times(text)
    if cues and faulty:
        raise InputError(f"line {faulty[0]} does not hold the times of a cue", subject=path)
    return cues


def _describe_faulty(path: Path, text: str) -> tuple[str, ...]:
    """Return a warning of lines that do not hold the times of a cue."""
    lines = sorted([*find_unread_times(text), *find_empty_times(text)])
    if not lines:
        return ()
    named = ", ".join(map(str, lines[:_MAX_LINES]))
    more = f" and {len(lines) - _MAX_LINES} more" if len(lines) > _MAX_LINES else ""
    place, cues = ("line", "its cue is") if len(lines) == 1 else ("lines", "their cues are")
    return (f"{path.name}, {place} {named}{more}: no valid times; {cues} left out",)


def _files_of_name(video: Path) -> list[tuple[Path, str | None]]:
    """Return the files of subtitles with the name of a video and their languages, plain names first.

    Names are `film.srt` and `film.en.vtt`, with words such as `sdh`. Forced subtitles are left out, and what
    vidsum wrote.
    """
    named = list[tuple[int, Path, str | None]]()
    names = [*_names_from(video.parent, f"{video.stem}.")]
    for name in names:
        stem, suffix = os.path.splitext(name)  # noqa: PTH122
        if suffix.lower() not in _SUFFIXES:
            continue
        words = stem[len(video.stem) + 1 :].lower().split(".") if stem != video.stem else []
        codes = [code for word in words if word not in _FLAGS and (code := language_code(word))]
        is_plain = len(codes) <= 1 and all(word in _FLAGS or language_code(word) for word in words)
        if is_plain and not _is_of_vidsum(video.with_name(name), video):
            named.append((len(words), video.with_name(name), codes[0] if codes else None))
    return [(path, code) for _, path, code in sorted(named, key=lambda file: file[0])]


def _names_from(folder: Path, start: str) -> Iterator[str]:
    """Yield the names in a folder, in order, of subtitles and JSON files that begin with a text."""
    try:
        mtime_ns = folder.stat().st_mtime_ns
        is_racy = time.time_ns() - mtime_ns < _RACY_NS
        names = (_list_folder.__wrapped__ if is_racy else _list_folder)(folder, mtime_ns)
    except OSError:  # the folder may be used, but not listed
        return
    first = bisect_left(names, start)
    yield from takewhile(lambda name: name.startswith(start), names[first:])


@lru_cache(maxsize=8)
def _list_folder(folder: Path, mtime_ns: int) -> list[str]:
    """Return the names of subtitles and JSON files, in order: a batch asks for each video of a folder."""
    names = os.listdir(folder)  # noqa: PTH208  # quicker in large folders
    return sorted(name for name in names if name.lower().endswith((*_SUFFIXES, ".json")))


def _is_of_vidsum(path: Path, video: Path) -> bool:
    """Return whether vidsum wrote a file that is no speech of the video. Records have the video's name too.

    `transcribe` wrote words whose times are in the cache, unless somebody corrected them. An export is known
    by its times, even if its texts were edited: it may number shots, or have the times of another film. The
    subtitles of a summary are speech of the MP4 that the same record lists.
    """
    sha256 = identify_file(path)["sha256"]
    for name in _names_from(video.parent, video.stem):
        outputs = outputs_in([video.with_name(name)]) if name.endswith(".json") else {}
        if path.name not in outputs:
            continue
        is_unchanged = sha256 in outputs[path.name]
        try:
            result = load(video.with_name(name))
        except VidsumError:
            result = None
        if isinstance(result, Cutting) and _is_export(path, result):
            return True
        if is_unchanged and not (isinstance(result, Summary) and video.name in outputs):
            return True
    return False


def _is_export(path: Path, result: Cutting) -> bool:
    """Return whether all cues of a file have the times of cuts of a result."""

    def in_ms(start_s: float, end_s: float) -> tuple[int, int]:
        return round(1000 * start_s), round(1000 * end_s)

    spans = {in_ms(cut.start_s, cut.end_s) for cut in cuts_of(to_player_time(result))}
    cues = parse_subtitles(read_text(path))
    return bool(cues) and all(in_ms(start_s, end_s) in spans for start_s, end_s, _ in cues)


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
