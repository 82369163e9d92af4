"""Features and changes of a video, all made in one decode pass."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from vidsum import checkpoints
from vidsum.device import Precision, device_type, prefers_int8, trimming, unload
from vidsum.features import can_be_int8, choose_backend, describe, get_extractor, movinet, weights_sha256
from vidsum.features.extract import extract_features
from vidsum.features.extractor import Extractor, Spec
from vidsum.features.settings import Extraction
from vidsum.grounding import vse_map
from vidsum.io import provenance
from vidsum.io.provenance import digest_of
from vidsum.io.series import suggest_film
from vidsum.options import without_defaults
from vidsum.results.cached import find_cached, find_features, store_cached
from vidsum.results.features import Features
from vidsum.results.screen_text import ScreenText
from vidsum.shots.cuts import changes_to_features
from vidsum.types import Progress, VideoInfo
from vidsum.version import __version__
from vidsum.video import changes
from vidsum.video.changes import ChangeMeter
from vidsum.video.frames import Sampling
from vidsum.video.key_frames import describe_sparse
from vidsum.video.listen import describe_used
from vidsum.video.read import read_frames
from vidsum.video.skipping import allow_key_frames
from vidsum.video.threads import Consumer, fan_out

_LONG_S = 1800.0
_RECORDED_BY_EFFECT = (
    "extractor",
    "fps",
    "clip_frames",
    "stride_frames",
    "logits",
    "precision",
    "backend",
    "device",
    "reader",
    "fast",
    "strict",
    "cache",
    "video_track",
    "audio_track",
    "subtitles",
)  # options of which `_job_provenance` records the effect on the features, if any


@dataclass(frozen=True)
class Job:
    """Features, or text, to make from the frames of a video."""

    provenance: dict[str, Any]
    sampling: Sampling | None
    consumer: Callable[[Progress | None], Consumer[Any]] | None
    """Makes the function that goes through the frames; loads the weights.

    Without it and a sampling, the job is the changes of the pictures that are decoded for other jobs.
    """
    makes: type[Features] | type[ScreenText] = Features

    def find(self) -> Any:
        """Return the result from the cache, if it is there."""
        if self.makes is Features:
            return find_features(self.provenance)
        return find_cached(ScreenText, self.provenance)


def resolve_spec(extraction: Extraction, video: VideoInfo | None = None) -> Spec:
    """Return what the extractor sees of a video and gives. Raises UsageError: unknown, or no such clips.

    Single frames of a video at a constant rate are sampled at that rate if it is lower: a second sample of a
    frame would say that the picture stands still.
    """
    spec = describe(
        extraction.extractor,
        fps=extraction.fps,
        clip_frames=extraction.clip_frames,
        stride_frames=extraction.stride_frames,
    )
    is_slow = video is not None and not video.is_vfr and video.n_frames > 1 and video.fps < spec.fps
    return replace(spec, fps=video.fps) if video and is_slow and spec.clip_frames == 1 else spec


def extraction_job(video: VideoInfo, extraction: Extraction) -> Job:
    """Return the job that extracts features. Raises UsageError: the choices do not go together."""
    spec = resolve_spec(extraction, video)
    precision = _resolve_precision(extraction, spec)
    backend = choose_backend(spec, extraction.backend, device=extraction.device, precision=precision)

    def consumer(progress: Progress | None) -> Consumer[Features]:
        if not spec.custom and checkpoints.find(spec.checkpoint) is None:
            checkpoints.fetch(spec.checkpoint, progress)
        extractor = replace(load_extractor(extraction), spec=spec)
        seen = partial(extract_features, extractor=extractor, video=video, with_logits=extraction.logits)
        return partial(seen, embed=vse_map.load_map() if spec.inner else None, progress=progress)

    parameters = {
        "fps": spec.fps,
        "clip_frames": spec.clip_frames,
        "stride_frames": spec.stride_frames,
        "logits": extraction.logits,
        "precision": precision,
        "backend": "own" if spec.custom else backend,
        **({"network": spec.network} if spec.network else {}),
        **({vse_map.RECORDED: checkpoints.sha256_of(vse_map.NAME)} if spec.inner else {}),
    }
    provenance = _job_provenance(
        video, extraction, [spec.sampling], extraction.extractor, weights_sha256(spec), parameters
    )
    return Job(provenance, spec.sampling, consumer)


def screen_text_job(video: VideoInfo, extraction: Extraction) -> Job:
    """Return the job that reads text on the screen. Raises PackageError: the extra `ocr` is missing."""
    from vidsum.features.text_lines import LONG_SIDE, read_screen_text, sampling_for
    from vidsum.features.text_reader import load_reader, reader_facts

    def consumer(progress: Progress | None) -> Consumer[ScreenText]:
        return partial(read_screen_text, read=load_reader(progress).read, video=video, progress=progress)

    sampling, (package, sha256) = sampling_for(video), reader_facts()
    parameters = {"package": package, "rate": sampling.fps, "long_side": LONG_SIDE}
    provenance = _job_provenance(video, extraction, [sampling], ScreenText.kind, sha256, parameters)
    return Job(provenance, sampling, consumer, makes=ScreenText)


def changes_job(video: VideoInfo, extraction: Extraction, jobs: Sequence[Job]) -> Job | None:
    """Return the job that measures changes of the pictures for other jobs; None if that is not possible."""
    if extraction.reader != "pyav":
        return None
    samplings, rates = _hosts_of(jobs)
    return Job(
        _job_provenance(video, extraction, samplings, changes.NAME, None, {"rates": rates}), None, None
    )


def movement_job(video: VideoInfo, extraction: Extraction, jobs: Sequence[Job]) -> Job | None:
    """Return the job that sees movement in what is decoded for other jobs; None with key frames alone."""
    if reads_key_frames(video, extraction):
        return None

    def consumer(progress: Progress | None) -> Consumer[Features]:
        return partial(movinet.read_movement, video=video, progress=progress)

    samplings, rates = _hosts_of(jobs)
    provenance = _job_provenance(
        video, extraction, samplings, movinet.NAME, checkpoints.sha256_of(movinet.NAME), {"rates": rates}
    )
    return Job(provenance, movinet.SAMPLING, consumer)


def _hosts_of(jobs: Sequence[Job]) -> tuple[list[Sampling], list[float]]:
    """Return the samplings that decide which pictures are decoded, and their rates."""
    samplings = [job.sampling for job in jobs if job.sampling and not job.sampling.is_guest]
    return samplings, sorted({sampling.fps or 0.0 for sampling in samplings})


def _job_provenance(
    video: VideoInfo,
    extraction: Extraction,
    samplings: Sequence[Sampling],
    extractor: str,
    weights_sha256: str | None,
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    path = Path(video.path)
    if reads_key_frames(video, extraction) and allow_key_frames(samplings):
        parameters = {**parameters, "fast": True}
    return {
        "vidsum": __version__,
        "extractor": extractor,
        **({"weights_sha256": weights_sha256} if weights_sha256 else {}),
        "parameters": {
            **parameters,
            "device": device_type(extraction.device),
            "reader": extraction.reader,
            "strict": extraction.strict,
            **without_defaults(extraction, *_RECORDED_BY_EFFECT),
        },
        "video": {
            **provenance.identify_file(path),
            **({"video_track": video.video_track} if video.video_track else {}),
        },
    }


def reads_key_frames(video: VideoInfo, extraction: Extraction) -> bool:
    """Return whether key frames alone are decoded: asked for, and close enough together to show the video."""
    is_refused = extraction.reader != "pyav"  # when it reads
    return extraction.fast and (is_refused or describe_sparse(video) is None)


def run_jobs(
    video: VideoInfo,
    jobs: Sequence[Job],
    extraction: Extraction,
    progress: Progress | None,
    memo: dict[str, Any] | None = None,
) -> list[Any]:
    """Return the result of each job: from `memo` or the cache, those not there in one decode pass.

    With `fast`, no job may need more than key frames, or the others would get more than they say, too.
    """
    digests = [digest_of(job.provenance) for job in jobs]
    results: list[Any] = [(memo or {}).get(digest) for digest in digests]
    if extraction.cache:
        results = [made or job.find() for made, job in zip(results, jobs, strict=True)]
    missing = [number for number, features in enumerate(results) if features is None]
    for number, features in _decode(video, jobs, missing, extraction, progress).items():
        results[number] = features
        if extraction.cache and not features.warnings:  # of a damaged video the warning must come every time
            store_cached(features)
    sparse = describe_sparse(video) if extraction.fast else None
    film = suggest_film(Path(video.path)) if video.n_frames == 1 else None
    alone = f"is one of several pictures; for a video of them: {film}" if film else None
    notes = describe_used(video.path, "video", video.video_track)
    notes += tuple(note for note in (sparse, alone) if note)
    made = [
        replace(features, video=video, provenance=job.provenance, warnings=(*notes, *features.warnings))
        for features, job in zip(results, jobs, strict=True)
        if features is not None
    ]
    if memo is not None:
        memo |= zip(digests, made, strict=True)
    return made


def _decode(
    video: VideoInfo,
    jobs: Sequence[Job],
    missing: Sequence[int],
    extraction: Extraction,
    progress: Progress | None,
) -> dict[int, Features]:
    if not missing:
        return {}
    meter = ChangeMeter() if any(jobs[number].consumer is None for number in missing) else None
    has_guest = any(_is_guest(jobs[number]) for number in missing)
    readers = {
        number: (job.sampling, job.consumer)
        for number, job in enumerate(jobs)
        if job.sampling
        and job.consumer
        and (number in missing or ((meter or has_guest) and not _is_guest(job)))
    }
    reading = read_frames(
        video,
        [sampling for sampling, _ in readers.values()],
        reader=extraction.reader,
        strict=extraction.strict,
        fast=reads_key_frames(video, extraction),
        meter=meter,
    )
    # OpenBLAS' threads wait in a loop, which takes their time from the decoder's
    with reading as frames, threadpool_limits(1, "blas"):  # it decodes while the networks are loaded
        # features that exist are read again: what the decoder leaves out depends on them
        drain: Consumer[Any] = partial(deque[Any], maxlen=0)
        consumers = [
            consumer(progress) if number in missing else drain for number, (_, consumer) in readers.items()
        ]
        seen = dict(zip(readers, fan_out(trimming(frames), consumers), strict=True))
    made = {}
    for number in missing:
        if (features := seen.get(number)) is None:
            assert meter is not None
            features = changes_to_features(meter.result(video.path), video)
        facts = jobs[number].provenance
        made[number] = replace(features, duration_s=frames.end_s, provenance=facts, warnings=frames.warnings)
    consumers.clear()
    if any(jobs[number].makes is ScreenText for number in missing):
        unload()  # they take 100 MB, which the networks that search the text need
    else:
        unload_if_long(video)
    return made


def _is_guest(job: Job) -> bool:
    return job.sampling is not None and job.sampling.is_guest


def unload_if_long(video: VideoInfo | None) -> None:
    """Free the networks in memory if a video is long: its features take as much, and they soon load again."""
    if video is not None and video.duration_s >= _LONG_S:
        unload()


def load_extractor(extraction: Extraction) -> Extractor:
    """Return an extractor, kept for the next video of a batch."""
    spec = resolve_spec(extraction)
    return get_extractor(
        spec,
        device=extraction.device,
        precision=_resolve_precision(extraction, spec),
        backend=extraction.backend,
    )


def _resolve_precision(extraction: Extraction, spec: Spec) -> Precision:
    if extraction.precision != "auto":
        return extraction.precision
    is_int8 = can_be_int8(spec, extraction.backend) and prefers_int8(extraction.device)
    return "int8" if is_int8 else "fp32"
