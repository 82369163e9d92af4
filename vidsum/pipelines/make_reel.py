"""One film out of many clips and photographs: plan, analyse each input, choose among all parts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final, Literal, Unpack

import numpy as np

from vidsum.device import unload
from vidsum.errors import InputError, Mention, UsageError
from vidsum.features.settings import Extraction
from vidsum.io.packages import has_extra, install_extra_command
from vidsum.io.provenance import digest_of, identify_file
from vidsum.models.scaling import LEAST_IMPORTANCE, logit, unit_rows
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.decoding import resolve_spec
from vidsum.pipelines.file_steps import StepRunner, run_steps
from vidsum.pipelines.keywords import ReelOptions
from vidsum.pipelines.plan import Plan, open_video_input
from vidsum.pipelines.reel_inputs import (
    Recording,
    ReelPlan,
    choose_canvas,
    describe_order,
    in_film_order,
    read_recordings,
)
from vidsum.pipelines.reel_photographs import AnalysedInput, analyse_photographs
from vidsum.pipelines.reel_speech import decode_all_sound, speech_in
from vidsum.pipelines.sources import VideoPath, expand, is_media, source_path
from vidsum.pipelines.summarize import Analysis, plan_analysis
from vidsum.pipelines.voice_pauses import uncut_speech
from vidsum.results.features import Features
from vidsum.results.reel import LeftOut, Music, Reel, ReelSegment, ReelSource, title_days
from vidsum.shots.settings import ShotSettings
from vidsum.summary.constraints import ENOUGH
from vidsum.summary.film_topics import compare_within_topics, topics_of
from vidsum.summary.importance_model import importance
from vidsum.summary.reel_parts import (
    ChosenPart,
    ReelInput,
    best_part,
    choose_parts,
    clip_input,
)
from vidsum.summary.reel_reasons import describe_reasons
from vidsum.summary.score import load_importance_checkpoint, slope_of
from vidsum.summary.settings import SHIPPED_MODEL, SHORTEST_S, ReelSettings, Selection
from vidsum.times import format_time, parse_budget
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.version import __version__
from vidsum.video.listen import probe_sound
from vidsum.video.mixing import FADE_S
from vidsum.video.photographs import PhotographInfo
from vidsum.video.segments import on_frames

Snap = Literal["auto", "speech", "sentence", "none"]
_LONGEST_S: Final = 5.0  # of a part without speech
_LONGEST_SPEECH_S: Final = 20.0


def make_reel(
    sources: VideoPath | Iterable[VideoPath],
    budget: str | float = ReelSettings.budget,
    *,
    progress: Progress | None = None,
    **options: Unpack[ReelOptions],
) -> Reel:
    """Choose the best of many clips and photographs for one film; `vidsum.write_video` writes it.

    Args:
        sources: a video, photograph or folder of them, or several.
        budget: maximum length, as a time (`2m`, `1:30`, 120) or a fraction of all inputs (`15%`, 0.15).
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: other fields of `vidsum.summary.settings.ReelSettings`, such as `order="name"`, and of
            `vidsum.features.settings.Extraction`.

    Inputs that cannot be read are left out: see `Reel.left_out`. Raises InputError: none can be read, or the
    music. WeightsError; UsageError: an option is invalid, or the budget holds no part.
    """
    kinds = (ReelSettings, Extraction)
    settings, extraction = all_from_keywords(make_reel, kinds, {"budget": budget, **options})
    sources = [sources] if isinstance(sources, str | os.PathLike) else [*sources]
    if not sources:
        raise UsageError("no inputs are given", hint='vidsum.make_reel("Holiday")')
    paths = expand(map(source_path, sources), takes=is_media)
    return plan_reel(paths, settings, extraction, progress=progress).run(progress)


def plan_reel(
    paths: Sequence[str],
    settings: ReelSettings,
    extraction: Extraction,
    snap: Snap = Selection.snap,
    *,
    run: StepRunner = run_steps,
    progress: Progress | None = None,
) -> ReelPlan:
    """Plan a reel of files; all are opened and hashed. `run` reads them. Raises the errors of `make_reel`."""
    music = _find_music(settings)
    recordings, left_out = read_recordings(paths, progress, run)
    if not recordings:
        fault = left_out[0].fault if len(left_out) == 1 else "none of the inputs can be read"
        subject = left_out[0].path if len(left_out) == 1 else ""
        raise InputError(fault, hint="give videos and photographs, or a folder of them", subject=subject)
    recordings = in_film_order(recordings, settings)
    footage_s = sum(_length_of(part, settings) for part in recordings)
    budget_s = parse_budget(settings.budget, footage_s, min(SHORTEST_S, footage_s))
    spoken_s = max(min(_LONGEST_SPEECH_S, budget_s / 3), 2 * SHORTEST_S)
    selection = Selection(budget=spoken_s, snap=snap)
    work = _ReelWork(
        recordings, settings, extraction, selection, tuple(left_out), music, budget_s, footage_s, run
    )
    return ReelPlan(work.provenance, work.run, tuple(part.path for part in recordings), work.left_out, music)


def _find_music(settings: ReelSettings) -> Music | None:
    if settings.music is None:
        return None
    if Path(settings.music).is_dir():
        hint = Mention("music", "FILE")
        raise InputError("is a folder, not a sound file", hint=hint, subject=settings.music)
    probe_sound(settings.music)
    return Music(settings.music, **identify_file(Path(settings.music)))


def _length_of(recording: Recording, settings: ReelSettings) -> float:
    return recording.info.duration_s if isinstance(recording.info, VideoInfo) else settings.photo_s


@dataclass(frozen=True, eq=False)
class _ReelWork:
    recordings: Sequence[Recording]  # in the order of the film
    settings: ReelSettings
    extraction: Extraction
    selection: Selection
    left_out: tuple[LeftOut, ...]
    music: Music | None
    budget_s: float
    footage_s: float
    run_steps: StepRunner

    @property
    def provenance(self) -> dict[str, Any]:
        chosen = without_defaults(self.settings, "music", "budget")
        chosen["budget_s"] = self.budget_s
        if self.music:
            chosen["music"] = {"bytes": self.music.bytes, "sha256": self.music.sha256}
        inputs = list[dict[str, Any]]()
        for recording in self.recordings:
            made_by = dict[str, Any]()
            if isinstance(recording.info, VideoInfo):
                facts = _plan_clip(recording.path, self.extraction, self.selection).provenance
                made_by = {"analysis": digest_of(facts)}
                if recording.info.has_audio:
                    made_by |= {name: name in facts["summary"] for name in ("speech", "voice")}
            inputs.append({**recording.file, **made_by})
        return {"vidsum": __version__, "reel": chosen, "inputs": inputs}

    def run(self, progress: Progress | None) -> Reel:
        analysed, faults, warnings = self._analyse(progress)
        recordings = [part for number, part in enumerate(self.recordings) if number in analysed]
        if not recordings:
            raise InputError("none of the inputs can be decoded")
        if progress:
            progress("choosing segments", 0, 0)
        known = [analysed[number] for number in sorted(analysed)]
        inputs = _against_each_other(known, self.extraction)
        inputs = [replace(made, day=part.day) for made, part in zip(inputs, recordings, strict=True)]
        extractor = self.extraction.extractor
        chosen = choose_parts(inputs, extractor, self.budget_s, self.settings.max_clip_s)
        if not chosen:
            hint = f"at least {format_time(min(SHORTEST_S, self.settings.photo_s))}"
            raise UsageError("no part of any input fits the budget", hint, option="budget")
        notes = describe_reasons(chosen, inputs)
        segments = self._segments(chosen, notes, recordings, known)
        return Reel(
            segments=segments,
            sources=tuple(map(_source_of, recordings, inputs)),
            canvas=choose_canvas(recordings),
            budget_s=self.budget_s,
            footage_s=self.footage_s,
            fit=self.settings.fit,
            music=self.music,
            left_out=(*self.left_out, *faults),
            budget_note=self._note(segments, recordings),
            provenance=self.provenance,
            warnings=(*describe_order(recordings, self.settings), *warnings, *self._speech_warnings()),
        )

    def _analyse(
        self, progress: Progress | None
    ) -> tuple[dict[int, AnalysedInput], list[LeftOut], list[str]]:
        """Return what is known of each input, by its number, those that cannot be decoded, and warnings."""
        made, faults, warnings = dict[int, AnalysedInput](), list[LeftOut](), list[str]()
        numbered = [*enumerate(self.recordings)]
        clips = {number: part.path for number, part in numbered if isinstance(part.info, VideoInfo)}
        stills = {number: part.path for number, part in numbered if isinstance(part.info, PhotographInfo)}
        steps = [
            f"reading {Path(path).name} ({place} of {len(clips)})"
            for place, path in enumerate(clips.values(), 1)
        ]

        def begin(place: int) -> Progress | None:
            if progress:
                progress("reading files", place, len(clips))
            return _of_file(progress, steps[place])

        longest_s = min(_LONGEST_S, self.settings.max_clip_s or inf)
        step = partial(_analyse_clip, self.extraction, self.selection, longest_s)
        with closing(self.run_steps(step, [*clips.values()], begin)) as outcomes:
            for (number, path), step_name, outcome in zip(clips.items(), steps, outcomes, strict=True):
                if isinstance(outcome, InputError):
                    faults.append(LeftOut(path, outcome.words, outcome.hint or ""))
                else:
                    made[number], notes = outcome
                    warnings += [f"{Path(path).name}: {note}" for note in notes]
                if progress:
                    progress(step_name, 1, 1)
        length_s = self.settings.photo_s
        rest, unreadable = analyse_photographs(stills, length_s, self.extraction, self.run_steps, progress)
        unload()
        return {**made, **rest}, [*faults, *unreadable], warnings

    def _segments(
        self,
        chosen: Sequence[ChosenPart],
        notes: Sequence[str],
        recordings: Sequence[Recording],
        analysed: Sequence[AnalysedInput],
    ) -> tuple[ReelSegment, ...]:
        made = list[ReelSegment]()
        for part, note in zip(chosen, notes, strict=True):
            recording = recordings[part.source]
            start_s, end_s = part.start_s, part.end_s
            speech = tuple[Interval, ...]()
            if isinstance(recording.info, VideoInfo):
                start_s, end_s = on_frames(recording.info, start_s, end_s)
                if self.music:
                    speech = speech_in(recording.info, (start_s, end_s), analysed[part.source].said)
            span = start_s, end_s
            made.append(ReelSegment(part.source, *span, part.reason, part.score, speech=speech, note=note))
        sources = [recording.source for recording in recordings]
        return title_days(made, sources) if self.settings.titles else tuple(made)

    def _note(self, segments: Sequence[ReelSegment], recordings: Sequence[Recording]) -> str:
        """Return why less than nine tenths of the budget are used; empty where they are."""
        used_s = sum(segment.length_s for segment in segments)
        if used_s >= ENOUGH * self.budget_s:
            return ""
        if used_s >= ENOUGH * self.footage_s:
            return "there is little more footage"
        has_photographs = any(isinstance(part.info, PhotographInfo) for part in recordings)
        if self.budget_s - used_s < min(SHORTEST_S, self.settings.photo_s if has_photographs else inf):
            return "the rest is too short for another part"
        most_s = self.settings.max_clip_s or inf
        for number, recording in enumerate(recordings):
            taken_s = sum(segment.length_s for segment in segments if segment.source == number)
            length_s = _length_of(recording, self.settings)
            if isinstance(recording.info, VideoInfo) and most_s < taken_s + SHORTEST_S <= length_s:
                return f"{format_time(most_s)} of each clip at most, and nothing twice"
        return "nothing else differs enough"

    def _speech_warnings(self) -> list[str]:
        if not self.music or has_extra("speech"):
            return []
        return [f"speech is not looked for, so the music stays as loud: {install_extra_command('speech')}"]


def _plan_clip(path: str, extraction: Extraction, selection: Selection) -> Plan[Analysis]:
    video_input = open_video_input(path, extraction)
    is_mute = video_input.video is not None and not video_input.video.has_audio
    if is_mute and selection.snap != "none":
        selection = replace(selection, snap="auto")
    return plan_analysis(video_input, selection, ShotSettings())


def _analyse_clip(
    extraction: Extraction, selection: Selection, longest_s: float, path: str, progress: Progress | None
) -> tuple[AnalysedInput, tuple[str, ...]]:
    """Return what is known of a clip, whose silent parts have at most `longest_s`, and warnings."""
    analysis = _plan_clip(path, extraction, selection).run(progress)
    features, scored = analysis.features, analysis.scored
    if features.video and features.video.has_audio:
        decode_all_sound(features.video)
    worth = scored.importance if analysis.quality is None else scored.importance * analysis.quality
    made = clip_input(
        features,
        analysis.shots,
        worth,
        scored.slope,
        speech=analysis.speech,
        uncut=analysis.uncut,
        voices=uncut_speech(analysis.voices, FADE_S),
        longest_s=longest_s,
    )
    mean = None if features.embeddings is None else features.embeddings.mean(axis=0)
    said = analysis.speech.sentences if analysis.transcript else None
    return AnalysedInput(made, features.array.mean(axis=0), mean, said), features.warnings


def _source_of(recording: Recording, known: ReelInput) -> ReelSource:
    """Return a source, with the part of it that is worth most."""
    start_s, end_s = best_part(known)
    if isinstance(recording.info, VideoInfo):
        start_s, end_s = on_frames(recording.info, start_s, end_s)
    return replace(recording.source, best=(start_s, end_s))


def _of_file(progress: Progress | None, name: str) -> Progress | None:
    """Return a function that reports the frames of a file, all steps as one."""
    if progress is None:
        return None

    def report(step: str, done: float, total: float) -> None:
        if total:
            progress(name, done, total)

    return report


def _against_each_other(analysed: Sequence[AnalysedInput], extraction: Extraction) -> list[ReelInput]:
    """Return inputs with the importance of each as a whole, as if each were a picture of a film."""
    inputs = [made.input for made in analysed]
    means = [made.mean for made in analysed if made.mean is not None]
    if len(means) < len(inputs):  # features without a map to sentences say nothing of importance
        return inputs
    rate, sentences = 1 / resolve_spec(extraction).step_s, unit_rows(np.stack(means))
    looks = np.stack([made.look for made in analysed])
    film = Features.from_array(looks, rate, video_fps=rate, extractor=extraction.extractor)
    film = replace(film, embeddings=sentences)
    curve = importance(load_importance_checkpoint(SHIPPED_MODEL, extraction.device), film, None)
    curve = compare_within_topics(curve, topics_of(sentences))
    curve = curve * np.array([made.quality for made in analysed], np.float32)
    expected = slope_of(SHIPPED_MODEL, extraction.device) * logit(curve, LEAST_IMPORTANCE)
    return [replace(made, importance=float(score)) for made, score in zip(inputs, expected, strict=True)]
