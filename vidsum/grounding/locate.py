"""Moments by whatever was asked for: the similarity curve, or a trained model."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from vidsum.checkpoints.mrnet_official import OFFICIAL
from vidsum.checkpoints.named import named_sha256
from vidsum.errors import UsageError
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.spaces import ClipEmbeddings, space_for
from vidsum.settings import SHIPPED_GROUNDER
from vidsum.types import FloatArray, Moment

if TYPE_CHECKING:
    from vidsum.grounding.mrnet import Grounder

_SHIPPED_READS = "conse"
"""The space of the checkpoint that ships."""

MODELS = ("auto", "similarity", SHIPPED_GROUNDER)
"""What has a name; a checkpoint of `vidsum train mrnet` goes by its path."""


def model_for(model: str, space: str, device: str = "auto") -> tuple[str, str]:
    """The model and the space that are meant, said before a video is decoded.

    `auto` is what measured best (weights/mrnet-conse.md): the checkpoint that ships where it reads the space,
    else `similarity`. A trained model reads the
    space that it was trained in: a space of `auto` is that one.

    Args:
        model: one of MODELS, or the path of a checkpoint.
        space: one of `vidsum.grounding.spaces.SPACES`.
        device: that the model will run on, so that it is loaded once.

    Raises:
        UsageError: there is no such model or space, or the model reads another space.
        InputError: the file is missing or is no checkpoint.
    """
    if model == "similarity":
        return model, space_for(space)
    if model == "auto":
        wanted = space_for(space)
        return (SHIPPED_GROUNDER if wanted == _SHIPPED_READS else "similarity"), wanted
    reads = _grounder(model, device).space
    if reads not in ("clip", "conse"):
        raise UsageError(
            f"{model} reads the space {reads!r}, which is not made of videos",
            hint="vidsum train mrnet --space conse, or clip",
        )
    if space not in ("auto", reads):
        raise UsageError(f"{model} reads the space {reads}, not {space}", hint=f"--space {reads}")
    return model, reads


def locate(
    model: str,
    video: ClipEmbeddings,
    queries: FloatArray,
    curves: Sequence[FloatArray],
    top_k: int,
    device: str = "auto",
) -> list[list[Moment]]:
    """The moments of each query, best first.

    Args:
        model: from `model_for`.
        video: in the space.
        queries: [M, D] in the space.
        curves: M curves [T] of how well the clips fit the query.
        top_k: most moments of a query.
        device: that a trained model runs on.
    """
    if model == "similarity":
        return [
            moments_of(curve, video.timestamps, video.step_s, video.duration_s, top_k) for curve in curves
        ]
    from vidsum.grounding.mrnet import ground_video

    return ground_video(_grounder(model, device), video, queries, top_k=top_k)


def checkpoint_sha256(model: str) -> str | None:
    """SHA-256 of a trained model's checkpoint; None for `similarity`.

    Raises:
        InputError: the file is missing.
    """
    if model == "similarity":
        return None
    return named_sha256(model)


def _grounder(model: str, device: str) -> "Grounder":
    if model in OFFICIAL:
        raise UsageError(
            f"{model} reads published features, not videos: vidsum.grounding.mrnet runs it on those",
            hint="--model similarity, or a checkpoint of `vidsum train mrnet` (.safetensors)",
        )
    if model != SHIPPED_GROUNDER and not model.endswith(".safetensors"):
        raise UsageError(
            f"there is no model {model!r}",
            hint=f"choose from {', '.join(MODELS)}, or name a checkpoint (.safetensors)",
        )
    return _loaded(model, device, named_sha256(model))


@lru_cache(maxsize=2)
def _loaded(model: str, device: str, sha256: str) -> "Grounder":
    """Kept for the next video of a batch, unless the file has changed."""
    from vidsum.grounding.mrnet import load_grounder

    return load_grounder(model, device)
