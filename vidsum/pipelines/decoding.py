"""What is made of a video's frames, all of it in one decode pass: features, transitions, changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from vidsum import checkpoints, provenance
from vidsum.device import Precision, device_type, prefers_int8, trimming
from vidsum.features import cache, can_be_int8, choose_backend, describe, get_extractor, weights_sha256
from vidsum.features.extract import extract_features
from vidsum.features.extractor import Extractor, Spec
from vidsum.features.settings import Extraction
from vidsum.grounding import vse
from vidsum.options import without_defaults
from vidsum.provenance import digest_of
from vidsum.results.features import Features
from vidsum.shots.cuts import changes_to_features
from vidsum.types import Progress, VideoInfo
from vidsum.version import __version__
from vidsum.video import changes
from vidsum.video.changes import ChangeMeter
from vidsum.video.frames import Frame, Sampling
from vidsum.video.playlist import files_of, is_playlist
from vidsum.video.read import read_frames
from vidsum.video.skipping import allow_key_frames
from vidsum.video.threads import Consumer, fan_out
from vidsum.video.used_track import describe_used

_TRANSITIONS = "transnetv2"
_RECORDED_BY_EFFECT = (
    *("extractor", "fps", "clip_frames", "stride_frames", "logits", "precision", "backend", "device"),
    *("reader", "hwaccel", "fast", "strict", "cache", "allow_playlists", "video_track", "audio_track"),
)
"""Options of which `_job_provenance` records what they do to the features, or which do nothing to them."""


@dataclass(frozen=True)
class Job:
    """One thing to be made of a video's frames: from what, of which frames, and how."""

    provenance: dict[str, Any]
    sampling: Sampling | None
    consumer: Callable[[Progress | None], Consumer[Features]] | None
    """Makes the function that goes through the frames; loads the weights.

    Without it and a sampling, the job is the changes of the pictures that are decoded for other jobs.
    """


def resolve_spec(how: Extraction, video: VideoInfo | None = None) -> Spec:
    """Return what the extractor sees of a video and gives.

    Single frames of a video at a constant rate are sampled at that rate if it is lower: a second sample of a
    frame would say that the picture stands still. Raises UsageError: there is no such extractor, or it cannot
    take such clips.
    """
    spec = describe(how.extractor, fps=how.fps, clip_frames=how.clip_frames, stride_frames=how.stride_frames)
    is_slow = video is not None and not video.is_vfr and video.n_frames > 1 and video.fps < spec.fps
    return replace(spec, fps=video.fps) if video and is_slow and spec.clip_frames == 1 else spec


def extraction_job(video: VideoInfo, how: Extraction) -> Job:
    """Extracting features, as the settings say.

    Raises UsageError: the choices do not go together; said before anything is fetched.
    """
    spec = resolve_spec(how, video)
    precision = _resolve_precision(how, spec)
    backend = (
        "own" if spec.custom else choose_backend(spec, how.backend, device=how.device, precision=precision)
    )

    def consumer(progress: Progress | None) -> Consumer[Features]:
        if not spec.custom and checkpoints.find(spec.checkpoint) is None:
            checkpoints.fetch(spec.checkpoint, progress)
        extractor = replace(load_extractor(how), spec=spec)
        seen = partial(extract_features, extractor=extractor, video=video, with_logits=how.logits)
        return partial(seen, embed=vse.load_map() if spec.inner else None, progress=progress)

    parameters = {
        "fps": spec.fps,
        "clip_frames": spec.clip_frames,
        "stride_frames": spec.stride_frames,
        "logits": how.logits,
        "precision": precision,
        "backend": backend,
        **({"network": spec.network} if spec.network else {}),
        **({vse.RECORDED: checkpoints.sha256_of(vse.NAME)} if spec.inner else {}),
    }
    provenance = _job_provenance(video, how, [spec.sampling], how.extractor, weights_sha256(spec), parameters)
    return Job(provenance, spec.sampling, consumer)


def transitions_job(video: VideoInfo, how: Extraction) -> Job:
    """Seeing every frame of a video with TransNetV2."""
    from vidsum.shots import transnetv2

    def consumer(progress: Progress | None) -> Consumer[Features]:
        model = transnetv2.load_model(how.device, progress)
        return partial(transnetv2.predict_transitions, model=model, video=video, progress=progress)

    sha256 = checkpoints.sha256_of(transnetv2.CHECKPOINT)
    provenance = _job_provenance(video, how, [transnetv2.SAMPLING], _TRANSITIONS, sha256, {})
    return Job(provenance, transnetv2.SAMPLING, consumer)


def changes_job(video: VideoInfo, how: Extraction, jobs: Sequence[Job]) -> Job | None:
    """Measuring how the pictures change that are decoded for other jobs; None with readers that do not tell,
    and where TransNetV2 finds the cuts.

    Which pictures are decoded depends on what all of the jobs sample.
    """
    if how.reader != "pyav" or any(job.provenance["extractor"] == _TRANSITIONS for job in jobs):
        return None
    samplings = [job.sampling for job in jobs if job.sampling]
    rates = sorted({sampling.fps or 0.0 for sampling in samplings})
    return Job(_job_provenance(video, how, samplings, changes.NAME, None, {"rates": rates}), None, None)


def _job_provenance(
    video: VideoInfo,
    how: Extraction,
    samplings: Sequence[Sampling],
    extractor: str,
    weights_sha256: str | None,
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    path = Path(video.path)
    if hardware := choose_hardware(video, how):  # its colours may differ in the last digit
        parameters = {**parameters, "hwaccel": hardware}
    if how.fast and allow_key_frames(samplings):
        parameters = {**parameters, "fast": True}
    return {
        "vidsum": __version__,
        "extractor": extractor,
        **({"weights_sha256": weights_sha256} if weights_sha256 else {}),
        "parameters": {
            **parameters,
            "device": device_type(how.device),
            "reader": how.reader,
            "strict": how.strict,
            **without_defaults(how, *_RECORDED_BY_EFFECT),
        },
        "video": {
            **provenance.identify_files(files_of(path) if is_playlist(video) else (path,)),
            **({"video_track": video.video_track} if video.video_track else {}),
        },
    }


def choose_hardware(video: VideoInfo, how: Extraction) -> str | None:
    """What decodes the video in place of the CPU, if that is asked for and there is some."""
    if how.hwaccel == "none":
        return None
    from vidsum.video.hardware import choose_hardware

    return choose_hardware(video, how.hwaccel)


def run_jobs(
    video: VideoInfo,
    jobs: Sequence[Job],
    how: Extraction,
    progress: Progress | None,
    kept: dict[str, Any] | None = None,
) -> list[Features]:
    """Return the features of each job: from `kept` or the cache, and those not there in one decode pass.

    With `how.fast`, no job may need more than key frames, or the others would get more than they say, too.
    """
    digests = [digest_of(job.provenance) for job in jobs]
    found: list[Features | None] = [(kept or {}).get(digest) for digest in digests]
    if how.cache:
        found = [features or cache.get(job.provenance) for features, job in zip(found, jobs, strict=True)]
    missing = [number for number, features in enumerate(found) if features is None]
    for number, features in _decode(video, jobs, missing, how, progress).items():
        found[number] = features
        if how.cache and not features.warnings:  # of a damaged video the warning must come every time
            cache.put(features)
    notes = describe_used(video.path, "video", video.video_track)
    made = [
        replace(features, video=video, provenance=job.provenance, warnings=(*notes, *features.warnings))
        for features, job in zip(found, jobs, strict=True)
        if features is not None
    ]
    if kept is not None:
        kept |= zip(digests, made, strict=True)
    if how.hwaccel == "none" or choose_hardware(video, how):
        return made
    note = f"{video.path}: the CPU decodes it, for no hardware here does (--hwaccel {how.hwaccel})"
    return [replace(features, warnings=(*features.warnings, note)) for features in made]


def _decode(
    video: VideoInfo, jobs: Sequence[Job], missing: Sequence[int], how: Extraction, progress: Progress | None
) -> dict[int, Features]:
    """Return the features of the jobs that are missing, by their numbers, in one decode pass; none for
    none.
    """
    if not missing:
        return {}
    meter = ChangeMeter() if any(jobs[number].consumer is None for number in missing) else None
    readers = {
        number: (job.sampling, job.consumer)
        for number, job in enumerate(jobs)
        if job.sampling and job.consumer and (meter or number in missing)
    }
    with read_frames(
        video,
        [sampling for sampling, _ in readers.values()],
        reader=how.reader,
        strict=how.strict,
        hardware=choose_hardware(video, how),
        fast=how.fast,
        meter=meter,
    ) as frames:  # which decodes from now on, while the networks are loaded
        consumers = [
            consumer(progress) if number in missing else _drain for number, (_, consumer) in readers.items()
        ]
        seen = dict(zip(readers, fan_out(trimming(frames), consumers), strict=True))
    made = {}
    for number in missing:
        if (features := seen.get(number)) is None:
            assert meter is not None
            features = changes_to_features(meter.result(video.path), video)
        facts = jobs[number].provenance
        made[number] = replace(features, duration_s=frames.end_s, provenance=facts, warnings=frames.warnings)
    return made


def _drain(frames: Iterable[Frame]) -> None:
    """For features that exist: what the decoder leaves out depends on their frames."""
    for _ in frames:
        pass


def load_extractor(how: Extraction) -> Extractor:
    """Return an extractor, kept for the next video of a batch."""
    spec = resolve_spec(how)
    return get_extractor(
        spec, device=how.device, precision=_resolve_precision(how, spec), backend=how.backend
    )


def _resolve_precision(how: Extraction, spec: Spec) -> Precision:
    if how.precision != "auto":
        return how.precision
    is_int8 = can_be_int8(spec, how.backend) and prefers_int8(how.device)
    return "int8" if is_int8 else "fp32"
