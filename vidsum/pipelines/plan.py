"""A plan, which every public function makes first, and the input that it reads.

A plan knows its result's `provenance` before anything is decoded. A video is probed and decoded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, Unpack

from vidsum.errors import InputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import digest_of
from vidsum.options import from_keywords
from vidsum.pipelines.decoding import (
    Job,
    changes_job,
    extraction_job,
    reads_key_frames,
    resolve_spec,
    run_jobs,
)
from vidsum.pipelines.keywords import SamplingOptions
from vidsum.pipelines.sources import Source, Video, VideoPath, has_pictures, memo_of, probe_video, source_path
from vidsum.results.cached import find_features, store_cached
from vidsum.results.feature_files import read_features, write_feature_file
from vidsum.results.features import Features
from vidsum.shots.cuts import ShotPictures, changes_to_features
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.video.changes import NAME
from vidsum.video.segments import measure_changes

Made = TypeVar("Made")


@dataclass(frozen=True)
class Plan(Generic[Made]):
    """A result to make."""

    provenance: dict[str, Any]  # of the result: video, weights, and settings not at their defaults
    make: Callable[[Progress | None], Made]

    def run(self, progress: Progress | None = None) -> Made:
        """Make the result; `progress` is called meanwhile. Raises UsageError: it cannot be called."""
        if progress is not None and not callable(progress):
            raise UsageError(f"progress must be a function, not {progress!r}", hint="progress=print")
        return self.make(progress)


@dataclass(frozen=True)
class Input:
    """The input of a pipeline: a probed video with the jobs to run on it, or existing features."""

    extraction: Extraction
    video: VideoInfo | None = None
    jobs: tuple[Job, ...] = ()
    features: Features | None = None
    memo: dict[str, Any] | None = None  # where a `Video` keeps what was made of it

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Provenance of the first job's features, or of the existing ones."""
        if self.features is not None:
            return self.features.effective_provenance
        provenance, track = self.jobs[0].provenance, self.video and self.video.audio_track
        return {**provenance, "video": {**provenance["video"], "audio_track": track}} if track else provenance

    @property
    def file(self) -> dict[str, Any]:
        """Size, hash and audio track of the video's file, as transcripts record them."""
        return {key: value for key, value in self.provenance["video"].items() if key != "video_track"}

    @property
    def kind(self) -> tuple[str, float, bool, float]:
        """Extractor, features a second, whether they have embeddings, and the video's frames a second."""
        if self.features is not None:
            has = self.features.embeddings is not None
            return self.features.extractor, 1 / self.features.step_s, has, self.features.video_fps
        spec, fps = resolve_spec(self.extraction, self.video), self.video.fps if self.video else math.inf
        return self.extraction.extractor, 1 / spec.step_s, spec.inner > 0, fps

    def read(self, progress: Progress | None = None) -> tuple[list[Features], ShotPictures | None]:
        """Return the features of each job, and what is known of the pictures in between, where shots begin.

        Features that exist stand for one job, without pictures. Where key frames alone are read, nothing
        else is.
        """
        if self.features is not None:
            return [self.features], None
        assert self.video is not None
        measured = changes_job(self.video, self.extraction, self.jobs)
        jobs = [*self.jobs, measured] if measured else self.jobs
        made = run_jobs(self.video, jobs, self.extraction, progress, self.memo)
        changes = made.pop() if measured else None
        is_coarse = reads_key_frames(self.video, self.extraction)
        return made, ShotPictures(changes, None if is_coarse else self._look_closer)

    def once(self, provenance: Mapping[str, Any], make: Callable[[], Made]) -> Made:
        """Return the result of `make`, which runs once for each `Video`."""
        if self.memo is None:
            return make()
        digest = digest_of(provenance)
        if digest not in self.memo:
            self.memo[digest] = make()
        made: Made = self.memo[digest]
        return made

    def _look_closer(self, segments: Sequence[Interval]) -> Features | None:
        """Return the changes within segments, from memory or cache if there; None where nothing decodes."""
        video = self.video
        assert video is not None
        provenance: dict[str, Any] = {
            "vidsum": self.provenance["vidsum"],
            "extractor": NAME,
            "parameters": {"segments": [list(segment) for segment in segments]},
            "video": self.jobs[0].provenance["video"],
        }
        changes = find_features(provenance) if self.extraction.cache else None
        if changes is None:
            with suppress(InputError):
                changes = self.once(
                    provenance,
                    lambda: replace(
                        changes_to_features(measure_changes(video, segments), video), provenance=provenance
                    ),
                )
                if self.extraction.cache:
                    store_cached(changes)
        return changes


def report_step(progress: Progress | None, step: str) -> None:
    """Report the beginning of a step whose length is not known."""
    if progress:
        progress(step, 0, 0)


def open_input(source: Source, extraction: Extraction) -> Input:
    """Return a video to extract features of, or existing features. Raises InputError, UsageError."""
    if isinstance(source, Features):
        return Input(extraction, features=source)
    if not has_pictures(source):
        path, _, name = source_path(source).partition("#")
        return Input(extraction, features=read_features(path, name or None))
    return open_video_input(source, extraction)


def open_video_input(source: VideoPath | Video, extraction: Extraction) -> Input:
    """Return a video to extract features of, whatever its name. Raises the errors of `extract`."""
    resolve_spec(extraction)  # refuse an unknown extractor before opening the file
    video = probe_video(source_path(source), extraction)
    return Input(extraction, video, (extraction_job(video, extraction),), memo=memo_of(source))


def extract(
    path: VideoPath,
    extractor: str = Extraction.extractor,
    *,
    progress: Progress | None = None,
    **options: Unpack[SamplingOptions],
) -> Features:
    """Return features of a video.

    Args:
        path: a video file.
        extractor: one of `vidsum.features.EXTRACTORS`, or an own one by its name (`register_extractor`).
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: the other fields of `vidsum.features.settings.Extraction`, as `fps=1.0`, `device="cpu"`.

    Returns features [T, D] with their times. Raises InputError: the file cannot be read or holds no video.
    WeightsError: the extractor's weights are unavailable. UsageError: a setting is invalid.
    """
    plan = plan_extraction(path, from_keywords(extract, Extraction, {"extractor": extractor, **options}))
    return plan.run(progress)


def plan_extraction(source: VideoPath | Video, extraction: Extraction) -> Plan[Features]:
    """Plan the features of a video. Raises InputError, UsageError: see `extract`."""
    video_input = open_video_input(source, extraction)
    return Plan(video_input.jobs[0].provenance, lambda progress: video_input.read(progress)[0][0])


def save_features(features: Features, path: Path) -> None:
    """Write features to a file, h5 with shots by KTS. Raises UsageError: the suffix; OutputError."""
    from vidsum.shots.segmentation import find

    change_points = None if path.suffix == ".npz" else find(features).change_points
    write_feature_file(features, path, path.stem, change_points=change_points)
