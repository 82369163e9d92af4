"""Find the passages of a video that can be posted by themselves: plan, then run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from vidsum import checkpoints
from vidsum.description.opening_titles import title_of
from vidsum.description.writers import write_words
from vidsum.errors import InputError, Mention, UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.scenes import samples_between
from vidsum.grounding.spaces import extraction_for
from vidsum.grounding.vse_map import NAME as MAP
from vidsum.models.scaling import LEAST_IMPORTANCE, logit
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.describe import MIN_SURE
from vidsum.pipelines.keywords import ShortOptions
from vidsum.pipelines.plan import Input, Plan, open_video_input, report_step
from vidsum.pipelines.segment_features import see_segments
from vidsum.pipelines.sources import Video, VideoPath, has_pictures
from vidsum.pipelines.speech_evidence import plan_speech
from vidsum.pipelines.transcribe import describe_doubtful
from vidsum.results.features import Features
from vidsum.results.shorts import Short, Shorts
from vidsum.results.transcript import Transcript
from vidsum.shots.cuts import ShotPictures
from vidsum.shots.segmentation import find
from vidsum.shots.slide_times import find_slides
from vidsum.summary.content import content_of
from vidsum.summary.fixed_camera import prefer_events
from vidsum.summary.picture_quality import quality_at
from vidsum.summary.score import best_score, candidate_models, weights_sha256
from vidsum.summary.sentence_marks import marks_sha256
from vidsum.summary.settings import Selection, ShortSettings
from vidsum.summary.short_passages import (
    ShortPassage,
    choose_passages,
    find_scenes,
    find_thoughts,
    value_passages,
)
from vidsum.summary.slide_importance import number_slides, slides_of_talk
from vidsum.summary.speech_units import timed_texts
from vidsum.times import format_time
from vidsum.types import Progress, TimeArray
from vidsum.video.photographs import is_photograph

_MIN_SPOKEN = 0.2  # fraction of a video with speech from which its shorts are made of it


def make_shorts(
    path: VideoPath | Video, *, progress: Progress | None = None, **options: Unpack[ShortOptions]
) -> Shorts:
    """Find the passages of a video that can be posted by themselves; `vidsum.write_clips` writes them.

    Args:
        path: a video file.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.summary.settings.ShortSettings`, such as `count=3` or
            `length_s=(20, 60)`, and of `vidsum.features.settings.Extraction`.

    Returns whole thoughts of what is said, or scenes of a film in which little is said, best first; fewer
    than asked for if there are no more. Raises InputError: the video cannot be read, or is shorter than a
    short. WeightsError: weights are missing and cannot be fetched. UsageError: a setting is out of range.
    """
    settings, extraction = all_from_keywords(make_shorts, (ShortSettings, Extraction), options)
    return plan_shorts(path, settings, extraction).run(progress)


def plan_shorts(source: VideoPath | Video, settings: ShortSettings, extraction: Extraction) -> Plan[Shorts]:
    """Plan `make_shorts`: the video is probed and hashed, not decoded. Errors are the same."""
    if isinstance(source, Features) or not has_pictures(source):
        raise UsageError("shorts are of a video, not of features", hint="give the video")
    video_input = open_video_input(source, extraction_for(MAP, extraction))
    video, (shortest_s, longest_s) = video_input.video, settings.length_s
    assert video is not None
    if is_photograph(Path(video.path)):
        raise InputError("is a photograph, not a video", hint="give a video", subject=video.path)
    if video.duration_s < shortest_s:
        fault = f"is {video.duration_s:.0f} s long, shorter than a short of {shortest_s:g} s"
        longest_s = int(min(longest_s, video.duration_s))
        hint = Mention("length_s", f"{max(round(longest_s / 3), 1)}s-{longest_s}s") if longest_s > 1 else None
        raise InputError(fault, hint=hint, subject=video.path)
    models = candidate_models(Selection().model, *video_input.kind, extraction.device)
    facts: dict[str, Any] = {**without_defaults(settings), "candidates": list(models)}
    facts |= {**weights_sha256(models), "map_sha256": checkpoints.sha256_of(MAP)}
    provenance = {**video_input.provenance, "shorts": facts}
    speech = plan_speech(video, extraction, settings.evidence)
    if speech is not None:
        provenance["speech"] = speech.provenance["speech"]
        facts |= marks_sha256()
    return Plan(provenance, _Work(settings, video_input, speech, models, provenance).make)


@dataclass(frozen=True, eq=False)
class _Work:
    settings: ShortSettings
    video_input: Input
    speech: Plan[Transcript] | None
    models: Sequence[str]
    provenance: dict[str, Any]

    def make(self, progress: Progress | None) -> Shorts:
        transcript = self.speech.run(progress) if self.speech else None
        (features,), pictures = self.video_input.read(progress)
        report_step(progress, "choosing shorts")
        edges_s = find(features, pictures=pictures).edges_s
        passages = self.thoughts(transcript, edges_s, progress) if transcript else []
        evidence = "speech" if passages or self.settings.evidence == "speech" else "picture"
        if evidence == "picture":
            transcript = None
            passages = find_scenes(edges_s, self.settings.length_s)
        chosen = self.choose(passages, features, pictures, edges_s, transcript)
        picked = [passages[number] for number, _ in chosen]
        titles = self.titles(picked, features, transcript)
        shorts = [
            Short(part.start_s, part.end_s, score, title, " ".join(part.texts))
            for part, (_, score), title in zip(picked, chosen, titles, strict=True)
        ]
        return Shorts(
            shorts=tuple(shorts),
            evidence=evidence,
            video_duration_s=features.duration_s,
            note=self.note(len(shorts), evidence),
            video=features.video,
            provenance=self.provenance,
            warnings=(*features.warnings, *(describe_doubtful(transcript) if transcript else ())),
        )

    def thoughts(
        self, transcript: Transcript, edges_s: TimeArray, progress: Progress | None
    ) -> list[ShortPassage]:
        """Return passages of speech; none where little is said and speech is not asked for."""
        spoken_s = sum(part.length_s for part in transcript.trusted.sentences())
        if self.settings.evidence == "auto" and spoken_s < _MIN_SPOKEN * float(edges_s[-1]):
            return []
        return find_thoughts(transcript, edges_s, self.settings.length_s, progress)

    def choose(
        self,
        passages: Sequence[ShortPassage],
        features: Features,
        pictures: ShotPictures | None,
        edges_s: TimeArray,
        transcript: Transcript | None,
    ) -> list[tuple[int, float]]:
        """Return the numbers of the best passages and what they are worth, best first."""
        if not passages:
            return []
        changes = pictures.changes if pictures else None
        scored = best_score(self.models, features, None, Selection(), 1.0, self.video_input.extraction.device)
        if transcript is None:
            scored = prefer_events(scored, features, changes)
        slides = slides_of_talk(find_slides(changes), features.duration_s)
        shots = [samples_between(features.timestamps, *shot) for shot in pairwise(edges_s.tolist())]
        texts = timed_texts(transcript, None)
        content = content_of(features, shots, number_slides(features, slides), texts)
        importance = scored.importance * quality_at(changes, features.timestamps)
        expected = scored.slope * logit(importance, LEAST_IMPORTANCE)
        values, shows = value_passages(
            passages, content, features.timestamps, np.asarray(expected, np.float64)
        )
        return choose_passages(passages, values, shows, self.settings.count)

    def titles(
        self, picked: Sequence[ShortPassage], features: Features, transcript: Transcript | None
    ) -> list[str]:
        """Return a title for each passage, in its words or in words for what is seen."""
        if not picked:
            return []
        if transcript is None:
            spans = [(part.start_s, part.end_s) for part in picked]
            seen = write_words(see_segments(features, spans, MAP, None), MAP, MIN_SURE["words"])
            titles = list[str]()
            for part, sentence in zip(picked, seen, strict=True):
                text = sentence.text.rstrip(".")
                named = text and text not in titles
                titles.append(text if named else f"Scene at {format_time(part.start_s)}")
            return titles
        return [title_of(part.texts) for part in picked]

    def note(self, number: int, evidence: str) -> str:
        """Return why there are fewer shorts than were asked for; empty where there are as many."""
        if number >= self.settings.count:
            return ""
        low_s, high_s = self.settings.length_s
        what = "whole thought" if evidence == "speech" else "scene"
        length, counts = f"{low_s:g} to {high_s:g} s", f"{number} of {self.settings.count} shorts"
        if not number:
            return f"{counts}: no {what} has {length}"
        return f"{counts}: no other {what} of {length} is left"
