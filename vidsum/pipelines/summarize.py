"""Summaries: plan, then run."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Unpack

from vidsum.errors import require_type
from vidsum.features.settings import Extraction
from vidsum.grounding import vse_map
from vidsum.grounding.actions import mix_actions
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings, describe_space, resolve_space
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.decoding import movement_job
from vidsum.pipelines.embedding import EmbeddedVideo, open_in_space, plan_embedding
from vidsum.pipelines.keywords import SummaryOptions
from vidsum.pipelines.plan import Input, Plan, open_input, report_step
from vidsum.pipelines.queries import read_queries
from vidsum.pipelines.read_text import find_screen_text
from vidsum.pipelines.sources import Source
from vidsum.pipelines.speech_evidence import facts_of_speech, plan_summary_speech, protected_words
from vidsum.pipelines.voice_pauses import find_voices, needs_voices, uncut_speech
from vidsum.results.features import Features
from vidsum.results.screen_text import ScreenText
from vidsum.results.sentences import cuts_inside_phrases, describe_cuts
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.results.transcript import Transcript
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ShotMethod, ShotSettings
from vidsum.shots.slide_times import find_slides
from vidsum.summary.fixed_camera import prefer_events
from vidsum.summary.guided import guide_importance, guide_texts
from vidsum.summary.picture_quality import find_fades, quality_at
from vidsum.summary.score import (
    CustomScorer,
    CustomScores,
    ScoredVideo,
    best_score,
    candidate_models,
    installed_scorer,
    resolve_scorer,
    weights_sha256,
)
from vidsum.summary.selection import SegmentLimits, budget_of, select
from vidsum.summary.settings import Selection
from vidsum.summary.slide_importance import slides_of_talk
from vidsum.summary.speech_units import SpokenParts, find_speech_units, timed_texts
from vidsum.types import FloatArray, Interval, Progress, VideoInfo, join_near
from vidsum.video.probe import start_offset_s


def summarize(
    source: Source,
    budget: str | float = Selection.budget,
    *,
    model: str | os.PathLike[str] | CustomScores = Selection.model,
    shots: ShotMethod = ShotSettings.shots,
    progress: Progress | None = None,
    **options: Unpack[SummaryOptions],
) -> Summary:
    """Choose the segments of a video that are worth keeping.

    Args:
        source: a video, a feature file or features.
        budget: maximum summary length, as a fraction (`15%`, 0.15) or a time (`45s`, `1:30`, 45); `auto`:
            15 %, and at least 5 s.
        model: one of `vidsum.summary.settings.SUMMARIZERS`, a checkpoint's path, a function of `Features`
            that gives scores [T], or such scores; their range does not matter.
        shots: see `find_shots`.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: other fields of `vidsum.summary.settings.Selection`, such as `keep=[(10, 20)]` or
            `about="a dog"`, and what `find_shots` takes.

    Raises InputError, WeightsError, UsageError: see `extract`.
    """
    name, scorer = resolve_scorer(model)
    video_input = {"budget": budget, "model": name, "shots": shots, **options}
    selection, settings, extraction = all_from_keywords(
        summarize, (Selection, ShotSettings, Extraction), video_input
    )
    return plan_summary(open_input(source, extraction), selection, settings, scorer).run(progress)


def plan_summary(
    video_input: Input, selection: Selection, settings: ShotSettings, scorer: CustomScorer | None = None
) -> Plan[Summary]:
    """Plan the summary of an input of `open_input`; raises the errors of `summarize`."""
    work = _plan_work(video_input, selection, settings, scorer)
    return Plan(work.provenance, work.run)


def plan_analysis(video_input: Input, selection: Selection, settings: ShotSettings) -> Plan[Analysis]:
    """Plan what a choice among several videos needs to know of each; raises the errors of `summarize`."""
    work = _plan_work(video_input, selection, settings, None)
    return Plan(work.provenance, work.analyse)


def _plan_work(
    video_input: Input, selection: Selection, settings: ShotSettings, scorer: CustomScorer | None
) -> _Work:
    require_type(selection.budget, str, int, float)
    selection = _resolve_ends(selection, video_input)
    is_video = video_input.features is None and video_input.video is not None
    space = resolve_space("auto") if is_video and selection.about else vse_map.NAME
    if texts := guide_texts(selection, video_input.kind[0], space):
        read_queries(texts)
    guide = movement = None
    if space != vse_map.NAME and video_input.video:  # of the CLIP family, which the texts are compared in
        extraction = replace(video_input.extraction, fast=False)
        guide = plan_embedding(open_in_space(space, video_input.video.path, extraction), space)
    elif texts and selection.actions and is_video and video_input.video:
        movement = movement_job(video_input.video, video_input.extraction, video_input.jobs)
    if movement:
        video_input = replace(video_input, jobs=(*video_input.jobs, movement))
    speech = plan_summary_speech(selection, video_input)
    scorer = scorer or installed_scorer(selection.model)
    device = video_input.extraction.device
    models = (scorer.name,) if scorer else candidate_models(selection.model, *video_input.kind, device)
    facts = _facts(selection, models, scorer, speech, video_input.video)
    on_screen = find_screen_text(video_input) if selection.max_segment_s is not None else None
    if on_screen is not None:
        facts["screen_text"] = bool(on_screen.lines)
    if guide:
        facts["guide"] = {"space": space, "extractions": guide.provenance["extractions"]}
    if movement:
        facts["movement_weights_sha256"] = movement.provenance["weights_sha256"]
    provenance = {**video_input.provenance, "shots": without_defaults(settings), "summary": facts}
    return _Work(
        video_input, selection, settings, texts, models, scorer, speech, provenance, space, guide, on_screen
    )


@dataclass(frozen=True, eq=False)
class Analysis:
    """Knowledge of a video that the choice of its parts needs."""

    features: Features
    shots: Shots
    scored: ScoredVideo
    transcript: Transcript | None
    speech: SpokenParts
    uncut: tuple[Interval, ...]  # (start_s, end_s) in which no cut may fall
    voices: tuple[Interval, ...]  # where somebody speaks, without a transcript
    quality: FloatArray | None  # [T] of the pictures
    slides: tuple[Interval, ...]


@dataclass(frozen=True, eq=False)
class _Work:
    video_input: Input
    selection: Selection
    settings: ShotSettings
    texts: Sequence[str]  # guide the importance
    models: tuple[str, ...]
    scorer: CustomScorer | None
    speech: Plan[Transcript] | None
    provenance: dict[str, Any]
    space: str  # in which the texts are compared
    guide: Plan[EmbeddedVideo] | None  # the video in that space, of the CLIP family
    on_screen: ScreenText | None  # where it is in the cache

    def run(self, progress: Progress | None) -> Summary:
        selection, made = self.selection, self.analyse(progress)
        features, scored, transcript = made.features, made.scored, made.transcript
        budget_s, warnings = budget_of(selection, features.duration_s)
        warnings = (*(transcript.warnings if transcript else ()), *warnings)
        report_step(progress, "choosing segments")
        chosen = select(
            features,
            made.shots,
            scored.importance,
            budget_s,
            keep=selection.keep,
            drop=selection.drop,
            uncut=made.uncut,
            voices=uncut_speech(made.voices),
            limits=SegmentLimits(selection.min_segment_s, selection.max_segment_s),
            quality=made.quality,
            slope=scored.slope,
            speech=made.speech,
            texts=timed_texts(transcript, self.on_screen),
            slides=made.slides,
        )
        if self.guide:
            warnings = (*warnings, *describe_space(self.space).notes)
        if transcript and selection.max_segment_s is not None:
            spoken = cuts_inside_phrases(transcript.spoken, _free_edges(chosen.segments, selection, features))
            warnings = (*warnings, *describe_cuts(spoken, start_offset_s(features.video)))
        return Summary(
            segments=chosen.segments,
            shots=chosen.shots,
            importance=scored.importance,
            timestamps=features.timestamps,
            budget_s=budget_s,
            budget_note=chosen.note,
            video_duration_s=features.duration_s,
            video_fps=features.video_fps,
            model=scored.model,
            model_reason=scored.reason,
            shot_method=self.settings.shots,
            video=features.video,
            provenance=self.provenance,
            warnings=(*features.warnings, *scored.warnings, *warnings, *chosen.messages),
        )

    def analyse(self, progress: Progress | None) -> Analysis:
        """Return what the choice of segments needs to know of the video."""
        selection = self.selection
        transcript = self.speech.run(progress) if self.speech else None
        (features, *movement), pictures = self.video_input.read(progress)
        report_step(progress, "finding shots")
        shots = find(features, self.settings, pictures)
        budget_s, _ = budget_of(selection, features.duration_s)
        shortest_s = min(selection.min_segment_s, budget_s)
        speech = SpokenParts()
        if transcript:
            kept_s = sum(end_s - start_s for start_s, end_s in join_near(sorted(selection.keep)))
            decided = (*selection.keep, *selection.drop)
            speech = find_speech_units(transcript, shortest_s, max(budget_s - kept_s, 0.0), decided, progress)
        words = protected_words(selection, transcript, budget_s) if transcript else []
        report_step(progress, "scoring frames")
        clips = self.guide.run(progress).clips if self.guide else None
        actions = None
        if movement:
            actions = mix_actions(movement[0], features.timestamps + features.step_s / 2, shots.edges_s)
        scored = self.score(features, shots, budget_s / features.duration_s, clips, actions)
        changes = pictures.changes if pictures else None
        slides = () if self.scorer else slides_of_talk(find_slides(changes), features.duration_s)
        if not (self.scorer or self.texts or speech.units or slides):
            scored = prefer_events(scored, features, changes)
        has_voice = "voice" in self.provenance["summary"]
        voices = find_voices(self.video_input, progress) if has_voice else ()
        return Analysis(
            features,
            shots,
            scored,
            transcript,
            speech,
            uncut=(*words, *find_fades(changes, shots.edges_s)),
            voices=tuple(voices),
            quality=None if self.scorer else quality_at(changes, features.timestamps),
            slides=tuple(slides),
        )

    def score(
        self,
        features: Features,
        shots: Shots,
        fraction: float,
        clips: ClipEmbeddings | None,
        actions: ClassMixture | None,
    ) -> ScoredVideo:
        device = self.video_input.extraction.device
        if self.scorer:
            scored = self.scorer.scored(features)
        else:
            scored = best_score(self.models, features, shots, self.selection, fraction, device)
        if not self.texts:
            return scored
        importance = guide_importance(scored.importance, features, self.texts, self.space, clips, actions)
        # the importance may be flat, which no longer matters; of what was asked for, the texts know enough
        return replace(scored, importance=importance, warnings=(), slope=1.0)


def _resolve_ends(selection: Selection, video_input: Input) -> Selection:
    """Return a selection whose segments up to the end have a number there."""
    known = video_input.video if video_input.features is None else video_input.features
    assert known is not None
    keep, drop = (
        tuple(
            (start_s, max(known.duration_s, start_s + 0.001) if math.isinf(end_s) else end_s)
            for start_s, end_s in segments
        )
        for segments in (selection.keep, selection.drop)
    )
    return replace(selection, keep=keep, drop=drop)


def _free_edges(segments: Sequence[Interval], selection: Selection, features: Features) -> list[float]:
    """Return the edges of segments, in seconds, that neither the video nor `keep` and `drop` set."""
    edges_s = {edge_s for segment in segments for edge_s in segment}
    fixed_s = [0.0, features.duration_s, *chain(*selection.keep, *selection.drop)]
    frame_s = 1 / features.video_fps
    return sorted(edge_s for edge_s in edges_s if min(abs(edge_s - time_s) for time_s in fixed_s) > frame_s)


def _facts(
    selection: Selection,
    models: Sequence[str],
    scorer: CustomScorer | None,
    speech: Plan[Transcript] | None,
    video: VideoInfo | None,
) -> dict[str, Any]:
    """Return what a summary depends on in addition to the features and shots."""
    facts = without_defaults(selection, *([] if speech else ["snap"]))
    if speech:
        facts |= facts_of_speech(speech)
    elif needs_voices(selection, video):
        facts["voice"] = True
    if list(models) != [selection.model]:
        facts["candidates"] = list(models)
    if scorer is None:
        facts |= weights_sha256(models)
    elif scorer.sha256:
        facts["model_sha256"] = scorer.sha256
    return facts
