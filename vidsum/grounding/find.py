"""Moments and saliency by the chosen model: the similarity curve, or a trained one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from vidsum.checkpoints.named import OFFICIAL, checkpoint_digest, checkpoint_file
from vidsum.checkpoints.registry import builtin_entries
from vidsum.device import Precision, PrecisionChoice, cached_model, takes_bf16
from vidsum.errors import UsageError, WeightsError, unknown_name_error
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.settings import SHIPPED_GROUNDER
from vidsum.grounding.spaces import (
    SPACES,
    ClipEmbeddings,
    embed_words,
    resolve_space,
    similarity,
    standardise,
)
from vidsum.models.configs import MaskKind
from vidsum.models.scaling import unit_range
from vidsum.results.moments import Moment, QueryMoments
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from vidsum.grounding.moment_model import MomentModel

_DETR = ("moment-detr", "qd-detr", "mrnet-detr")

MODELS = ("auto", "similarity", SHIPPED_GROUNDER, *_DETR)
"""Models that have a name; a checkpoint of `vidsum train mrnet` or `train detr` is given by its path."""

_FEATURE_MODELS = [name for name, official in OFFICIAL.items() if official.format == "mrnet-official"]
"""Published models whose features vidsum cannot extract."""

FUSION_WEIGHTS = MappingProxyType({"mrnet": 0.05, "detr": 0.1})
"""Weight of the curve of a model with a guide, relative to that of similarity, both of deviation 1; chosen
on simulated films of held-out annotations (docs/algorithms/grounding.md)."""

_QUERIES_PER_BATCH = 256
"""Queries whose curves are computed together: this bounds the memory."""


@dataclass(frozen=True, eq=False)
class EncodedQueries:
    """M queries."""

    texts: Sequence[str]
    vectors: FloatArray
    """[M, D] in the space of the video."""
    without: FloatArray | None = None
    """[W, D] of what must not be seen with them."""


def resolve_model(
    model: str, space: str, device: str = "auto", mask: MaskKind | None = None
) -> tuple[str, str]:
    """Return the model and the space to use, known before a video is decoded.

    `auto` is the model that measured best (docs/benchmarks.md), which is `similarity`. For a trained model, a
    space of `auto` is the one that it was trained in.

    Args:
        model, space: one of MODELS, or the path of a checkpoint; one of `vidsum.grounding.spaces.SPACES`.
        device: the one that the model will run on, so that it is loaded once.
        mask: the learned mask that the model must have; None for any.

    Raises UsageError: the model or space is unknown, or the model reads another space or has no such mask.
    WeightsError: no checkpoint of that model ships. InputError: the file is missing or is not a checkpoint.
    """
    if mask and model in (*MODELS, *_FEATURE_MODELS) and model not in _DETR:
        raise UsageError(f"only DETR models have a mask, not {model}", hint=_mask_hint(mask))
    if model in ("auto", "similarity"):
        return "similarity", resolve_space(space)
    name = _registry_name(model, mask) if model in _DETR else model
    grounder = load_model(name, device)
    if mask and name == model:
        _check_mask(grounder, mask)
    if space not in ("auto", grounder.space):
        fault = f"{model} reads the space {grounder.space}, not {space}"
        raise UsageError(fault, hint=f"--space {grounder.space}")
    return name, grounder.space


def resolve_precision(model: str, device: str = "auto", choice: PrecisionChoice = "auto") -> Precision:
    """Return the precision of a model: bf16 for MRNet where `takes_bf16`, else fp32."""
    is_mrnet = model != "similarity" and load_model(model, device).family == "mrnet"
    return "bf16" if is_mrnet and takes_bf16(choice, device) else "fp32"


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

    Saliency is the curve that the moments come from, the model's own, or the similarity curve where it has
    none, scaled to [0, 1] over the video. `model` is from `resolve_model`; video and queries are in its
    space. `precision`: see `resolve_precision`. `alone`: see `vidsum.grounding.settings.Retrieval`.
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
            terms = (weight * standardise(prediction.curve[None])[0] for prediction in predictions)
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
    return embed_words(grounder.space, request.texts, device)


def max_words(model: str, device: str = "auto") -> int | None:
    """Maximum number of tokens of a query that a model reads; None for all that its text encoder reads."""
    return None if model == "similarity" else load_model(model, device).max_words


def checkpoint_sha256(model: str) -> str | None:
    """Return SHA-256 of a trained model's checkpoint, None for `similarity`; InputError where it is
    missing.
    """
    return None if model == "similarity" else checkpoint_digest(model)


def _curves(video: ClipEmbeddings, request: EncodedQueries) -> list[FloatArray]:
    """Return the similarity [T] of each query, less that of what must not be seen."""
    vectors, without = request.vectors, request.without
    batches = (
        vectors[start : start + _QUERIES_PER_BATCH] for start in range(0, len(vectors), _QUERIES_PER_BATCH)
    )
    curves = [curve for batch in batches for curve in similarity(video, batch)]
    if without is None or not len(without):
        return curves
    unwanted = similarity(video, without).sum(axis=0)
    return [curve - unwanted for curve in curves]


def _registry_name(model: str, mask: MaskKind | None) -> str:
    """Return the name of a DETR model in the registry."""
    name = f"{model}-{mask}" if mask else model
    if name not in _shipped_models():
        fault = f"no checkpoint of {name} comes with vidsum; these do: {', '.join(_shipped_models())}"
        raise WeightsError(fault, hint=_training_hint(model, mask))
    return name


def _mask_hint(mask: MaskKind) -> str:
    """Return the way to a model with a mask: its name where one ships, else training it."""
    model = next((model for model in _DETR if f"{model}-{mask}" in _shipped_models()), None)
    return f"--model {model} --mask {mask}" if model else _training_hint(_DETR[1], mask)


def _training_hint(model: str, mask: MaskKind | None) -> str:
    option = f" --mask {mask}" if mask else ""
    train = f"vidsum train detr --recipe captions --data FILE --out RUN --model {model}{option}"
    return f"{train}, then --model RUN/best.safetensors"


def _shipped_models() -> list[str]:
    return [name for name in builtin_entries() if name == SHIPPED_GROUNDER or name.startswith(_DETR)]


def _check_mask(grounder: "MomentModel", mask: MaskKind) -> None:
    config = grounder.model.config.mask
    if config is None:
        raise UsageError(f"{grounder.name} has no mask, not {mask}", hint="leave out --mask")
    if config.kind != mask:
        raise UsageError(
            f"{grounder.name} has the mask {config.kind}, not {mask}", hint=f"--mask {config.kind}"
        )


def load_model(model: str, device: str) -> "MomentModel":
    """Return a trained model by name or checkpoint. Raises UsageError where it cannot read videos."""
    if model in _FEATURE_MODELS:
        fault = (
            f"{model} reads published features, not videos: vidsum.grounding.moment_model runs it on those"
        )
        raise UsageError(fault, hint="--model similarity, or a checkpoint of `vidsum train` (.safetensors)")
    if model not in (*_shipped_models(), *OFFICIAL) and not model.endswith(".safetensors"):
        best = Path(model) / "best.safetensors"
        if best.is_file():
            fault = f"{model} is the folder of a run, not a checkpoint"
            hint = f"--model {quote(str(best))}"
        elif Path(model).is_file():
            fault = f"{model} is not a checkpoint of vidsum (.safetensors)"
            hint = "--model RUN/best.safetensors, of a run of `vidsum train detr` or `train mrnet`"
        else:
            known = ("auto", "similarity", *_shipped_models())
            raise unknown_name_error("model", model, known, ", or give a checkpoint (.safetensors)")
        raise UsageError(fault, hint=hint)
    return _load_checkpoint(model, device, checkpoint_digest(model))


@cached_model(maxsize=2)
def _load_checkpoint(model: str, device: str, sha256: str) -> "MomentModel":
    """Kept for the next video of a batch, unless the file has changed."""
    from vidsum.checkpoints.trained import read_trained
    from vidsum.grounding.moment_model import build_moment_model

    trained = read_trained(checkpoint_file(model))
    space = str(trained.features.get("space", "clip"))  # `build_moment_model` refuses a model without one
    if space not in SPACES[1:]:
        source = {"toy": "toy data", "features": "other features"}.get(space, space)
        train = f"vidsum train {'detr' if trained.model in _DETR else 'mrnet'} with --recipe captions"
        hint = f"or on features of --space {' or '.join(SPACES[1:])}; vidsum evaluate runs others on features"
        raise UsageError(f"{model} cannot read videos: it was trained on {source}", hint=f"{train}, {hint}")
    return build_moment_model(trained, model, device)
