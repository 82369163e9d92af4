"""Sounds of a video: plan (what their scores depend on), then listen."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vidsum import checkpoints
from vidsum.evidence.audible import SoundScores, find_events, is_silent, match_classes, read_names
from vidsum.evidence.protocol import encode_queries
from vidsum.features.settings import Extraction
from vidsum.features.yamnet import N_CLASSES, NAME, RATE, STEP_S, score_sounds
from vidsum.grounding.windows import grid
from vidsum.io import cache
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.sources import source_path
from vidsum.pipelines.transcribe import describe_damage
from vidsum.results.transcript import SoundEvent, Transcript
from vidsum.types import FloatArray, Progress
from vidsum.version import __version__
from vidsum.video.damage import CANCELLED, DecodeLog
from vidsum.video.listen import SoundInfo, describe_used, probe_sound, read_sound
from vidsum.video.threads import ReadAhead

_FOLDER = "sounds"  # folder in the cache
_STORED = np.dtype("<f2")  # 4 MB for an hour
_BLOCK_S, _BLOCKS_AHEAD = 30.0, 2  # length of blocks, and how many are decoded while the network runs


def plan_sounds(video_input: Input, *, only_cached: bool) -> Plan[SoundScores] | None:
    """Plan the sounds of a video; None where their scores must be cached, and are not.

    Raises InputError: the video has no sound.
    """
    video, extraction = video_input.video, video_input.extraction
    assert video is not None
    if only_cached and not (video.has_audio and extraction.cache):
        return None
    plan = _plan_scores(probe_sound(video.path, video), video_input.file, extraction)
    return None if only_cached and not cache.find_bytes(_FOLDER, plan.provenance) else plan


def names_sound(text: str, language: str) -> bool:
    """Return whether a query names a sound that can be recognised; a warning lists the nearest if not."""
    return bool(len(match_classes(*encode_queries([text], language))))


def list_sounds() -> str:
    """Return the names of all sounds that can be recognised, a line each."""
    return "\n".join(", ".join(names) for names in read_names())


def with_events(
    plan: Plan[Transcript], path: str | os.PathLike[str], extraction: Extraction
) -> Plan[Transcript]:
    """Return the plan of a transcript of a file with applause, cheering, laughter and music in its events."""
    sound = probe_sound(source_path(path), None, extraction.audio_track)
    sounds = _plan_scores(sound, plan.provenance["video"], extraction)
    provenance = {**plan.provenance, "sounds": sounds.provenance["sounds"]}

    def make(progress: Progress | None) -> Transcript:
        transcript, scored = plan.run(progress), sounds.run(progress)
        events = tuple(
            SoundEvent(moment.start_s, moment.end_s, name, moment.present or 0.0)
            for name, moment in find_events(scored.scores, scored.duration_s)
        )
        warnings = tuple(dict.fromkeys([*transcript.warnings, *scored.warnings]))
        return replace(transcript, events=events, provenance=provenance, warnings=warnings)

    return Plan(provenance, make)


def _plan_scores(sound: SoundInfo, source: Mapping[str, Any], extraction: Extraction) -> Plan[SoundScores]:
    facts = {"model": NAME, "weights_sha256": checkpoints.sha256_of(NAME)}
    provenance = {"vidsum": __version__, "video": source, "sounds": facts}

    def make(progress: Progress | None) -> SoundScores:
        content = cache.find_bytes(_FOLDER, provenance) if extraction.cache else None
        warnings = list(describe_used(sound.path, "audio", sound.track))
        if content is None:
            log = DecodeLog()
            content = _listen(sound, log, progress).astype(_STORED).tobytes()
            faults = [*describe_damage(log.errors), *([CANCELLED] if log.cancelled_s else ())]
            if extraction.cache and not faults:  # faults must be reported every time
                cache.store_bytes(_FOLDER, provenance, content)
            warnings += faults
        scores = np.frombuffer(content, _STORED).reshape(-1, N_CLASSES).astype(np.float32)
        warnings += ["its sound is silent, or nearly so"] if is_silent(scores) else []
        return SoundScores(scores, sound.duration_s, tuple(warnings))

    return Plan(provenance, make)


def _listen(sound: SoundInfo, log: DecodeLog, progress: Progress | None) -> FloatArray:
    """Return the scores of all windows of the source; 0 where its sound has ended."""

    def blocks() -> Iterator[FloatArray]:
        with ReadAhead(read_sound(sound, RATE, _BLOCK_S, log), _BLOCKS_AHEAD) as ahead:
            for number, block in enumerate(ahead):
                if progress:
                    progress("listening", number * _BLOCK_S, sound.duration_s)
                yield block

    scores = score_sounds(blocks())  # the last block ends in silence
    length = len(grid(sound.duration_s, STEP_S))
    return np.pad(scores, ((0, max(length - len(scores), 0)), (0, 0)))[:length]
