"""Sounds of a video: plan (what their scores depend on), then listen; and the moments of queries in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.features.sounds import N_CLASSES, NAME, RATE, STEP_S, score_sounds
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.sounds import ENCODER, match_classes, sound_moments
from vidsum.grounding.windows import grid
from vidsum.io import cache
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.queries import Queries
from vidsum.pipelines.speech_evidence import without_weak
from vidsum.results.moments import Grounding, QueryMoments, quote_queries
from vidsum.types import FloatArray, Progress
from vidsum.version import __version__
from vidsum.video.damage import CANCELLED, DecodeLog
from vidsum.video.listen import SoundInfo, describe_used, probe_sound, read_sound

_FOLDER = "sounds"  # folder in the cache
_STORED = np.dtype("<f2")  # 4 MB for an hour
_BLOCK_S = 30.0  # sound that is in memory at once


@dataclass(frozen=True, eq=False)
class SoundScores:
    """How much of each class is in the sound of a video."""

    scores: FloatArray  # [T, N_CLASSES] in [0, 1], each of `STEP_S` from the first picture on
    duration_s: float
    warnings: tuple[str, ...] = ()


def plan_sound_moments(
    queries: Queries, retrieval: Retrieval, video_input: Input, facts: Mapping[str, Any]
) -> Plan[Grounding]:
    """Plan the moments of queries by sounds alone; `facts` are those of the search for moments.

    Raises InputError: the video has no sound. UsageError: they are of features, or with `min_present`.
    """
    if retrieval.min_present:
        raise UsageError(
            "--min-present needs the picture: sounds have no match probability", hint="--in picture"
        )
    plan = plan_sounds(video_input)
    sha256 = checkpoints.sha256_of(ENCODER)
    provenance = {
        **plan.provenance,
        "grounding": {**facts, "evidence": ["sound"]},
        "sounds": {**plan.provenance["sounds"], "text_weights_sha256": sha256},
    }

    def make(progress: Progress | None) -> Grounding:
        sounds = plan.run(progress)
        answers, unknown = _answers(sounds, queries, retrieval, video_input.extraction.device)
        notes = [f"{quote_queries(unknown)}: no kind of sound that the network knows"] if unknown else []
        return Grounding(
            queries=queries.attach_spoken(answers),
            timestamps=grid(sounds.duration_s, STEP_S),
            step_s=STEP_S,
            video_duration_s=sounds.duration_s,
            model=facts["model"],
            space=facts["space"],
            evidence=("sound",),
            video=video_input.video,
            provenance=provenance,
            warnings=tuple(dict.fromkeys([*queries.warnings, *sounds.warnings, *notes])),
        )

    return Plan(provenance, make)


def _answers(
    sounds: SoundScores, queries: Queries, retrieval: Retrieval, device: str
) -> tuple[list[QueryMoments], list[str]]:
    """Return the answers, and the queries that no class fits."""
    matches = match_classes(queries.texts, retrieval.language, device)
    answers = []
    for text, classes in zip(queries.texts, matches, strict=True):
        curve = sounds.scores[:, classes].max(axis=1, initial=0.0)
        moments = tuple(sound_moments(curve, sounds.duration_s)[: retrieval.most_moments])
        answers.append(without_weak(QueryMoments(text, moments, curve), retrieval))
    unknown = [text for text, classes in zip(queries.texts, matches, strict=True) if not len(classes)]
    return answers, unknown


def plan_sounds(video_input: Input) -> Plan[SoundScores]:
    """Plan the sounds of a video. Raises InputError: it has none. UsageError: it is features."""
    video, extraction = video_input.video, video_input.extraction
    if video is None:
        raise UsageError("features have no sound", hint="give the video, or --in seen")
    sound = probe_sound(video.path, video)
    facts = {"model": NAME, "weights_sha256": checkpoints.sha256_of(NAME)}
    provenance = {"vidsum": __version__, "video": video_input.file, "sounds": facts}

    def make(progress: Progress | None) -> SoundScores:
        content = cache.find_bytes(_FOLDER, provenance) if extraction.cache else None
        warnings = list(describe_used(sound.path, "audio", sound.track))
        if content is None:
            log = DecodeLog()
            content = _listen(sound, log, progress).astype(_STORED).tobytes()
            faults = [f"{sound.path}: {log.errors} packets of its sound are damaged, and count as silence"]
            faults = [*(faults if log.errors else ()), *([CANCELLED] if log.cancelled_s else ())]
            if extraction.cache and not faults:  # faults must be reported every time
                cache.store_bytes(_FOLDER, provenance, content)
            warnings += faults
        scores = np.frombuffer(content, _STORED).reshape(-1, N_CLASSES).astype(np.float32)
        return SoundScores(scores, sound.duration_s, tuple(warnings))

    return Plan(provenance, make)


def _listen(sound: SoundInfo, log: DecodeLog, progress: Progress | None) -> FloatArray:
    """Return the scores of all windows of the source; 0 where its sound has ended."""

    def blocks() -> Iterator[FloatArray]:
        for number, block in enumerate(read_sound(sound, RATE, _BLOCK_S, log)):
            if progress:
                progress("listening", number * _BLOCK_S, sound.duration_s)
            yield block

    scores = score_sounds(blocks())  # the last block ends in silence
    length = len(grid(sound.duration_s, STEP_S))
    return np.pad(scores, ((0, max(length - len(scores), 0)), (0, 0)))[:length]
