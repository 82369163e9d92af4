"""Importance scores by whatever was asked for: a scorer that needs no training, or a trained model."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.checkpoints.named import named_sha256
from vidsum.errors import UsageError
from vidsum.settings import SHIPPED_MODEL, AttentionPart, Selection
from vidsum.summary.importance import SCORERS
from vidsum.types import Features, FloatArray, Shots

if TYPE_CHECKING:
    from vidsum.summary.fulltransnet import Summarizer

_SHIPPED_READS = ("mobilenet_v2", 2.0)
"""Extractor and features per second of the checkpoint that ships."""

MODELS = ("auto", *SCORERS, SHIPPED_MODEL)
"""What has a name; a checkpoint of `vidsum train` goes by its path."""


def model_for(model: str, extractor: str, rate: float, device: str = "auto") -> str:
    """The model that is meant. Before a video is decoded, it is seen to that it can read the features.

    `auto` is what measured best (weights/fulltransnet-mobilenet_v2.md) among those that can read the
    features: the checkpoint that ships, or else `contrastive`.

    Args:
        model: one of MODELS, or the path of a checkpoint.
        extractor: of the features, by name.
        rate: features per second.
        device: that it will run on, so that it is loaded once.

    Raises:
        UsageError: there is no such model, or it reads other features.
        InputError: the file is missing or is no checkpoint.
    """
    if model == "auto":
        shipped_extractor, shipped_rate = _SHIPPED_READS
        is_read = extractor == shipped_extractor and abs(rate / shipped_rate - 1) <= 0.1
        return SHIPPED_MODEL if is_read else "contrastive"
    if model not in SCORERS:
        summarizer = _summarizer(model, device)
        from vidsum.summary.fulltransnet import require_kind

        require_kind(summarizer, extractor, rate)
    return model


def score(
    features: Features, shots: Shots, selection: Selection, share: float, device: str = "auto"
) -> FloatArray:
    """[T] importance in [0, 1].

    Args:
        features: of the video.
        shots: of the video.
        selection: whose model (not `auto`), seed and beams count here.
        share: the budget's share of the video.
        device: that a trained model runs on.

    Raises:
        UsageError, InputError: see `model_for`.
    """
    if selection.model in SCORERS:
        return SCORERS[selection.model](features, selection.seed)
    from vidsum.summary.fulltransnet import importance

    return importance(_summarizer(selection.model, device), features, shots, share, selection.beams)


def draw_attention(
    features: Features,
    shots: Shots,
    selection: Selection,
    share: float,
    device: str,
    target: Path,
    part: AttentionPart = "mean",
) -> tuple[str, ...]:
    """Draw what a trained model looked at when `score` ran it, as PNG or SVG by the suffix.

    Args:
        features, shots, selection, share, device: those given to `score`. On another device rounding could
            let the model choose other key frames than those of the summary.
        target: the file.
        part: which layers and heads.

    Returns:
        Warnings.

    Raises:
        UsageError: the scorer is no trained model, or has no such layer or head.
        OutputError: the file cannot be written.
    """
    if selection.model in SCORERS:
        raise UsageError(f"{selection.model} pays no attention to draw", hint="--model fulltransnet")
    from vidsum.summary.attention_maps import attention_maps
    from vidsum.summary.attention_plot import attention_plot

    layers, heads = ([part[0]], [part[1]]) if isinstance(part, tuple) else (None, None)
    summarizer = _summarizer(selection.model, device)
    maps = attention_maps(summarizer, features, shots, share, selection.beams, layers=layers, heads=heads)
    attention_plot(maps, target, grids=part == "all")
    return maps.warnings


def checkpoint_sha256(model: str) -> str | None:
    """SHA-256 of a trained model's checkpoint; None for a scorer that needs no training."""
    if model in SCORERS:
        return None
    _require_known(model)
    return named_sha256(model)


def _summarizer(model: str, device: str) -> "Summarizer":
    _require_known(model)
    return _loaded(model, device, named_sha256(model))


@lru_cache(maxsize=2)
def _loaded(model: str, device: str, sha256: str) -> "Summarizer":
    """Kept for the next video of a batch, unless the file has changed."""
    from vidsum.summary.fulltransnet import load_summarizer

    return load_summarizer(model, device)


def _require_known(model: str) -> None:
    if model not in MODELS and not model.endswith(".safetensors"):
        raise UsageError(
            f"there is no model {model!r}",
            hint=f"choose from {', '.join(MODELS)}, or name a checkpoint: OUT/split_0/best.safetensors",
        )
