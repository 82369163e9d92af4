"""TVSum's highlight protocol: top-5 mAP per category, as UMT and QD-DETR report it.

A video is cut into clips of 2 s, for each of which every annotator gave one score. To an annotator the clips
with scores above their median are highlights. The five clips with the highest predicted scores are looked at:
with hits g_1 ... g_5 (0 or 1), p_j = (g_1 + ... + g_j) / j and p_0 = 1,

    AP = sum_j g_j (p_{j-1} + p_j) / 2 / sum_j g_j,  and 0 without a hit,

averaged over annotators, then over the videos of a category, then over categories. This is the area under
the precision-recall curve of five clips, whose recall is relative to the hits among these five: a right
first clip followed by four wrong ones has an AP of 1. So random scores are far above 0: print them beside.

Sources: Liu et al., "UMT", CVPR 2022 (github.com/TencentARC/UMT, datasets/tvsum.py); Moon et al., "QD-DETR",
CVPR 2023, measures alike. Both train a model per category on four of its videos and test on the fifth, see
`TEST_VIDEOS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.lab.datasets.labels import Labels
from vidsum.lab.datasets.moments import CLIP_S
from vidsum.types import FloatArray, TimeArray

TOP: Final = 5
"""Number of clips that are looked at."""

TEST_VIDEOS: Final = {
    "VT": "J0nA4VgnoCo",
    "VU": "sTEELN-vY30",
    "GA": "Bhxk-O1Y7Ho",
    "MS": "Yi4Ij2NM7U4",
    "PK": "cjibtmSLxQ4",
    "PR": "fWutDQy1nnY",
    "FM": "JKpqYvAdIsw",
    "BK": "Se3oxnaPsz0",
    "BT": "JgHubY5Vw3Y",
    "DS": "E11zDS9XGzg",
}
"""The video of each category that UMT and QD-DETR test on, by the name of its file."""


@dataclass(frozen=True)
class TopClips:
    """Top-5 mAP of some videos, as fractions."""

    videos: Mapping[str, float]
    """AP of each video, averaged over its annotators."""
    categories: Mapping[str, float]
    """AP of each category, averaged over its videos."""
    mean: float
    """Over the categories."""


def measure_top_clips(videos: Mapping[str, Labels], clip_scores: Mapping[str, npt.ArrayLike]) -> TopClips:
    """Measure predicted scores of clips by TVSum's highlight protocol.

    Args:
        videos: some or all of `read_tvsum_mat`'s.
        clip_scores: [C] of each of them, by the same names; or [R, C], whose mean over R rows is taken.

    Raises:
        UsageError: there is no video; one has no scores, or not one for each clip, or NaN.
    """
    if not videos:
        raise UsageError("no video to evaluate on")
    measured = {}
    for name, video in videos.items():
        annotators = clip_annotations(video)
        if name not in clip_scores:
            raise UsageError(f"{name}: has no scores")
        scores = np.atleast_2d(np.asarray(clip_scores[name], np.float64))
        if scores.ndim != 2 or scores.shape[1] != annotators.shape[1] or np.isnan(scores).any():
            shape = list(np.shape(clip_scores[name]))
            raise UsageError(
                f"{name}: scores are {shape} or NaN, but the video has {annotators.shape[1]} clips"
            )
        measured[name] = float(top_precisions(scores, annotators).mean())
    return over_categories(videos, measured)


def over_categories(videos: Mapping[str, Labels], precisions: Mapping[str, float]) -> TopClips:
    """The means of the videos' average precisions: over categories, and over these."""
    by_category: dict[str, list[float]] = {}
    for name, video in videos.items():
        by_category.setdefault(video.category, []).append(precisions[name])
    categories = {category: float(np.mean(values)) for category, values in by_category.items()}
    return TopClips(precisions, categories, float(np.mean(list(categories.values()))))


def top_precisions(scores: npt.ArrayLike, annotators: npt.ArrayLike, top: int = TOP) -> TimeArray:
    """[R, U] AP of the highest clips of each row of scores, to each annotator.

    Args:
        scores: [R, C] predicted; of equal scores the earlier clip comes first, which published code leaves
            open.
        annotators: [U, C] scores of each annotator. Of an even number of clips the median is the lower of the
            two in the middle, as PyTorch has it.
        top: number of clips that are looked at.
    """
    human = np.asarray(annotators)
    medians = np.sort(human, axis=1)[:, (human.shape[1] - 1) // 2]
    best = np.argsort(-np.asarray(scores, np.float64), axis=1, kind="stable")[:, :top]
    hits = (human > medians[:, None])[:, best].transpose(1, 0, 2)  # [R, U, top]
    precision = hits.cumsum(axis=-1) / np.arange(1, hits.shape[-1] + 1)
    before = np.concatenate([np.ones_like(precision[..., :1]), precision[..., :-1]], axis=-1)
    areas = (hits * (before + precision) / 2).sum(axis=-1)
    averages: TimeArray = areas / np.maximum(hits.sum(axis=-1), 1)
    return averages


def clip_annotations(video: Labels) -> FloatArray:
    """[U, C] score of each annotator for each whole clip of 2 s: the score of the frame in its middle.

    The annotators scored such clips, so all frames of one have the same score, but for rounding at its ends.
    """
    n_clips = int(video.length_s / CLIP_S)
    middles = (np.arange(n_clips) + 0.5) * CLIP_S * video.n_frames / video.length_s
    clips: FloatArray = video.user_scores[:, middles.astype(np.int64)]
    return clips


def clips_of(scores: npt.ArrayLike, picks: npt.ArrayLike, video: Labels) -> TimeArray:
    """[C] scores of clips: the mean of the samples in each, or the last sample before where it has none.

    Args:
        scores: [T] at the picks.
        picks: [T] frame numbers, which increase.
        video: gives the number of clips, and the frame rate.
    """
    values, frames = np.asarray(scores, np.float64), np.asarray(picks)
    n_clips = int(video.length_s / CLIP_S)
    borders = np.arange(n_clips + 1) * CLIP_S * video.n_frames / video.length_s
    starts = np.searchsorted(frames, borders)
    return np.array(
        [
            values[first:end].mean() if end > first else values[max(first - 1, 0)]
            for first, end in pairwise(starts)
        ]
    )
