"""Importance scores by whatever was asked for: a scorer that needs no training, or a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

AUTO_ORDER = ("highlights", SHIPPED_MODEL, "contrastive")
"""What `auto` tries, best first: how much live footage their summaries held of films of which half was made
dull (docs/highlights.md has the figures). `cluster` did worse than `random` there and is left out."""

_FLAT_SHARE, _FLAT_LEAST = 0.05, 0.01
"""A curve is flat where it spans no more than this share of its mean, or no more than this."""


@dataclass(frozen=True, eq=False)
class Scored:
    """An importance curve, and where it comes from."""

    importance: FloatArray
    """[T] in [0, 1]"""
    model: str
    """What gave it."""
    reason: str
    """Why that model: one line."""
    warnings: tuple[str, ...] = ()


def is_flat(importance: FloatArray) -> bool:
    """Whether a curve does not tell the parts of a video apart."""
    spread = float(importance.max() - importance.min())
    return spread <= max(_FLAT_SHARE * float(importance.mean()), _FLAT_LEAST)


def candidates(model: str, extractor: str, rate: float, device: str = "auto") -> tuple[str, ...]:
    """The models that may give the scores, best first; one where it was named.

    Before a video is decoded, it is seen to that they can read its features.

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
        return tuple(name for name in AUTO_ORDER if is_read or name != SHIPPED_MODEL)
    if model not in SCORERS:
        summarizer = _summarizer(model, device)
        from vidsum.summary.fulltransnet import require_kind

        require_kind(summarizer, extractor, rate)
    return (model,)


def best_score(
    models: Sequence[str],
    features: Features,
    shots: Shots,
    selection: Selection,
    share: float,
    device: str = "auto",
) -> Scored:
    """The curve of the first model that is not flat on this video.

    Args:
        models: from `candidates`.
        features, shots, selection, share, device: see `score`.

    Returns:
        With `auto`, if all are flat, `uniform` and a warning. A flat curve of a model that was named comes
        with a warning, but for `uniform`, which is meant to be flat.
    """
    is_auto = selection.model == "auto"
    flat: list[str] = []
    for model in models:
        importance = score(features, shots, replace(selection, model=model), share, device)
        if not is_flat(importance):
            return Scored(importance, model, _reason(flat) if is_auto else "it was asked for")
        flat.append(model)
    if is_auto:
        why = f"{_listed(flat)} are flat on this video"
        warning = f"{why}: the segments are not chosen by what it shows"
        return Scored(SCORERS["uniform"](features, 0), "uniform", f"auto: {why}", (warning,))
    warnings = () if selection.model == "uniform" else (_flat_warning(selection.model),)
    return Scored(importance, selection.model, "it was asked for", warnings)


def _reason(flat: Sequence[str]) -> str:
    if not flat:
        return "auto: the best of the scorers at leaving out dull footage"
    return f"auto: {_listed(flat)} {'is' if len(flat) == 1 else 'are'} flat on this video"


def _flat_warning(model: str) -> str:
    others = " or ".join(f"--model {name}" for name in AUTO_ORDER if name not in (model, SHIPPED_MODEL))
    return f"{model} is flat on this video: the segments are not chosen by what it shows; try {others}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
        UsageError, InputError: see `candidates`.
    """
    if selection.model in SCORERS:
        return SCORERS[selection.model](features, selection.seed)
    from vidsum.summary.fulltransnet import importance

    return importance(_summarizer(selection.model, device), features, shots, share, selection.beams)


def require_attention(model: str) -> None:
    """See to it, before a video is decoded, that a model has attention that can be drawn.

    Raises:
        UsageError: it is no trained model, or may turn out to be none.
    """
    if model == "auto":
        raise UsageError("auto may take a scorer that pays no attention", hint="--model fulltransnet")
    if model in SCORERS:
        raise UsageError(f"{model} pays no attention to draw", hint="--model fulltransnet")


def draw_attention(
    features: Features,
    shots: Shots,
    selection: Selection,
    share: float,
    device: str,
    target: Path,
    part: AttentionPart = "mean",
    label: str | None = None,
) -> tuple[str, ...]:
    """Draw what a trained model looked at when `score` ran it, as PNG or SVG by the suffix.

    Args:
        features, shots, selection, share, device: those given to `score`. On another device rounding could
            let the model choose other key frames than those of the summary.
        target: the file.
        part: which layers and heads.
        label: see `vidsum.labels`.

    Returns:
        Warnings.

    Raises:
        UsageError: the model has no such layer or head.
        OutputError: the file cannot be written.
    """
    from vidsum.summary.attention_maps import attention_maps
    from vidsum.summary.attention_plot import attention_plot

    layers, heads = ([part[0]], [part[1]]) if isinstance(part, tuple) else (None, None)
    summarizer = _summarizer(selection.model, device)
    maps = attention_maps(summarizer, features, shots, share, selection.beams, layers=layers, heads=heads)
    attention_plot(maps, target, grids=part == "all", label=label)
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
