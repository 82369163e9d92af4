"""Find what stands out in a video, with no query: plan (what it would be made from), then run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from vidsum.errors import UsageError
from vidsum.grounding.proposals import moments_of, snapped, suppress
from vidsum.grounding.windows import grid, on_grid
from vidsum.options import from_keywords
from vidsum.pipelines.cuts import pictures_of
from vidsum.pipelines.extraction import Input, plan_features
from vidsum.pipelines.sources import Source, has_pictures
from vidsum.results.features import Features
from vidsum.results.moments import Highlights, Moment
from vidsum.settings import Extraction, Selection
from vidsum.shots import find
from vidsum.summary.importance import CLIP_S
from vidsum.summary.score import best_score, candidates, weights_sha256
from vidsum.types import FloatArray, Progress, TimeArray

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.keywords import ExtractionOptions

TOP_K = 5
_LEVEL = 0.1
"""Where the saliency of all clips differs by less, nothing stands out."""
_STRETCHED = "contrastive"
"""A scorer whose curve is always scaled to [0, 1]: the noise of a still video would stand out."""


def find_highlights(
    source: Source,
    top_k: int = TOP_K,
    *,
    progress: Progress | None = None,
    **options: Unpack[ExtractionOptions],
) -> Highlights:
    """Find what stands out in a video, with no query.

    Args:
        source: a video file, of any length, or features.
        top_k: maximum number of highlights.
        progress: called while it runs.
        **options: fields of `vidsum.settings.Extraction`, for a video; the saliency was measured with the
            default extractor.

    Returns:
        The saliency of each clip, and the segments of salient ones; docs/highlights.md explains them.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: the extractor's weights are missing and cannot be fetched.
        UsageError: a setting is out of range.
    """
    extraction = from_keywords(find_highlights, Extraction, options)
    return plan_highlights(source, top_k, extraction).run(progress)


@dataclass(frozen=True)
class HighlightsPlan:
    """The highlights of a video or of features."""

    input: Input
    top_k: int
    models: tuple[str, ...]
    """Those that may give the scores, in order: the first whose curve is not flat."""

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What the highlights would be made from."""
        facts: dict[str, Any] = {"top_k": self.top_k, "clip_s": CLIP_S, "candidates": list(self.models)}
        facts |= weights_sha256(self.models)
        return {**self.input.provenance, "highlights": facts}

    def run(self, progress: Progress | None = None) -> Highlights:
        """Find the highlights; see `find_highlights`."""
        (features,), changes = self.input.read_with_changes(progress)
        n_clips = max(1, int(features.duration_s / CLIP_S + 0.5))  # the last one, if it is half of a clip
        times = grid(features.duration_s, CLIP_S)[:n_clips]
        scored = best_score(self.models, features, None, Selection(), 1.0, self.input.extraction.device)
        # where all models are flat, a summary takes all for equal; here nothing is salient
        curve = scored.importance * (scored.model in self.models)
        saliency = on_grid(curve[:, None], features, times, CLIP_S)[:, 0]
        is_level = saliency.max() - saliency.min() < _LEVEL
        # segments of a level curve would be those of its noise; a flat one gives the whole video
        segmented = np.zeros_like(saliency) if is_level else saliency
        about_level = ("all clips are about as salient: no segment stands out",) if is_level else ()
        return Highlights(
            saliency=saliency,
            timestamps=times,
            clip_s=CLIP_S,
            moments=self._moments(segmented, times, features, changes),
            video_duration_s=features.duration_s,
            model=scored.model,
            model_reason=scored.reason,
            video=features.video,
            provenance=self.provenance,
            warnings=(*features.warnings, *about_level),
        )

    def _moments(
        self, saliency: FloatArray, times: TimeArray, features: Features, changes: Features | None
    ) -> tuple[Moment, ...]:
        """The segments above the rest of the video, none in part of another; at least one.

        They begin and end where shots do, if these are near.
        """
        whole_s = features.duration_s
        ranked = moments_of(saliency, times, CLIP_S, whole_s, self.top_k, grouping="excess", max_iou=0)
        chosen = [moment for rank, moment in enumerate(ranked) if rank == 0 or moment.score > 0]
        shots = find(features, pictures=pictures_of(self.input, changes))
        return tuple(suppress(snapped(chosen, shots.edges_s), 0, self.top_k))


def plan_highlights(source: Source, top_k: int, extraction: Extraction) -> HighlightsPlan:
    """Plan `find_highlights`: a video is probed and hashed, not decoded.

    Raises InputError, WeightsError, UsageError: see `find_highlights`.
    """
    if top_k < 1:
        raise UsageError(f"top_k must be at least 1, not {top_k}")
    if not isinstance(source, Features) and not has_pictures(source):
        raise UsageError(
            f"{source}: highlights are found in a video",
            hint="give the video, or in Python vidsum.find_highlights(vidsum.read_features(FILE))",
        )
    made = plan_features(source, extraction)
    models = candidates(Selection().model, *made.kind, extraction.device)
    return HighlightsPlan(made, top_k, tuple(name for name in models if name != _STRETCHED))
