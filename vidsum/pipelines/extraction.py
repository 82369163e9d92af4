"""Features of a video: one decode pass for all that is needed of it, none where the cache has it already.

A plan knows what its result would be made from (`provenance`) before anything is decoded; `run` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vidsum.features import cache
from vidsum.features.cache import CacheState
from vidsum.options import from_keywords
from vidsum.pipelines.decoding import Job, changes_job, extraction_job, run_jobs, spec_of
from vidsum.pipelines.sources import Source, Video, VideoPath, has_pictures, kept_of, path_of, probe_video
from vidsum.provenance import digest_of
from vidsum.results.feature_files import read_features, write_features
from vidsum.results.features import Features
from vidsum.settings import Extraction
from vidsum.types import Progress, VideoInfo

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.keywords import SamplingOptions

Made = TypeVar("Made")


@dataclass(frozen=True)
class Input:
    """What a pipeline works on: a probed video with the jobs to run on it, or features that exist already."""

    extraction: Extraction
    video: VideoInfo | None = None
    jobs: tuple[Job, ...] = ()
    changes: Job | None = None
    """Measures how the pictures change that the jobs have decoded: it tells where shots begin."""
    features: Features | None = None
    kept: dict[str, Any] | None = None
    """Where a `Video` keeps what was made of it."""

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What the first job's features would be made from, or what those that exist were made from."""
        if self.features is not None:
            return self.features.made_from
        return self.jobs[0].provenance

    @property
    def kind(self) -> tuple[str, float, int]:
        """Extractor, rate, in features a second, and D of the features."""
        if self.features is not None:
            return self.features.extractor, 1 / self.features.step_s, self.features.dim
        spec = spec_of(self.extraction)
        return self.extraction.extractor, 1 / spec.step_s, spec.dim

    def read(self, progress: Progress | None = None) -> list[Features]:
        """The features of each job; those that exist stand for one."""
        return self.read_with_changes(progress)[0]

    def read_with_changes(self, progress: Progress | None = None) -> tuple[list[Features], Features | None]:
        """The same, and the changes of the pictures in between where these are measured."""
        if self.features is not None:
            return [self.features], None
        assert self.video is not None
        jobs = [*self.jobs, self.changes] if self.changes else self.jobs
        made = run_jobs(self.video, jobs, self.extraction, progress, self.kept)
        return made[: len(self.jobs)], made[-1] if self.changes else None

    def once(self, made_from: Mapping[str, Any], make: Callable[[], Made]) -> Made:
        """What `make` makes, once for all runs on one `Video`."""
        if self.kept is None:
            return make()
        digest = digest_of(made_from)
        if digest not in self.kept:
            self.kept[digest] = make()
        made: Made = self.kept[digest]
        return made


def extract(
    path: VideoPath,
    extractor: str = Extraction.extractor,
    *,
    progress: Progress | None = None,
    **options: Unpack[SamplingOptions],
) -> Features:
    """Features of a video.

    Args:
        path: a video file.
        extractor: one of `vidsum.features.EXTRACTORS`, or an own one by its name (`register_extractor`).
        progress: called while it runs.
        **options: the other fields of `vidsum.settings.Extraction`, such as `fps=1.0` or `device="cpu"`.

    Returns:
        Features [T, D] with their times.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: the extractor's weights cannot be had.
        UsageError: a setting makes no sense.
    """
    plan = plan_extraction(path, from_keywords(extract, Extraction, {"extractor": extractor, **options}))
    return plan.read(progress)[0]


def plan_extraction(source: VideoPath | Video, extraction: Extraction) -> Input:
    """Plan the features of a video. Raises InputError, UsageError: see `extract`."""
    spec_of(extraction)  # an unknown extractor is told before the file is looked at
    video = probe_video(path_of(source), extraction)
    jobs = (extraction_job(video, extraction),)
    return Input(extraction, video, jobs, changes_job(video, extraction, jobs), kept=kept_of(source))


def plan_features(source: Source, extraction: Extraction) -> Input:
    """The same, or features that exist: a feature file is read, features stay as they are.

    Raises InputError, UsageError: see `extract`.
    """
    if isinstance(source, Features):
        return Input(extraction, features=source)
    if not has_pictures(source):
        path, _, name = path_of(source).partition("#")
        return Input(extraction, features=read_features(path, name or None))
    return plan_extraction(source, extraction)


def save_features(features: Features, path: Path) -> None:
    """Write features to a file; an h5 file gets shots by KTS as well, which its readers expect.

    Raises:
        UsageError: the suffix is not that of a feature file.
        OutputError: the file cannot be written.
    """
    from vidsum.shots import find

    change_points = None if path.suffix == ".npz" else find(features).change_points
    write_features(features, path, change_points=change_points)


def cache_state() -> CacheState:
    """How full the cache of features is."""
    return cache.state()
