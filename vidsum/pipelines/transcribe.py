"""Transcribe a video or a recording: plan (what the transcript depends on), then run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from vidsum import checkpoints
from vidsum.device import returning_blocks, trimming
from vidsum.errors import InputError, Mention, UsageError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import identify_file
from vidsum.io.text import read_stdin
from vidsum.options import from_keywords, without_defaults
from vidsum.pipelines.keywords import SpeechOptions
from vidsum.pipelines.plan import Plan
from vidsum.pipelines.sources import source_path
from vidsum.results.cached import find_cached, store_cached
from vidsum.results.clock import shift_times, to_player_time
from vidsum.results.sentences import SHORTEST_S
from vidsum.results.transcript import SpokenQuery, Transcript, language_changes
from vidsum.speech.recognize import (
    CHECKPOINT,
    LANGUAGES,
    MIN_LANGUAGE_PROBABILITY,
    load_recognizer,
    recognizer_rules,
    split_at_pauses,
    transcribe_windows,
)
from vidsum.speech.settings import Transcription
from vidsum.speech.voice import RATE, find_speech, pack_windows
from vidsum.times import format_time
from vidsum.types import FloatArray, Interval, Progress, TrackChoice, VideoInfo
from vidsum.version import __version__
from vidsum.video.damage import CANCELLED, DecodeLog
from vidsum.video.listen import SoundInfo, describe_used, lead_in_s, probe_sound, read_sound
from vidsum.video.probe import start_offset_s

_BLOCK_S = 30.0  # sound that is in memory at once
_NO_SPEECH = "no speech found"
_MAX_NAMED = 3  # changes of language, or times, that a warning names; it counts the others
_MAX_QUERY_S = 60.0
_MIN_CONFIDENCE = 0.37  # Whisper's own bound: a mean log-probability of -1
_MAX_NO_SPEECH = 0.6  # Whisper's own bound too


def transcribe(
    path: str | os.PathLike[str],
    language: str | None = None,
    *,
    device: str = "auto",
    cache: bool = True,
    audio_track: TrackChoice = None,
    progress: Progress | None = None,
    **options: Unpack[SpeechOptions],
) -> Transcript:
    """Transcribe speech in a video or audio file, of any length.

    Args:
        path: any file with sound that FFmpeg reads, or a `Video`.
        language: code of the spoken language (`en`, `de` ...); by default it is detected
            in every half minute of speech.
        device: `cpu`, `cuda` or `cuda:N`; `auto` is the CPU.
        cache: read and keep the transcript in the cache.
        audio_track: number or language (`eng`, `de`) of the audio track; FFmpeg's choice by default.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: other fields of `vidsum.speech.settings.Transcription`: `translate=True`.

    Returns segments of speech with their words and times; none if nothing is said. Raises InputError: the
    file cannot be read, or has no sound. WeightsError: the weights are missing and cannot be fetched.
    UsageError: the language is unknown.
    """
    settings = from_keywords(transcribe, Transcription, {"language": language, **options})
    extraction = Extraction(device=device, cache=cache, audio_track=audio_track)
    return plan_transcript(path, settings, extraction).run(progress)


def plan_transcript(
    path: str | os.PathLike[str],
    settings: Transcription,
    extraction: Extraction,
    video: VideoInfo | None = None,
) -> Plan[Transcript]:
    """Plan a transcript: the file is hashed and, unless `video` is known, probed. Errors: `transcribe`."""
    if settings.language is not None and settings.language not in LANGUAGES:
        hint = ("give a code such as en, de or fr; without ", Mention("language"), " it is detected")
        raise UsageError(f"unknown language {settings.language!r}", hint, option="language")
    sound = probe_sound(source_path(path), video, extraction.audio_track)
    source = {**identify_file(sound.path), **({"audio_track": sound.track} if sound.track else {})}
    provenance = _transcript_provenance(source, settings, extraction.device, sound.ahead_s)

    def make(progress: Progress | None) -> Transcript:
        transcript, warnings = find_cached(Transcript, provenance) if extraction.cache else None, list[str]()
        if transcript is None:
            transcript, n_damaged = _recognize(sound, settings, extraction.device, progress)
            transcript = replace(transcript, provenance=provenance)
            warnings = describe_damage(n_damaged)  # which must come every time
            if extraction.cache and not warnings:
                store_cached(transcript)
        warnings = [*describe_used(sound.path, "audio", sound.track), *warnings, *_warnings(transcript)]
        return replace(transcript, video=sound.video, warnings=tuple(warnings))

    return Plan(provenance, make)


def to_english(
    transcript: Transcript,
    path: str | os.PathLike[str],
    extraction: Extraction,
    progress: Progress | None = None,
) -> Transcript:
    """Return a transcript of a file in English, the language of queries, given its transcript."""
    if not _needs_translation(transcript):
        return transcript
    plan = plan_transcript(path, Transcription(translate=True), extraction, transcript.video)
    return _doubt_alike(plan.run(progress), transcript)


def _needs_translation(transcript: Transcript) -> bool:
    """Return whether some of what was understood is not in English."""
    return not set(transcript.languages) <= {"en"} and bool(transcript.trusted.segments)


def _doubt_alike(translated: Transcript, original: Transcript) -> Transcript:
    """Return a translation, which sounds surer than it is, as uncertain as the original is throughout."""
    spans = [(run[0].start_s, run[-1].end_s) for run in original.doubtful]
    segments = tuple(
        replace(part, uncertain=True)
        if any(low <= (part.start_s + part.end_s) / 2 <= high for low, high in spans)
        else part
        for part in translated.segments
    )
    return replace(translated, segments=segments)


def find_transcript(
    source: Mapping[str, Any], extraction: Extraction, offset_s: float, *, english: bool = False
) -> Transcript | None:
    """Return a transcript, or that in English, if it is in the cache.

    `source` is what `vidsum.io.provenance.identify_file` returns, with the audio track if it is not the only
    one; `offset_s` is the time of the first picture in its container.
    """
    if not extraction.cache:
        return None
    identify = partial(_transcript_provenance, source, device=extraction.device, offset_s=offset_s)
    cached = find_cached(Transcript, identify(settings=Transcription()))
    if not english or cached is None or not _needs_translation(cached):
        return cached
    translated = find_cached(Transcript, identify(settings=Transcription(translate=True)))
    return translated and _doubt_alike(translated, cached)


def _recognize(
    sound: SoundInfo, settings: Transcription, device: str, progress: Progress | None
) -> tuple[Transcript, int]:
    model, log = load_recognizer(device, progress), DecodeLog()
    with returning_blocks():
        # before each: what the last one leaves, and the detector, would add to what Whisper needs
        windows = trimming(
            pack_windows(find_speech(read_blocks(sound, log, progress, -sound.ahead_s))), every_s=0.0
        )
        recognized = transcribe_windows(
            model, windows, settings.language, translate=settings.translate, verbatim=settings.verbatim
        )
    segments = tuple(split_at_pauses(shift_times(recognized.segments, -sound.ahead_s, -inf)))
    transcript = Transcript(
        segments=segments,
        language=recognized.language,
        language_probability=recognized.probability,
        duration_s=max([sound.duration_s, *(segment.end_s for segment in segments)]),
        translated=settings.translate,
        warnings=(
            *((CANCELLED,) if log.cancelled_s else ()),
            *_describe_stopped(recognized.stopped, start_offset_s(sound.video) - sound.ahead_s),
        ),
    )
    return transcript, log.errors


def _describe_stopped(spans: Sequence[Interval], offset_s: float) -> tuple[str, ...]:
    """Return a warning of speech that was given up; none of less than a sentence."""
    spans = [span for span in spans if span[1] - span[0] >= SHORTEST_S]
    if not spans:
        return ()
    named = [f"{format_time(low + offset_s)} to {format_time(high + offset_s)}" for low, high in spans]
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    where = ", ".join(named[:_MAX_NAMED])
    return (f"speech from {where}{more} is left out: Whisper is lost there (it repeats itself, or guesses)",)


def read_blocks(
    sound: SoundInfo,
    log: DecodeLog,
    progress: Progress | None,
    from_s: float = 0.0,
    step: str = "transcribing",
) -> Iterator[FloatArray]:
    """Yield [N] samples for a recognizer, block by block; the log counts damage."""
    for number, block in enumerate(read_sound(sound, RATE, _BLOCK_S, log, from_s)):
        if progress:
            progress(step, number * _BLOCK_S, sound.duration_s)
        yield block


def describe_damage(n_damaged: int) -> list[str]:
    """Return a warning of packets that cannot be decoded; none for 0."""
    fault = f"{n_damaged} packets of its sound are damaged, and count as silence"
    return [fault] if n_damaged else []


def transcribe_query(file: str, extraction: Extraction) -> SpokenQuery:
    """Return a spoken query (`-` is a WAV file on stdin) in English, translated if need be.

    Raises InputError: the file cannot be read, is long, holds no speech, or is not understood for sure.
    WeightsError: the weights are missing.
    """
    if file == "-":
        with TemporaryDirectory() as folder:
            path = Path(folder) / "stdin"
            path.write_bytes(read_stdin())
            return transcribe_query(str(path), extraction)
    name, extraction = Path(file).name, replace(extraction, audio_track=None)  # which is of the videos
    sound = probe_sound(file)
    if sound.duration_s > _MAX_QUERY_S:
        fault = f"is {sound.duration_s:.0f} s long, and a spoken query is a sentence"
        raise InputError(fault, hint=("cut it, or ", Mention("query", "TEXT")), subject=name)
    plan = plan_transcript(file, Transcription(), extraction, sound.video)
    transcript = plan.run(None)
    if not transcript.segments or transcript.language is None:
        raise InputError(_NO_SPEECH, hint=Mention("query", "TEXT"), subject=name)
    english = to_english(transcript, file, extraction, None)
    confidence = min(transcript.confidence, english.confidence)
    probability = transcript.language_probability or 0.0
    is_clear = confidence >= _MIN_CONFIDENCE and probability >= MIN_LANGUAGE_PROBABILITY
    if not is_clear or transcript.no_speech > _MAX_NO_SPEECH:
        language = f"{transcript.language}, {probability:.0%} sure"
        fault = f"not clear: {english.text!r} ({confidence:.0%} sure; language {language})"
        raise InputError(fault, hint=Mention("query", "TEXT"), subject=name)
    sha256 = plan.provenance["video"]["sha256"]
    return SpokenQuery(
        name, sha256, english.text, transcript.language, round(probability, 4), round(confidence, 4)
    )


def _warnings(transcript: Transcript) -> tuple[str, ...]:
    warnings = list(transcript.warnings)
    if transcript.language is None:
        return (*warnings, _NO_SPEECH)
    if (probability := transcript.language_probability or 0.0) < MIN_LANGUAGE_PROBABILITY:
        sure = f"{transcript.language} ({probability:.0%} confidence)"
        warnings.append(f"the language may not be {sure}; name it if you know it")
    if changes := language_changes(to_player_time(transcript)):
        first = [f"{before} to {after} at {format_time(at_s)}" for before, after, at_s in changes]
        more = f" and {len(changes) - _MAX_NAMED} more" if len(changes) > _MAX_NAMED else ""
        warnings.append(f"the language changes: {', '.join(first[:_MAX_NAMED])}{more}")
    if count := sum(segment.uncertain for segment in transcript.segments):
        warnings.append(f"uncertain speech in {count} of {len(transcript.segments)} segments")
    return (*warnings, *describe_doubtful(transcript))


def describe_doubtful(transcript: Transcript) -> tuple[str, ...]:
    """Return a warning of text that subtitles, titles and searches leave out: all of it is uncertain."""
    runs = to_player_time(transcript).doubtful
    if not runs:
        return ()
    named = [f"{format_time(run[0].start_s)} to {format_time(run[-1].end_s)}" for run in runs]
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    where = f"the text from {', '.join(named[:_MAX_NAMED])}{more}"
    return (f"{where} is uncertain throughout: subtitles, titles and searches leave it out",)


def _transcript_provenance(
    source: Mapping[str, Any], settings: Transcription, device: str, offset_s: float
) -> dict[str, Any]:
    ahead_s = lead_in_s(offset_s)
    return {
        "vidsum": __version__,
        "video": dict(source),
        "speech": {
            "model": CHECKPOINT,
            "weights_sha256": checkpoints.sha256_of(CHECKPOINT),
            "language": settings.language,
            "translate": settings.translate,
            **recognizer_rules(device),
            **without_defaults(settings, "language", "translate"),
            **({"ahead_s": ahead_s} if ahead_s else {}),
        },
    }
