"""Find what stands out in a video, with no query: plan (what it would be made from), then run."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vidsum.errors import UsageError
from vidsum.features.store import is_feature_file
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.windows import grid, on_grid
from vidsum.pipelines.extraction import extraction_job, run_jobs
from vidsum.provenance import of_features
from vidsum.settings import Extraction
from vidsum.summary.highlights import CLIP_S, highlights
from vidsum.types import Features, FloatArray, Highlights, Moment, Progress, TimeArray
from vidsum.video.probe import probe

VideoPath = str | os.PathLike[str]
Source = VideoPath | Features

TOP_K = 5
_LEVEL = 0.1
"""Where the saliency of all clips differs by less, nothing stands out."""


def find_highlights(
    source: Source, top_k: int = TOP_K, *, progress: Progress | None = None, **extraction: Any
) -> Highlights:
    """Find what stands out in a video, with no query.

    Args:
        source: a video file, of any length, or features.
        top_k: maximum number of highlights.
        progress: called while it runs.
        **extraction: fields of `vidsum.settings.Extraction`, for a video; the saliency was measured with the
            default extractor.

    Returns:
        The saliency of each clip, and the segments of salient ones; docs/highlights.md explains them.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: the extractor's weights are missing and cannot be fetched.
        UsageError: a setting is out of range.
    """
    return plan_highlights(source, top_k, Extraction(**extraction)).run(progress)


@dataclass(frozen=True, eq=False)
class HighlightsPlan:
    """Highlights that are to be found."""

    top_k: int
    read: Callable[[Progress | None], Features]
    """Gives the features, from the cache or by decoding the video."""
    provenance: dict[str, Any]
    """What the highlights would be made from."""

    def run(self, progress: Progress | None = None) -> Highlights:
        """Find the highlights; see `find_highlights`."""
        features = self.read(progress)
        n_clips = max(1, int(features.duration_s / CLIP_S + 0.5))  # the last one, if it is half of a clip
        times = grid(features.duration_s, CLIP_S)[:n_clips]
        saliency = on_grid(highlights(features)[:, None], features, times, CLIP_S)[:, 0]
        is_level = saliency.max() - saliency.min() < _LEVEL
        # segments of a level curve would be those of its noise; a flat one gives the whole video
        curve = np.zeros_like(saliency) if is_level else saliency
        about_level = ("all clips are about as salient: no segment stands out",) if is_level else ()
        return Highlights(
            saliency=saliency,
            timestamps=times,
            clip_s=CLIP_S,
            moments=_moments(curve, times, features.duration_s, self.top_k),
            video_duration_s=features.duration_s,
            video=features.video,
            provenance=self.provenance,
            warnings=(*features.warnings, *about_level),
        )


def plan_highlights(source: Source, top_k: int, extraction: Extraction) -> HighlightsPlan:
    """Plan `find_highlights`: a video is probed and hashed, not decoded.

    Raises:
        InputError, WeightsError, UsageError: see `find_highlights`.
    """
    if top_k < 1:
        raise UsageError(f"top_k must be at least 1, not {top_k}")
    facts = {"highlights": {"top_k": top_k, "clip_s": CLIP_S}}
    if isinstance(source, Features):
        return HighlightsPlan(top_k, lambda progress: source, {**of_features(source), **facts})
    if is_feature_file(os.fspath(source)):
        raise UsageError(
            f"{source}: highlights are found in a video",
            hint="give the video, or in Python vidsum.find_highlights(vidsum.read_features(FILE))",
        )
    video = probe(source, allow_playlists=extraction.allow_playlists)
    job = extraction_job(video, extraction)

    def read(progress: Progress | None) -> Features:
        return run_jobs(video, [job], extraction, progress)[0]

    return HighlightsPlan(top_k, read, {**job.provenance, **facts})


def _moments(saliency: FloatArray, times: TimeArray, duration_s: float, top_k: int) -> tuple[Moment, ...]:
    """The segments that are above the rest of the video, none in part of another; at least one."""
    ranked = moments_of(saliency, times, CLIP_S, duration_s, top_k, grouping="excess", max_iou=0)
    return tuple(moment for rank, moment in enumerate(ranked) if rank == 0 or moment.score > 0)
