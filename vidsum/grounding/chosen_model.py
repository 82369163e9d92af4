"""Moments and saliency by the chosen model: the similarity curve, or a trained one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from vidsum.checkpoints.named import OFFICIAL, checkpoint_digest, checkpoint_file
from vidsum.checkpoints.registry import builtin_entries
from vidsum.device import PrecisionChoice, cached_model, takes_bf16
from vidsum.errors import Mention, UsageError, unknown_name_error
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.settings import SHIPPED_GROUNDER
from vidsum.grounding.spaces import SPACES, ClipEmbeddings, embed_words, resolve_space, similarity
from vidsum.models.scaling import standardise, unit_range
from vidsum.results.moments import Moment, QueryMoments
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from vidsum.grounding.moment_model import MomentModel

_DETR = ("moment-detr", "qd-detr", "mrnet-detr")
FUSION_WEIGHTS = MappingProxyType({"mrnet": 0.05, "detr": 0.1})
"""Weight of the curve of a model with a guide, relative to the curve of similarity, both of deviation 1;
chosen on simulated films of held-out annotations (docs/algorithms/grounding.md)."""


@dataclass(frozen=True, eq=False)
class EncodedQueries:
    """M queries."""

    texts: Sequence[str]
    vectors: FloatArray  # [M, D] in the space of the video
    without: FloatArray | None = None  # [W, D] of what must not be seen with them
    others: Collection[str] = ()  # texts of other languages, whose vectors are E5's


def resolve_model(model: str, space: str, device: str = "auto") -> tuple[str, str]:
    """Return the model (a name or a path) and the space to use, before a video is decoded.

    `auto` is the model that measured best (docs/benchmarks.md), `similarity`, and the space that a trained
    model was trained in. `device` is where it will run.

    Raises UsageError: the model or space is unknown, or the model reads another space. InputError: the file
    is missing or no checkpoint.
    """
    grounder = load_model(model, device)
    if grounder is None:
        return "similarity", resolve_space(space)
    if space not in ("auto", grounder.space):
        fault = f"{model} reads the space {grounder.space}, not {space}"
        raise UsageError(fault, hint=Mention("space", grounder.space))
    return model, grounder.space


def load_model(model: str, device: str = "auto", precision: PrecisionChoice = "auto") -> "MomentModel | None":
    """Return a trained model by name or checkpoint; None for `similarity`. MRNet is in bf16 where that loses
    nothing.

    Raises UsageError where it cannot read videos.
    """
    if model in ("auto", "similarity"):
        return None
    if model in OFFICIAL and model.startswith("mrnet-"):
        fault = (
            f"{model} reads published features, not videos: vidsum.grounding.moment_model runs it on those"
        )
        raise UsageError(
            fault, hint=(Mention("model", "similarity"), ", or a checkpoint of `vidsum train` (.safetensors)")
        )
    shipped = [name for name in builtin_entries() if name == SHIPPED_GROUNDER or name.startswith(_DETR)]
    if model not in (*shipped, *OFFICIAL) and not model.endswith(".safetensors"):
        known = ("auto", "similarity", *shipped)
        raise unknown_name_error("model", model, known, ", or give a checkpoint (RUN/best.safetensors)")
    grounder = _load_checkpoint(model, device, checkpoint_digest(model))
    in_bf16 = grounder.family == "mrnet" and takes_bf16(precision, device)
    return replace(grounder, in_bf16=in_bf16)


@cached_model(maxsize=2)
def _load_checkpoint(model: str, device: str, sha256: str) -> "MomentModel":
    from vidsum.checkpoints.trained import read_trained
    from vidsum.grounding.moment_model import build_moment_model

    trained = read_trained(checkpoint_file(model))
    space = str(trained.features.get("space", "clip"))  # `build_moment_model` refuses a model without one
    if space not in SPACES:
        source = "other features" if space == "features" else space
        train = f"vidsum train {'detr' if trained.model in _DETR else 'mrnet'} with --recipe captions"
        hint = f"or on features of the space {' or '.join(SPACES)}; vidsum evaluate runs others on features"
        raise UsageError(f"{model} cannot read videos: it was trained on {source}", hint=f"{train}, {hint}")
    return build_moment_model(trained, model, device)


def locate(
    grounder: "MomentModel | None",
    video: ClipEmbeddings,
    request: EncodedQueries,
    top_k: int,
    *,
    alone: bool = False,
) -> list[QueryMoments]:
    """Return the moments of each query, at most `top_k`, best first, and the saliency of each clip.

    Saliency is the curve that the moments come from, the model's own, or the similarity curve, scaled to [0,
    1] over the video. `grounder` is from `load_model`; video and queries are in its space. The curve of a
    model with a guide is added to the similarity curve, unless the model answers `alone`.
    """
    moments = list[list[Moment]]()
    if grounder is None:
        curves = _curves(video, request)
    else:
        from vidsum.grounding.moment_model import ground_video

        tokens = _encode_tokens(grounder, request)
        predictions = ground_video(grounder, video, tokens, request.vectors, top_k)
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
        shots_s, scenes_s = video.shots_s, video.scenes_s
        moments = [find_moments(curve, *where, top_k, shots_s=shots_s, scenes_s=scenes_s) for curve in curves]
    answers = zip(request.texts, map(tuple, moments), map(unit_range, curves), strict=True)
    return [QueryMoments(*answer) for answer in answers]


def _encode_tokens(grounder: "MomentModel", request: EncodedQueries) -> list[FloatArray]:
    """Return each query as the model reads it, [W, Dq]."""
    if grounder.max_words is None:
        return list(request.vectors[:, None])
    rows = embed_words(grounder.space, request.texts)
    # E5 has no counterparts of MiniLM's tokens: the text stands for them
    pairs = zip(rows, request.vectors, request.texts, strict=True)
    return [vector[None] if text in request.others else words for words, vector, text in pairs]


def _curves(video: ClipEmbeddings, request: EncodedQueries) -> list[FloatArray]:
    """Return the similarity [T] of each query, less the similarity of unwanted texts where it stands out."""
    vectors, without = request.vectors, request.without
    curves = list(similarity(video, vectors))
    if without is None or not len(without):
        return curves
    unwanted = similarity(video, without)
    # below its mean it is absent everywhere: less of it there would favour scenes that show neither
    excess = np.maximum(0, unwanted - unwanted.mean(axis=1, keepdims=True)).sum(axis=0)
    return [curve - excess for curve in curves]
