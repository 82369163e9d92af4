"""Trim a film: plan what to keep of it, by its sound and the words of its speech, then find it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from vidsum.errors import InputError, Mention, UsageError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import identify_file
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.keywords import TrimOptions
from vidsum.pipelines.plan import Plan, report_step
from vidsum.pipelines.sources import probe_video, source_path
from vidsum.pipelines.transcribe import describe_damage, plan_transcript, read_blocks
from vidsum.pipelines.trim_script import EditedTranscript, Run, deleted_words, without_overlap
from vidsum.results.summary import Reason, Removal, Trim
from vidsum.results.transcript import Transcript, Word
from vidsum.speech.fillers import FILLERS, Hesitation, find_hesitations
from vidsum.speech.script_cuts import MeasuredSound, cut_runs
from vidsum.speech.settings import Transcription, Trimming
from vidsum.speech.silence import (
    MIN_PART_S,
    SILENT_DB,
    VOICE_LATE_S,
    LevelMeter,
    Levels,
    choose_threshold,
    gaps_of,
    keep_sound,
    loud_spans,
    subtract,
    voice_spans,
    without_short_cuts,
)
from vidsum.types import Interval, Progress, VideoInfo, join_near
from vidsum.version import __version__
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import SoundInfo, describe_used, find_loud_track, probe_sound
from vidsum.video.segments import snap_to_frames

_EARLY_S, _INTO_S = 0.15, 0.05  # how far from the time of a word its quietest edge may lie
_BREATH_S = 0.12  # silence that stays on either side of a word that goes


def trim(
    path: str | os.PathLike[str],
    language: str | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[TrimOptions],
) -> Trim:
    """Find what to keep of a video without its silence; `vidsum.write_video` writes it.

    Args:
        path: a video with sound, or a `Video`.
        language: of the speech, for fillers and scripts; by default it is detected.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.speech.settings.Trimming`, such as `fillers=True`, `min_pause_s=1` or
            `script="edited.txt"`, and of `vidsum.features.settings.Extraction` that choose device, cache and
            tracks.

    Raises InputError: a file cannot be read, has no sound, or is silent throughout; or a script has words
    that were never said. WeightsError, PackageError: what finds voices or words is missing.
    """
    settings, extraction = all_from_keywords(trim, (Trimming, Extraction), options)
    return plan_trim(path, settings, extraction, language).run(progress)


def plan_trim(
    path: str | os.PathLike[str], settings: Trimming, extraction: Extraction, language: str | None = None
) -> Plan[Trim]:
    """Plan what to keep of a video. Raises InputError: it has no sound; or see `trim`."""
    if extraction.names_subtitles:
        fault = (Mention("subtitles"), " have no times of words, at which a video is trimmed")
        raise UsageError(fault, hint=("leave out ", Mention("subtitles"), ": the speech is transcribed"))
    video = probe_video(source_path(path), extraction)
    if not video.has_audio:
        hint = f"vidsum summarize {shlex.quote(video.path)} shortens it by its pictures"
        raise InputError("has no sound", hint=hint, subject=video.path)
    sound = probe_sound(video.path, video)
    source = identify_file(sound.path)
    if sound.track:
        source["audio_track"] = sound.track
    facts = without_defaults(settings)
    provenance: dict[str, Any] = {"vidsum": __version__, "video": source, "trim": facts}
    speech, script = None, None
    if settings.script is not None:
        script = EditedTranscript.read(Path(settings.script))
        facts["script"] = identify_file(Path(settings.script))["sha256"]
    if settings.fillers or settings.filler or script is not None:
        transcription = Transcription(language=language, verbatim=script is None)
        speech = plan_transcript(path, transcription, extraction, video)
        provenance["speech"] = speech.provenance["speech"]
    return Plan(provenance, _Work(video, sound, settings, speech, script, provenance).run)


@dataclass(frozen=True, eq=False)
class _Work:
    video: VideoInfo
    sound: SoundInfo
    settings: Trimming
    speech: Plan[Transcript] | None
    script: EditedTranscript | None
    provenance: dict[str, Any]

    def run(self, progress: Progress | None) -> Trim:
        log, duration_s = DecodeLog(), self.video.duration_s
        transcript = self.speech.run(progress) if self.speech else None
        runs = self.script.find_runs(transcript, self.video.path) if self.script and transcript else None
        levels, sounds, threshold_db = self._listen(log, progress)
        report_step(progress, "finding frames")
        if runs and transcript:
            sound = MeasuredSound(levels, threshold_db)
            parts = self._by_script(transcript.words, runs, sound)
            removed = deleted_words(runs, transcript.words)
        else:
            parts, removed = self._by_sound(transcript, levels, sounds, threshold_db)
        return Trim(
            segments=tuple(parts),
            removed=_removals(join_near(sorted(parts)), duration_s, removed),
            by="script" if runs else self.settings.by,
            threshold_db=threshold_db if self.settings.by == "loudness" else None,
            video_duration_s=duration_s,
            video=self.video,
            provenance=self.provenance,
            warnings=self._warnings(transcript, log),
        )

    def _by_script(self, words: Sequence[Word], runs: Sequence[Run], sound: MeasuredSound) -> list[Interval]:
        """Return the parts of the film with the runs of words that stay, in the order of the runs."""
        parts = cut_runs(runs, words, sound, self._margins_s, self.video.duration_s)
        return without_overlap(snap_to_frames(self.video, parts), runs)

    def _by_sound(
        self, transcript: Transcript | None, levels: Levels, sounds: Sequence[Interval], threshold_db: float
    ) -> tuple[list[Interval], list[Removal]]:
        """Return the parts to keep and the words that go. Raises InputError: no sound is long enough."""
        settings, duration_s, cuts = self.settings, self.video.duration_s, list[tuple[Interval, Removal]]()
        least_s = settings.min_pause_s - (2 * VOICE_LATE_S if settings.by == "voice" else 0.0)
        parts = keep_sound(sounds, duration_s, least_s, settings.min_sound_s, self._margins_s)
        if not parts:
            raise InputError(
                f"no sound lasts {settings.min_sound_s:g} s",
                hint=("lower ", Mention("min_sound_s")),
                subject=self.video.path,
            )
        if transcript:
            words, language = transcript.words, transcript.language or ""
            for hesitation in find_hesitations(words, language, settings.filler):
                cuts.append(_cut_word(words, hesitation, levels, threshold_db, duration_s))
            parts = subtract(parts, join_near(sorted(span for span, _ in cuts)), MIN_PART_S)
        frames = snap_to_frames(self.video, parts)
        parts = without_short_cuts(frames, duration_s, [span for span, _ in cuts])
        return parts, [removal for _, removal in cuts]

    @property
    def _margins_s(self) -> tuple[float, float]:
        return self.settings.margin_before_s, self.settings.margin_after_s

    def _listen(self, log: DecodeLog, progress: Progress | None) -> tuple[Levels, list[Interval], float]:
        """Return levels, sounds and threshold. Raises InputError: there is no sound to keep."""
        settings, meter, path = self.settings, LevelMeter(), self.video.path
        blocks = meter.measure(read_blocks(self.sound, log, progress, step="listening"))
        voices = list(voice_spans(blocks, settings.min_pause_s)) if settings.by == "voice" else None
        for _ in blocks:
            pass
        levels = meter.levels
        threshold_db = settings.threshold_db
        if threshold_db is None and (threshold_db := choose_threshold(levels)) is None:
            loud = find_loud_track(path, self.sound.track) if self.sound.track else None
            fault = f"is silent: nothing in it is louder than {SILENT_DB:g} dB"
            raise InputError(fault, hint=Mention("audio_track", loud) if loud else None, subject=path)
        if voices is not None and not voices:
            raise InputError(
                "no speech found", hint=(Mention("by", "loudness"), " keeps any sound"), subject=path
            )
        sounds = voices or loud_spans(levels, threshold_db)
        if not sounds:
            fault = f"nothing in it is as loud as {threshold_db:g} dB"
            raise InputError(
                fault, hint=Mention("threshold_db", round(float(levels.db.max()) - 20)), subject=path
            )
        return levels, sounds, threshold_db

    def _warnings(self, transcript: Transcript | None, log: DecodeLog) -> tuple[str, ...]:
        warnings = [*describe_used(self.video.path, "audio", self.sound.track)]
        warnings += describe_damage(log.errors)
        if transcript and not self.script and transcript.language not in (None, *FILLERS):
            warnings.append(f"the filler words of {transcript.language} are not known: name those to remove")
        return tuple(warnings)


def _cut_word(
    words: Sequence[Word], hesitation: Hesitation, levels: Levels, threshold_db: float, duration_s: float
) -> tuple[Interval, Removal]:
    """Return the span to cut for words that go, and the same as a removal.

    Whisper's times err by a tenth of a second: edges move to the quietest point nearby and on into the
    silence around it, of which a breath stays.
    """
    spoken = words[hesitation.first : hesitation.end]
    before_s = words[hesitation.first - 1].end_s if hesitation.first else 0.0
    after_s = words[hesitation.end].start_s if hesitation.end < len(words) else duration_s
    start_s, end_s = spoken[0].start_s, spoken[-1].end_s
    low_s = levels.quietest(max(start_s - _EARLY_S, min(before_s, start_s)), start_s + _INTO_S)
    high_s = levels.quietest(end_s - _INTO_S, min(end_s + _EARLY_S, max(after_s, end_s)))
    high_s = max(high_s, low_s)
    first_s, last_s = levels.silence_around((low_s, high_s), threshold_db)
    span = min(first_s + _BREATH_S, low_s), max(last_s - _BREATH_S, high_s)
    return span, Removal(*span, hesitation.reason, " ".join(word.text for word in spoken))


def _removals(
    segments: Sequence[Interval], duration_s: float, words: Sequence[Removal]
) -> tuple[Removal, ...]:
    """Return what lies between segments, with the words that go there."""
    removals = list[Removal]()
    for start_s, end_s in gaps_of(segments, duration_s):
        here = [word for word in words if start_s <= (word.start_s + word.end_s) / 2 < end_s]
        reason: Reason = next((word.reason for word in here), "silence")
        removals.append(Removal(start_s, end_s, reason, " ".join(word.text for word in here)))
    return tuple(removals)
