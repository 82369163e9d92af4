"""Describe a video in words: plan (what the descriptions depend on), then run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from vidsum import checkpoints
from vidsum.description.settings import Describing
from vidsum.description.writers import (
    Bank,
    Sentence,
    Writer,
    read_bank,
    retrieve,
    write_words,
)
from vidsum.device import cached_model
from vidsum.errors import InputError, Mention, UsageError, fill
from vidsum.features.settings import Extraction
from vidsum.grounding.actions import segment_actions
from vidsum.grounding.spaces import describe_space, extraction_for, resolve_space
from vidsum.grounding.vse_map import NAME as MAP
from vidsum.io.cache import cached_rows
from vidsum.io.provenance import identify_file
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.describe_by_vlm import ask_model, model_facts
from vidsum.pipelines.embedding import open_in_space
from vidsum.pipelines.keywords import DescribeOptions
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.segment_features import see_segments, segment_means
from vidsum.pipelines.sources import Video, VideoPath, has_pictures
from vidsum.pipelines.subtitles import read_cues
from vidsum.pipelines.transcribe import read_blocks
from vidsum.results.clock import shift_times
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.features import Features
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ShotSettings
from vidsum.speech.gaps import MARGIN_S, MIN_PAUSE_S, WORDS_A_MINUTE, find_gaps, fit_descriptions
from vidsum.speech.voice import RATE, find_speech
from vidsum.summary.fixed_camera import prefer_events
from vidsum.summary.picture_quality import quality_at
from vidsum.summary.score import best_score, candidate_models, weights_sha256
from vidsum.summary.settings import Selection
from vidsum.times import format_timestamp
from vidsum.types import FloatArray, Interval, Progress, VideoInfo
from vidsum.version import __version__
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound
from vidsum.video.probe import start_offset_s

SHOTS = ShotSettings(max_shot_s=10.0)  # longer shots are split: more happens in them than one sentence says
MIN_SURE = {"words": 0.65, "retrieve": 0.3}
MIN_SURE_IN_GAPS = {"words": 0.85, "retrieve": 0.8}
"""Confidence from which four of five are right (docs/algorithms/describe.md)."""


def describe(
    path: VideoPath | Video, *, progress: Progress | None = None, **options: Unpack[DescribeOptions]
) -> Descriptions:
    """Describe a video in words, a sentence for each shot.

    Args:
        path: a video file, of any length.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.description.settings.Describing`, such as `every_s=5`,
            `sentences="captions.csv"`, `in_gaps=True` or `texts="corrected.srt"`, and of
            `vidsum.features.settings.Extraction`.

    Returns sentences with their times and confidence; none where nothing is sure enough. Raises InputError:
    the video or the file of sentences cannot be read. WeightsError: weights are missing and cannot be
    fetched. UsageError: a setting is out of range, or the writer lacks what it needs.
    """
    settings, extraction = all_from_keywords(describe, (Describing, Extraction), options)
    return plan_descriptions(path, settings, extraction).run(progress)


def plan_descriptions(
    source: VideoPath | Video, settings: Describing, extraction: Extraction, speaker: str | None = None
) -> Plan[Descriptions]:
    """Plan `describe`: the video is probed and hashed, not decoded. `speaker` is for the record."""
    if isinstance(source, Features) or not has_pictures(source):
        raise UsageError("descriptions are of a video, not of features", hint="give the video")
    facts = _facts(settings)
    space, is_moving = facts.get("space", MAP), facts["writer"] == "words" and settings.actions
    video_input = open_in_space(space, source, extraction_for(space, extraction), actions=is_moving)
    if len(video_input.jobs) > 1:
        facts["movement_weights_sha256"] = video_input.jobs[1].provenance["weights_sha256"]
    models: tuple[str, ...] = ()
    if settings.in_gaps:
        facts["in_gaps"] = [MIN_PAUSE_S, MARGIN_S, WORDS_A_MINUTE]
    if settings.in_gaps and settings.texts is None:
        models = candidate_models(Selection().model, *video_input.kind, extraction.device)
        facts |= {"candidates": list(models), **weights_sha256(models)}
    if speaker is not None:
        facts["speak"] = speaker
    shots = without_defaults(SHOTS)
    work = _Work(
        settings, video_input, {**video_input.provenance, "shots": shots, "descriptions": facts}, models
    )
    return Plan(work.provenance, work.write if settings.texts is None else work.read)


@dataclass(frozen=True, eq=False)
class _Work:
    """Descriptions to make: from a video, or from the texts that people wrote."""

    settings: Describing
    video_input: Input
    provenance: dict[str, Any]
    models: tuple[str, ...]  # models of the importance that decides between descriptions for one pause

    def gaps(self, duration_s: float, progress: Progress | None) -> tuple[Interval, ...]:
        return tuple(find_gaps(_speech_spans(self.video_input, progress), duration_s))

    def read(self, progress: Progress | None) -> Descriptions:
        film = self.video_input.video
        assert film is not None
        descriptions = read_corrected(Path(str(self.settings.texts)), film)
        gaps = self.gaps(film.duration_s, progress) if self.settings.in_gaps else None
        warnings = () if gaps is None else _overlap_warnings(descriptions, gaps, start_offset_s(film))
        made = (descriptions, self.provenance["descriptions"]["writer"], film.duration_s, 0, gaps)
        return Descriptions(*made, video=film, provenance=self.provenance, warnings=warnings)

    def write(self, progress: Progress | None) -> Descriptions:
        settings, facts = self.settings, self.provenance["descriptions"]
        writer = facts["writer"]
        # first: what is missing shows before decoding
        write = None if settings.is_by_vlm else _choose_writer(settings, facts, progress)
        (features, *movement), pictures = self.video_input.read(progress)
        every_s, warnings, gaps = settings.every_s, list(features.warnings), None
        shots = find(features, SHOTS, pictures)
        segments = _split_evenly(every_s, features.duration_s) if every_s else shots.intervals
        min_sure, n_sent = facts.get("min_sure", 0.0), None
        if write is None:
            film, use_cache = self.video_input.video, self.video_input.extraction.cache
            assert film is not None
            sentences, n_sent, messages = ask_model(settings, film, segments, progress, use_cache=use_cache)
            warnings += messages
        else:
            actions = segment_actions(movement[0], segments, shots.edges_s) if movement else None
            sentences = write(see_segments(features, segments, facts["space"], actions))
        descriptions = join_descriptions(segments, sentences, min_sure)
        n_unsure = sum(not sentence.is_sure(min_sure) for sentence in sentences)
        if write is not None:
            warnings += describe_space(facts["space"]).notes
        if settings.in_gaps:
            gaps, device = self.gaps(features.duration_s, progress), self.video_input.extraction.device
            scored = best_score(self.models, features, None, Selection(), 1.0, device)
            # nobody speaks in a pause: the rule applies to films with speech too
            times, changes = features.timestamps, pictures.changes if pictures else None
            importance = prefer_events(scored, features, changes).importance * quality_at(changes, times)
            descriptions, messages = _fit_into_gaps(descriptions, writer, gaps, features, importance)
            warnings += messages
            if n_unsure:
                about = f"{n_unsure} of {len(sentences)} segments are not described in the pauses"
                missing = "activity or new place" if writer == "words" else "sentence"
                warnings.append(f"{about}: no {missing} reaches the confidence {min_sure:g}")
        return Descriptions(
            descriptions=tuple(descriptions),
            writer=writer,
            video_duration_s=features.duration_s,
            n_unsure=n_unsure,
            gaps=gaps,
            video=features.video,
            provenance=self.provenance,
            warnings=tuple(dict.fromkeys(warnings)),
            n_sent=n_sent,
        )


def read_corrected(path: Path, film: VideoInfo) -> tuple[Description, ...]:
    """Read descriptions that people wrote or corrected, from a SubRip or WebVTT file for players.

    One that lasts into the next ends there. Raises InputError: the file cannot be read, has no cue, or one
    that is not within the film.
    """
    offset_s, duration_s = start_offset_s(film), film.duration_s
    cues = shift_times(sorted(read_cues(path)), -offset_s)
    if not cues:
        raise InputError("has no cue of SubRip or WebVTT", subject=path)
    descriptions = []
    for (start_s, end_s, text), (next_s, *_) in pairwise([*cues, (duration_s, 0.0, "")]):
        end_s = min(end_s, next_s)
        if not start_s < end_s:
            fault = "begins after the film's end" if start_s >= duration_s else "does not end after it begins"
            cue = f"the cue at {format_timestamp(start_s + offset_s)}"
            raise InputError(f"{cue} {fault}, or before the next one begins", subject=path)
        descriptions.append(Description(start_s, end_s, text, 1.0))
    return tuple(descriptions)


def _overlap_warnings(
    descriptions: Sequence[Description], gaps: Sequence[Interval], offset_s: float
) -> tuple[str, ...]:
    over = [
        format_timestamp(description.start_s + offset_s)
        for description in descriptions
        if not any(
            low - MARGIN_S <= description.start_s + 1e-3 and description.end_s <= high + MARGIN_S + 1e-3
            for low, high in gaps
        )
    ]
    begin = f"descriptions at {', '.join(over[:3])}{' and later' * (len(over) > 3)}"
    return (f"over speech: {begin}",) if over else ()


def _facts(settings: Describing) -> dict[str, Any]:
    """Return what the sentences depend on. Raises UsageError, InputError: a writer lacks its sentences."""
    writer, facts = settings.writer, dict[str, Any]()
    if settings.texts is not None:
        if (writer, settings.every_s, settings.sentences) != ("auto", None, None):
            fault = (Mention("texts"), " has the descriptions, which nothing writes")
            raise UsageError(
                fault,
                hint=fill(
                    "leave out {}, {} and {}", Mention("writer"), Mention("every_s"), Mention("sentences")
                ),
            )
        return {"writer": "people", "texts_sha256": identify_file(Path(settings.texts))["sha256"]}
    if settings.is_by_vlm:
        return model_facts(settings)
    if writer == "auto":
        writer = "words" if settings.sentences is None else "retrieve"
    space = describe_space(resolve_space(settings.space) if writer == "words" else MAP)
    usual = (MIN_SURE_IN_GAPS if settings.in_gaps else MIN_SURE)[writer]
    facts = {
        "writer": writer,
        "every_s": settings.every_s,
        "min_sure": usual if settings.min_sure is None else settings.min_sure,
        "space": space.name,
        "text_weights_sha256": checkpoints.sha256_of(space.text_encoder),
    }
    if space.is_mapped:
        facts["map_sha256"] = checkpoints.sha256_of(MAP)
    if writer == "retrieve":
        if settings.sentences is None:
            raise UsageError(
                "the writer retrieve chooses from sentences of yours",
                hint=Mention("sentences", "captions.csv"),
            )
        facts["sentences_sha256"] = identify_file(Path(settings.sentences))["sha256"]
    return facts


def _choose_writer(settings: Describing, facts: Mapping[str, Any], progress: Progress | None) -> Writer:
    if facts["writer"] == "words":
        return partial(
            write_words, space=facts["space"], min_sure=facts["min_sure"], only_changes=settings.in_gaps
        )
    bank = _bank(_SentenceFile(Path(str(settings.sentences)), facts["sentences_sha256"], progress))
    return lambda seen: retrieve(seen.rows, bank)


def _split_evenly(every_s: float, duration_s: float) -> list[Interval]:
    """Return segments of one length; the last one is up to half longer or shorter."""
    edges = [every_s * number for number in range(max(1, round(duration_s / every_s)))]
    return list(pairwise([*edges, duration_s]))


def _speech_spans(video_input: Input, progress: Progress | None) -> list[Interval]:
    assert video_input.video is not None
    if video_input.video.audio_codec is None:
        return []
    sound = probe_sound(video_input.video.path, video_input.video)

    def listen() -> FloatArray:
        spans = [
            (piece.start_s, piece.start_s + piece.length_s)
            for piece in find_speech(read_blocks(sound, DecodeLog(), progress))
        ]
        return np.array(spans, np.float32).reshape(-1, 2)

    provenance = {"vidsum": __version__, "video": video_input.provenance["video"], "rate": RATE}
    spans = cached_rows("voices", provenance, listen) if video_input.extraction.cache else listen()
    return [(float(start_s), float(end_s)) for start_s, end_s in spans]


def _fit_into_gaps(
    descriptions: Sequence[Description],
    writer: str,
    gaps: Sequence[Interval],
    features: Features,
    importance: FloatArray,
) -> tuple[list[Description], list[str]]:
    """Return the descriptions that fit into pauses, with the times at which they are spoken, and warnings."""
    if not gaps:
        return [], [f"the speech has no pause of {MIN_PAUSE_S:g} s: nothing can be said in between"]
    if not descriptions:
        return [], []
    segments = [(description.start_s, description.end_s) for description in descriptions]
    means = segment_means(importance[:, None], features, segments)[:, 0]
    spoken = fit_descriptions(descriptions, writer, means.tolist(), gaps)
    if not (lost := len(descriptions) - len(spoken)):
        return spoken, []
    have = "has" if lost == 1 else "have"
    return spoken, [f"{lost} of {len(descriptions)} descriptions {have} no pause that is long enough"]


@dataclass(frozen=True)
class _SentenceFile:
    """A file of sentences, as it is now."""

    path: Path
    sha256: str
    progress: Progress | None = field(compare=False)


@cached_model(maxsize=1)
def _bank(file: _SentenceFile) -> Bank:
    return read_bank(file.path, file.progress)


def join_descriptions(
    segments: Sequence[Interval], said: Sequence[Sentence], min_sure: float = 0.0
) -> list[Description]:
    """Return the sure sentences of segments in a row; equal neighbours are one, of mean confidence."""
    descriptions = []
    rows = zip(segments, said, strict=True)
    for (text, is_sure), group in groupby(rows, lambda row: (row[1].text, row[1].is_sure(min_sure))):
        if is_sure:
            times, sentences = zip(*group, strict=True)
            known = [sentence.confidence for sentence in sentences if sentence.confidence is not None]
            confidence = float(np.mean(known)) if known else None
            descriptions.append(Description(times[0][0], times[-1][1], text, confidence))
    return descriptions
