"""One decode pass over a video for all that is wanted of it, and none where the cache has it already."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from vidsum import checkpoints, provenance
from vidsum.device import choose_device
from vidsum.features import Extractor, cache, check_backend, describe, kept_extractor
from vidsum.features.extract import extract_features
from vidsum.features.extractor import Spec
from vidsum.memory import trimming
from vidsum.settings import Extraction
from vidsum.types import Features, Progress, VideoInfo
from vidsum.version import __version__
from vidsum.video.fan_out import Consumer, fan_out
from vidsum.video.frames import Sampling
from vidsum.video.playlist import files_of, is_playlist
from vidsum.video.read import read_frames


@dataclass(frozen=True)
class Job:
    """One thing to be made of a video's frames: from what, of which frames, and how."""

    provenance: dict[str, Any]
    sampling: Sampling
    consumer: Callable[[Progress | None], Consumer[Features]]
    """Makes the function that goes through the frames; loads the weights."""


def spec_of(how: Extraction) -> Spec:
    """What the extractor sees of a video and gives.

    Raises:
        UsageError: there is no such extractor, or it cannot take such clips.
    """
    return describe(how.extractor, fps=how.fps, clip_frames=how.clip_frames, stride_frames=how.stride_frames)


def extraction_job(video: VideoInfo, how: Extraction) -> Job:
    """Extracting features, as the settings say.

    Raises:
        UsageError: the choices do not go together; said before anything is fetched.
    """
    check_backend(how.backend, device=how.device, precision=how.precision)
    spec = spec_of(how)

    def consumer(progress: Progress | None) -> Consumer[Features]:
        if checkpoints.find(spec.checkpoint) is None:
            checkpoints.fetch(spec.checkpoint, progress)
        extractor = _extractor(how)
        return partial(
            extract_features, extractor=extractor, video=video, with_logits=how.logits, progress=progress
        )

    parameters = {
        "fps": spec.fps,
        "clip_frames": spec.clip_frames,
        "stride_frames": spec.stride_frames,
        "logits": how.logits,
        "precision": how.precision,
        "backend": how.backend,
    }
    made_from = _made_from(video, how, how.extractor, checkpoints.sha256_of(spec.checkpoint), parameters)
    return Job(made_from, spec.sampling, consumer)


def transitions_job(video: VideoInfo, how: Extraction) -> Job:
    """Seeing every frame of a video with TransNetV2."""
    from vidsum.shots import transnetv2

    def consumer(progress: Progress | None) -> Consumer[Features]:
        model = transnetv2.load_model(how.device, progress)
        return partial(transnetv2.see_transitions, model=model, video=video, progress=progress)

    sha256 = checkpoints.sha256_of(transnetv2.CHECKPOINT)
    return Job(_made_from(video, how, "transnetv2", sha256, {}), transnetv2.SAMPLING, consumer)


def _made_from(
    video: VideoInfo, how: Extraction, extractor: str, weights_sha256: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    path = Path(video.path)
    return {
        "vidsum": __version__,
        "extractor": extractor,
        "weights_sha256": weights_sha256,
        "parameters": {
            **parameters,
            "device": choose_device(how.device).type,
            "reader": how.reader,
            "strict": how.strict,
        },
        "video": provenance.of_files(files_of(path) if is_playlist(video) else (path,)),
    }


def run_jobs(
    video: VideoInfo, jobs: Sequence[Job], how: Extraction, progress: Progress | None
) -> list[Features]:
    """The features of each job: from the cache, and those not there in one decode pass."""
    found = [cache.get(job.provenance) if how.cache else None for job in jobs]
    missing = [number for number, features in enumerate(found) if features is None]
    if missing:
        consumers = [jobs[number].consumer(progress) for number in missing]
        samplings = [jobs[number].sampling for number in missing]
        with read_frames(video.path, samplings, reader=how.reader, strict=how.strict, info=video) as frames:
            made = fan_out(trimming(frames), consumers)
        for number, features in zip(missing, made, strict=True):
            whole = replace(
                features,
                duration_s=frames.end_s,
                provenance=jobs[number].provenance,
                warnings=frames.warnings,
            )
            found[number] = whole
            if how.cache and not frames.warnings:  # of a damaged video the warning must come every time
                cache.put(whole)
    return [
        replace(features, video=video, provenance=job.provenance)
        for features, job in zip(found, jobs, strict=True)
        if features is not None
    ]


def _extractor(how: Extraction) -> Extractor:
    """An extractor, kept for the next video of a batch."""
    return kept_extractor(
        how.extractor,
        device=how.device,
        precision=how.precision,
        backend=how.backend,
        fps=how.fps,
        clip_frames=how.clip_frames,
        stride_frames=how.stride_frames,
    )
