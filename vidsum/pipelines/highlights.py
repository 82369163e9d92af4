"""The public function that finds what stands out with no query: it only joins parts."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from vidsum import provenance
from vidsum.datasets.highlights import CLIP_S
from vidsum.errors import UsageError
from vidsum.features.store import is_feature_file
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.windows import grid, on_grid
from vidsum.pipelines.extraction import extraction_job, run_jobs
from vidsum.settings import Extraction
from vidsum.summary.highlights import highlights
from vidsum.types import Features, FloatArray, Highlights, Moment, Progress, TimeArray, VideoInfo
from vidsum.video.probe import probe

VideoPath = str | os.PathLike[str]
Source = VideoPath | Features

TOP_K = 5
_LEVEL = 0.1
"""Where the saliency of all clips differs by less, nothing stands out."""


def find_highlights(
    source: Source, top_k: int = TOP_K, *, progress: Progress | None = None, **how: Any
) -> Highlights:
    """Find what stands out in a video, with no query.

    Args:
        source: a video file, of any length, or features.
        top_k: most stretches to give.
        progress: called while it runs.
        **how: fields of `vidsum.settings.Extraction`, for a video; the saliency was measured with the default
            extractor.

    Returns:
        The saliency of each clip, and the stretches of salient ones; docs/highlights.md tells what it means.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: the extractor's weights cannot be had.
        UsageError: a setting makes no sense.
    """
    return run_highlights(source, top_k, Extraction(**how), progress)


def run_highlights(
    source: Source, top_k: int, how: Extraction, progress: Progress | None = None
) -> Highlights:
    """`find_highlights`, with the settings of extraction in one."""
    _check(top_k)
    if isinstance(source, Features):
        return _of_features(source, top_k, provenance.of_features(source))
    video = _video_of(source, how)
    job = extraction_job(video, how)
    (features,) = run_jobs(video, [job], how, progress)
    return _of_features(features, top_k, job.provenance)


def highlights_provenance(source: VideoPath, top_k: int, how: Extraction) -> dict[str, Any]:
    """What highlights would be made from. The file is hashed, not decoded."""
    _check(top_k)
    return _provenance(extraction_job(_video_of(source, how), how).provenance, top_k)


def _of_features(features: Features, top_k: int, made_from: Mapping[str, Any]) -> Highlights:
    n_clips = max(1, int(features.duration_s / CLIP_S + 0.5))  # the rest at the end, if that is half a clip
    times = grid(features.duration_s, CLIP_S)[:n_clips]
    saliency = on_grid(highlights(features)[:, None], features, times, CLIP_S)[:, 0]
    is_level = saliency.max() - saliency.min() < _LEVEL
    about_level = ("all clips are about as salient: no stretch stands out",) if is_level else ()
    return Highlights(
        saliency=saliency,
        timestamps=times,
        clip_s=CLIP_S,
        # stretches of a level curve would be those of its noise: of a flat one there is the whole video
        moments=_moments(
            np.zeros_like(saliency) if is_level else saliency, times, features.duration_s, top_k
        ),
        video_duration_s=features.duration_s,
        video=features.video,
        provenance=_provenance(made_from, top_k),
        warnings=(*features.warnings, *about_level),
    )


def _moments(saliency: FloatArray, times: TimeArray, duration_s: float, top_k: int) -> tuple[Moment, ...]:
    """The stretches that are above the rest of the video, none in part of another; at least one."""
    found = moments_of(saliency, times, CLIP_S, duration_s, top_k, grouping="excess", max_iou=0)
    return tuple(one for rank, one in enumerate(found) if rank == 0 or one.score > 0)


def _check(top_k: int) -> None:
    if top_k < 1:
        raise UsageError(f"top_k must be at least 1, not {top_k}")


def _video_of(source: VideoPath, how: Extraction) -> VideoInfo:
    if is_feature_file(os.fspath(source)):
        raise UsageError(
            f"{source}: highlights are found in a video",
            hint="give the video, or in Python vidsum.find_highlights(vidsum.read_features(FILE))",
        )
    return probe(source, allow_playlists=how.allow_playlists)


def _provenance(made_from: Mapping[str, Any], top_k: int) -> dict[str, Any]:
    return {**made_from, "highlights": {"top_k": top_k, "clip_s": CLIP_S}}
