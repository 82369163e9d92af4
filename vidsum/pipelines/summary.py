"""Shots and summaries: planned from their parts, then made.

`find_shots` and `summarize` take keyword arguments, for people. `plan_shots` and `plan_summary` take
settings; a plan knows what its result would be made from before anything is decoded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidsum import provenance
from vidsum.errors import UsageError
from vidsum.grounding.queries import read_queries
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.cuts import pictures_of
from vidsum.pipelines.decoding import extraction_job, transitions_job
from vidsum.pipelines.extraction import Input, plan_features
from vidsum.pipelines.sources import Source, has_pictures, kept_of, path_of, probe_video
from vidsum.pipelines.speech import TranscriptPlan
from vidsum.pipelines.summary_speech import kept_said, speech_for, words_to_clear
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.settings import AttentionPart, Extraction, Selection, ShotMethod, ShotSettings
from vidsum.shots import find
from vidsum.summary.guided import guided, require_readable, texts_of
from vidsum.summary.own_scorers import OwnScorer, OwnScores, installed_scorer, own_scorer
from vidsum.summary.score import best_score, candidates, draw_attention, weights_sha256
from vidsum.summary.score import require_attention as require_attention
from vidsum.summary.selection import select
from vidsum.times import format_time, parse_budget
from vidsum.types import Interval, Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.keywords import ShotOptions, SummaryOptions


def find_shots(
    source: Source,
    shots: ShotMethod = ShotSettings.shots,
    *,
    progress: Progress | None = None,
    **options: Unpack[ShotOptions],
) -> Shots:
    """Cut a video into shots.

    Args:
        source: a video, a feature file or features; `transnetv2` needs the video.
        shots: `kts`, `uniform` or `transnetv2`.
        progress: called while it runs.
        **options: other fields of `vidsum.settings.ShotSettings`, such as `max_shots=10`, and those of
            `vidsum.settings.Extraction` for a video.

    Raises:
        InputError, WeightsError, UsageError: see `extract`.
    """
    kinds, given = (ShotSettings, Extraction), {"shots": shots, **options}
    settings, extraction = all_from_keywords(find_shots, kinds, given)
    return plan_shots(source, settings, extraction).run(progress)


def summarize(
    source: Source,
    budget: str | float = Selection.budget,
    *,
    model: str | os.PathLike[str] | OwnScores = Selection.model,
    shots: ShotMethod = ShotSettings.shots,
    progress: Progress | None = None,
    **options: Unpack[SummaryOptions],
) -> Summary:
    """Choose the segments of a video that are worth keeping.

    Args:
        source: a video, a feature file or features.
        budget: maximum summary length, as a fraction (`15%`, 0.15) or a time (`45s`, `1:30`, 45).
        model: one of `vidsum.summary.score.MODELS`, a checkpoint's path, a function of `Features` that gives
            scores [T], or such scores; their range does not matter.
        shots: see `find_shots`.
        progress: called while it runs.
        **options: other fields of `vidsum.settings.Selection`, such as `keep=[(10, 20)]` or `about="a dog"`,
            and what `find_shots` takes.

    Raises:
        InputError, WeightsError, UsageError: see `extract`.
    """
    name, own = model_of(model)
    given = {"budget": budget, "model": name, "shots": shots, **options}
    selection, settings, extraction = all_from_keywords(
        summarize, (Selection, ShotSettings, Extraction), given
    )
    return plan_summary(source, selection, settings, extraction, own).run(progress)


def model_of(model: str | os.PathLike[str] | OwnScores) -> tuple[str, OwnScorer | None]:
    """The name of a model, and what gives the scores where that is not found by its name."""
    if isinstance(model, str | os.PathLike):
        return os.fspath(model), None
    own = own_scorer(model)
    return own.name, own


@dataclass(frozen=True)
class ShotsPlan:
    """The shots of a video or of features."""

    input: Input
    """Its last job, or its features, show where the cuts are."""
    settings: ShotSettings

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What the shots would be made from."""
        return {**self.input.provenance, "shots": without_defaults(self.settings)}

    def run(self, progress: Progress | None = None) -> Shots:
        """Find the shots."""
        features, changes = self.input.read_with_changes(progress)
        return self.cut(features[-1], changes)

    def cut(self, features: Features, changes: Features | None) -> Shots:
        """The shots by the method of the settings; `changes` are those of `Input.read_with_changes`."""
        settings, cuts_s = self.settings, None
        if settings.shots == "transnetv2":
            from vidsum.shots.transnetv2 import cuts_of

            cuts_s = cuts_of(features)
        shots = find(
            features,
            settings.shots,
            max_shots=settings.max_shots,
            min_shot_s=settings.min_shot_s,
            max_shot_s=settings.max_shot_s,
            cuts_s=cuts_s,
            pictures=pictures_of(self.input, changes),
        )
        return replace(shots, provenance=self.provenance, warnings=features.warnings)


def plan_shots(source: Source, settings: ShotSettings, extraction: Extraction) -> ShotsPlan:
    """Plan the shots of a video or of features.

    Raises:
        InputError, UsageError: see `find_shots`.
    """
    if settings.shots != "transnetv2":
        return ShotsPlan(plan_features(source, extraction), settings)
    return ShotsPlan(_every_frame(source, extraction, with_features=False), settings)


@dataclass(frozen=True)
class SummaryPlan:
    """The summary of a video or of features."""

    shots: ShotsPlan
    selection: Selection
    models: tuple[str, ...]
    """Those that may give the scores, in order."""
    own: OwnScorer | None = None
    """What gives the scores in place of a model."""
    speech: TranscriptPlan | None = None
    """The transcript whose words are not cut."""

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What the summary would be made from."""
        plain = without_defaults(self.selection, *(["snap"] if self.speech is None else []))
        if self.speech is not None:
            plain["speech"] = self.speech.provenance["speech"]
        if list(self.models) != [self.selection.model]:
            plain["candidates"] = list(self.models)
        if self.own is None:
            plain |= weights_sha256(self.models)
        elif self.own.sha256:
            plain["model_sha256"] = self.own.sha256
        return {**self.shots.provenance, "summary": plain}

    def run(
        self,
        progress: Progress | None = None,
        *,
        attention: Path | None = None,
        attention_part: AttentionPart = "mean",
    ) -> Summary:
        """Make the summary.

        Args:
            progress: called while it runs.
            attention: where to draw what a trained model attended to, if anywhere.
            attention_part: which layers and heads.
        """
        words, kept = self._speech(progress)
        made, changes = self.shots.input.read_with_changes(progress)
        features, shots = made[0], self.shots.cut(made[-1], changes)
        selection, device = self.selection, self.shots.input.extraction.device
        budget_s, warnings = _budget(selection, features.duration_s)
        fraction = budget_s / features.duration_s
        if self.own is None:
            scored = best_score(self.models, features, shots, selection, fraction, device)
        else:
            scored = self.own.scored(features)
        importance = scored.importance
        if texts := texts_of(selection):
            # the importance may be flat: what the text says is not
            scored = replace(scored, warnings=read_queries(texts).warnings)
            importance = guided(importance, features, selection.about, selection.title, device)
        made_from = self.provenance
        drawn: tuple[str, ...] = ()
        if attention:
            label = provenance.label_of(made_from)
            drawn = draw_attention(
                features, shots, selection, fraction, device, attention, attention_part, label
            )
        keep = (*selection.keep, *kept)
        limits = (selection.min_segment_s, selection.max_segment_s)
        how: dict[str, Any] = {"keep": keep, "drop": selection.drop, "words": words, "limits_s": limits}
        chosen = select(features, shots, importance, budget_s, **how)
        return Summary(
            segments=chosen.segments,
            shots=chosen.shots,
            importance=importance,
            timestamps=features.timestamps,
            budget_s=budget_s,
            video_duration_s=features.duration_s,
            video_fps=features.video_fps,
            model=scored.model,
            model_reason=scored.reason,
            shot_method=self.shots.settings.shots,
            video=features.video,
            provenance=made_from,
            warnings=(*features.warnings, *scored.warnings, *warnings, *chosen.messages, *drawn),
        )

    def _speech(self, progress: Progress | None) -> tuple[list[Interval], list[Interval]]:
        """The words that no cut may fall into, and the passages to keep."""
        if self.speech is None:
            return [], []
        heard = self.speech.run(progress)
        kept = kept_said(self.speech, heard, self.selection.keep_said, progress)
        return words_to_clear(self.selection, heard), kept


def _budget(selection: Selection, duration_s: float) -> tuple[float, tuple[str, ...]]:
    """Seconds of the summary, and a message where a share of the video would be shorter than a segment."""
    share_s = parse_budget(selection.budget, duration_s)
    least_s = 0.0 if selection.max_segment_s is None else selection.min_segment_s
    budget_s = parse_budget(selection.budget, duration_s, least_s)
    fault = f"a budget of {selection.budget} is {format_time(share_s)}, less than a segment"
    message = f"{fault}: taking {format_time(budget_s)} (--min-segment)"
    # `select` says that a video shorter than a segment is kept whole
    return budget_s, () if budget_s == share_s or budget_s >= duration_s else (message,)


def plan_summary(
    source: Source,
    selection: Selection,
    settings: ShotSettings,
    extraction: Extraction,
    own: OwnScorer | None = None,
) -> SummaryPlan:
    """Plan the summary of a video or of features.

    Args:
        source, selection, settings, extraction: see `summarize`.
        own: gives the scores, if it is not found by the name of the model.

    Raises:
        InputError, WeightsError, UsageError: see `summarize`.
    """
    every_frame = settings.shots == "transnetv2"
    given = _every_frame(source, extraction) if every_frame else plan_features(source, extraction)
    if texts := texts_of(selection):
        require_readable(given.kind[0])
        read_queries(texts)
    speech = speech_for(selection, given.video, extraction)
    if scorer := own or installed_scorer(selection.model):
        return SummaryPlan(ShotsPlan(given, settings), selection, (scorer.name,), scorer, speech)
    models = candidates(selection.model, *given.kind, extraction.device)
    return SummaryPlan(ShotsPlan(given, settings), selection, models, speech=speech)


def _every_frame(source: Source, extraction: Extraction, *, with_features: bool = True) -> Input:
    """A video of which TransNetV2 sees every frame, after the features if these are needed too."""
    if isinstance(source, Features) or not has_pictures(source):
        raise UsageError("TransNetV2 reads every frame: features are not enough", hint="give the video")
    extraction = replace(extraction, fast=False)  # key frames are not enough
    video = probe_video(path_of(source), extraction)
    transitions = transitions_job(video, extraction)
    jobs = (extraction_job(video, extraction), transitions) if with_features else (transitions,)
    return Input(extraction, video, jobs, kept=kept_of(source))
