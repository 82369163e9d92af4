"""Find what stands out in a video, with no query: plan (what it would be made from), then run."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.proposals import find_moments, snap_moments, suppress
from vidsum.grounding.settings import HighlightSettings
from vidsum.grounding.windows import grid, to_grid
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.keywords import HighlightOptions
from vidsum.pipelines.plan import Plan, open_input
from vidsum.pipelines.sources import Source, has_pictures
from vidsum.results.features import Features
from vidsum.results.moments import Highlights, Moment
from vidsum.shots.find import find
from vidsum.summary.importance import CLIP_S
from vidsum.summary.score import best_score, candidate_models, weights_sha256
from vidsum.summary.settings import Selection
from vidsum.types import FloatArray, Progress, TimeArray

_MIN_RANGE = 0.1  # where the saliency of all clips differs by less, nothing stands out
_SCALED_SCORER = "contrastive"  # always scaled to [0, 1]: a still video's noise would stand out


def find_highlights(
    source: Source,
    top_k: int = HighlightSettings.top_k,
    *,
    progress: Progress | None = None,
    **options: Unpack[HighlightOptions],
) -> Highlights:
    """Find what stands out in a video, with no query.

    Args:
        source: a video file, of any length, or features.
        top_k: maximum number of highlights.
        progress: called while it runs.
        **options: other fields of `vidsum.grounding.settings.HighlightSettings`, and of
            `vidsum.features.settings.Extraction`, for a video; the saliency was measured with the default
            extractor.

    Returns the saliency of each clip, and the segments of salient ones; docs/highlights.md explains them.
    Raises InputError: the file cannot be read or holds no video. WeightsError: the extractor's weights are
    missing and cannot be fetched. UsageError: a setting is out of range.
    """
    kinds = (HighlightSettings, Extraction)
    settings, extraction = all_from_keywords(find_highlights, kinds, {"top_k": top_k, **options})
    return plan_highlights(source, settings, extraction).run(progress)


def plan_highlights(source: Source, settings: HighlightSettings, extraction: Extraction) -> Plan[Highlights]:
    """Plan `find_highlights`: a video is probed and hashed, not decoded. Errors are the same."""
    if not isinstance(source, Features) and not has_pictures(source):
        raise UsageError(
            f"{source}: highlights are found in a video",
            hint="give the video, or in Python vidsum.find_highlights(vidsum.read_features(FILE))",
        )
    video_input = open_input(source, extraction)
    models = candidate_models(Selection().model, *video_input.kind, extraction.device)
    models = tuple(name for name in models if name != _SCALED_SCORER)
    facts = {"top_k": int(settings.top_k), "clip_s": CLIP_S, **without_defaults(settings)}
    facts |= {"candidates": list(models), **weights_sha256(models)}
    provenance = {**video_input.provenance, "highlights": facts}

    def make(progress: Progress | None) -> Highlights:
        (features,), pictures = video_input.read(progress)
        n_clips = max(1, int(features.duration_s / CLIP_S + 0.5))  # the last one, if it is half of a clip
        times = grid(features.duration_s, CLIP_S)[:n_clips]
        scored = best_score(models, features, None, Selection(), 1.0, extraction.device)
        # where all models are flat, a summary takes all for equal; here nothing is salient
        curve = scored.importance * (scored.model in models)
        saliency = to_grid(curve[:, None], features, times, CLIP_S)[:, 0]
        is_level = saliency.max() - saliency.min() < _MIN_RANGE
        # segments of a level curve would be those of its noise; a flat one gives the whole video
        segmented = np.zeros_like(saliency) if is_level else saliency
        about_level = ("all clips are about as salient: no segment stands out",) if is_level else ()
        edges_s = find(features, pictures=pictures).edges_s
        return Highlights(
            saliency=saliency,
            timestamps=times,
            clip_s=CLIP_S,
            moments=_moments(segmented, times, features.duration_s, edges_s, settings),
            video_duration_s=features.duration_s,
            model=scored.model,
            model_reason=scored.reason,
            video=features.video,
            provenance=provenance,
            warnings=(*features.warnings, *about_level),
        )

    return Plan(provenance, make)


def _moments(
    saliency: FloatArray, times: TimeArray, duration_s: float, edges_s: TimeArray, settings: HighlightSettings
) -> tuple[Moment, ...]:
    """Return the segments above the rest of the video, none in part of another, at near edges of shots."""
    top_k = settings.top_k
    ranked = find_moments(saliency, times, CLIP_S, duration_s, top_k, grouping="excess", max_iou=0)
    chosen = [moment for rank, moment in enumerate(ranked) if rank == 0 or moment.score > 0]
    return tuple(suppress(snap_moments(chosen, edges_s), 0, top_k))
