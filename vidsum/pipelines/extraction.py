"""Features of a video: plan, run, and write to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.features import cache
from vidsum.features.cache import CacheState
from vidsum.options import from_keywords
from vidsum.pipelines.plan import Plan, video_input
from vidsum.pipelines.sources import Video, VideoPath
from vidsum.results.feature_files import write_features
from vidsum.results.features import Features
from vidsum.settings import Extraction

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.keywords import SamplingOptions
    from vidsum.types import Progress


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
    return plan.run(progress)


def plan_extraction(source: VideoPath | Video, extraction: Extraction) -> Plan[Features]:
    """Plan the features of a video. Raises InputError, UsageError: see `extract`."""
    given = video_input(source, extraction)
    return Plan(given.provenance, lambda progress: given.read(progress)[0][0])


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
