"""Moments and saliency by the chosen model: the similarity curve, or a trained one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from vidsum.device import PrecisionChoice
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.registry import load_model, resolve_precision
from vidsum.grounding.spaces import ClipEmbeddings, embed_words, similarity
from vidsum.models.scaling import standardise, unit_range
from vidsum.results.moments import Moment, QueryMoments
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from vidsum.grounding.moment_model import MomentModel

FUSION_WEIGHTS = MappingProxyType({"mrnet": 0.05, "detr": 0.1})
"""Weight of the curve of a model with a guide, relative to that of similarity, both of deviation 1; chosen
on simulated films of held-out annotations (docs/algorithms/grounding.md)."""

_QUERIES_PER_BATCH = 256  # queries whose curves are computed together: this bounds the memory


@dataclass(frozen=True, eq=False)
class EncodedQueries:
    """M queries."""

    texts: Sequence[str]
    vectors: FloatArray  # [M, D] in the space of the video
    without: FloatArray | None = None  # [W, D] of what must not be seen with them
    others: Collection[str] = ()  # texts of other languages, whose vectors are E5's


def locate(
    model: str,
    video: ClipEmbeddings,
    request: EncodedQueries,
    top_k: int,
    device: str = "auto",
    precision: PrecisionChoice = "auto",
    *,
    alone: bool = False,
) -> list[QueryMoments]:
    """Return the moments of each query, at most `top_k`, best first, and the saliency of each clip.

    Saliency is the curve that the moments come from, the model's own, or the similarity curve, scaled to [0,
    1] over the video. `model` is from `resolve_model`; video and queries are in its space.
    """
    moments = list[list[Moment]]()
    if model == "similarity":
        curves = _curves(video, request)
    else:
        from vidsum.grounding.moment_model import ground_video

        in_bf16 = resolve_precision(model, device, precision) == "bf16"
        grounder = replace(load_model(model, device), in_bf16=in_bf16)
        predictions = ground_video(
            grounder, video, encode_tokens(grounder, request, device), request.vectors, top_k
        )
        if grounder.guided and not alone:
            weight = FUSION_WEIGHTS[grounder.family]
            terms = (weight * standardise(prediction.curve) for prediction in predictions)
            curves = [np.add(*pair) for pair in zip(_curves(video, request), terms, strict=True)]
        else:
            moments = [prediction.moments for prediction in predictions]
            saliency = [prediction.saliency for prediction in predictions if prediction.saliency is not None]
            curves = saliency or _curves(video, request)
    if not moments:
        where = (video.timestamps, video.step_s, video.duration_s)
        moments = [find_moments(curve, *where, top_k, shots_s=video.shots_s) for curve in curves]
    answers = zip(request.texts, map(tuple, moments), map(unit_range, curves), strict=True)
    return [QueryMoments(*answer) for answer in answers]


def encode_tokens(grounder: "MomentModel", request: EncodedQueries, device: str) -> list[FloatArray]:
    """Return each query as the model reads it, [W, Dq]."""
    if grounder.max_words is None:
        return list(request.vectors[:, None])
    rows = embed_words(grounder.space, request.texts, device)
    # E5 has no counterparts of MiniLM's tokens: the text stands for them
    pairs = zip(rows, request.vectors, request.texts, strict=True)
    return [vector[None] if text in request.others else words for words, vector, text in pairs]


def _curves(video: ClipEmbeddings, request: EncodedQueries) -> list[FloatArray]:
    """Return the similarity [T] of each query, less that of what must not be seen where this stands out."""
    vectors, without = request.vectors, request.without
    batches = (
        vectors[start : start + _QUERIES_PER_BATCH] for start in range(0, len(vectors), _QUERIES_PER_BATCH)
    )
    curves = [curve for batch in batches for curve in similarity(video, batch)]
    if without is None or not len(without):
        return curves
    unwanted = similarity(video, without)
    # below its mean it is absent everywhere: less of it there would favour scenes that show neither
    excess = np.maximum(0, unwanted - unwanted.mean(axis=1, keepdims=True)).sum(axis=0)
    return [curve - excess for curve in curves]
