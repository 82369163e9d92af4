"""Moments and saliency by whatever was asked for: the similarity curve, or a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from vidsum.checkpoints.named import named_file, named_sha256
from vidsum.checkpoints.official import OFFICIAL
from vidsum.checkpoints.registry import builtin
from vidsum.errors import InputError, UsageError, WeightsError
from vidsum.grounding.proposals import moments_of, unit_range
from vidsum.grounding.spaces import ClipEmbeddings, embed_words, similarity, space_for
from vidsum.settings import SHIPPED_GROUNDER, Mask
from vidsum.types import FloatArray, Moment

if TYPE_CHECKING:
    from vidsum.checkpoints.trained import Trained
    from vidsum.grounding.grounder import DETRGrounder
    from vidsum.grounding.mrnet import Grounder

_SHIPPED_READS = "conse"
"""The space of the checkpoint that ships."""

_DETR = ("moment-detr", "qd-detr", "mrnet-detr")

MODELS = ("auto", "similarity", SHIPPED_GROUNDER, *_DETR)
"""What has a name; a checkpoint of `vidsum train mrnet` or `train detr` goes by its path."""

_READS_NO_VIDEOS = [name for name, official in OFFICIAL.items() if official.format == "mrnet-official"]
"""Those of OFFICIAL whose features cannot be made of a video."""

_AT_ONCE = 256
"""Queries whose curves are made in one go: what that takes beside the result stays small."""


@dataclass(frozen=True, eq=False)
class Asked:
    """M queries."""

    texts: Sequence[str]
    vectors: FloatArray
    """[M, D] in the space of the video."""


class Answer(NamedTuple):
    """What is found for one query."""

    moments: list[Moment]
    """Best first, at least one."""
    saliency: FloatArray
    """[T] how well each clip of the video fits, by a DETR model itself, else the similarity curve; drawn out
    over the video to [0, 1]."""


def model_for(model: str, space: str, device: str = "auto", mask: Mask | None = None) -> tuple[str, str]:
    """The model and the space that are meant, said before a video is decoded.

    `auto` is what measured best (weights/mrnet-conse.md): the checkpoint that ships where it reads the space,
    else `similarity`. A trained model reads the space that it was trained in: a space of `auto` is that one.

    Args:
        model: one of MODELS, or the path of a checkpoint.
        space: one of `vidsum.grounding.spaces.SPACES`.
        device: that the model will run on, so that it is loaded once.
        mask: the learned mask that the model has; None for what the model has.

    Raises:
        UsageError: there is no such model or space, the model reads another space or has no such mask.
        WeightsError: no checkpoint of that model ships.
        InputError: the file is missing or is no checkpoint.
    """
    if mask and model in (*MODELS, *_READS_NO_VIDEOS) and model not in _DETR:
        raise UsageError(f"a mask is chosen of DETR models, not of {model}", hint=_having(mask))
    if model == "similarity":
        return model, space_for(space)
    if model == "auto":
        wanted = space_for(space)
        return (SHIPPED_GROUNDER if wanted == _SHIPPED_READS else "similarity"), wanted
    named = _shipped(model, mask) if model in _DETR else model
    grounder = _grounder(named, device)
    if mask and named == model:
        _check_mask(grounder, mask)
    reads = grounder.space
    if space not in ("auto", reads):
        raise UsageError(f"{model} reads the space {reads}, not {space}", hint=f"--space {reads}")
    return named, reads


def locate(model: str, video: ClipEmbeddings, asked: Asked, top_k: int, device: str = "auto") -> list[Answer]:
    """The moments and the saliency of each query.

    Args:
        model: from `model_for`.
        video: in the space.
        asked: in the space.
        top_k: most moments of a query.
        device: that a trained model runs on.
    """
    if model == "similarity":
        of_video = (video.timestamps, video.step_s, video.duration_s)
        return [Answer(moments_of(curve, *of_video, top_k), curve) for curve in _curves(video, asked.vectors)]
    from vidsum.grounding import grounder as detr
    from vidsum.grounding import mrnet

    grounder = _grounder(model, device)
    if isinstance(grounder, detr.DETRGrounder):
        words = embed_words(grounder.space, asked.texts, device)
        found = detr.ground_video(grounder, video, words, asked.vectors, top_k)
        return [Answer(one.moments, unit_range(one.saliency)) for one in found]
    moments = mrnet.ground_video(grounder, video, asked.vectors, top_k=top_k)
    return [Answer(*both) for both in zip(moments, _curves(video, asked.vectors), strict=True)]


def most_words(model: str, device: str = "auto") -> int | None:
    """How many tokens of a query a model reads; None for all that its text encoder does."""
    if model == "similarity":
        return None
    from vidsum.grounding.grounder import DETRGrounder

    grounder = _grounder(model, device)
    return grounder.model.config.words if isinstance(grounder, DETRGrounder) else None


def checkpoint_sha256(model: str) -> str | None:
    """SHA-256 of a trained model's checkpoint; None for `similarity`.

    Raises:
        InputError: the file is missing.
    """
    return None if model == "similarity" else named_sha256(model)


def _curves(video: ClipEmbeddings, vectors: FloatArray) -> list[FloatArray]:
    """[T] of each query, in [0, 1] over the whole video."""
    starts = range(0, len(vectors), _AT_ONCE)
    return [
        unit_range(curve)
        for start in starts
        for curve in similarity(video, vectors[start : start + _AT_ONCE])
    ]


def _shipped(model: str, mask: Mask | None) -> str:
    """The name in the registry of a DETR model."""
    name = f"{model}-{mask}" if mask else model
    if name not in _all_shipped():
        raise WeightsError(
            f"no checkpoint of {name} comes with vidsum; these do: {', '.join(_all_shipped())}",
            hint=_training(model, mask),
        )
    return name


def _having(mask: Mask) -> str:
    """How to get a model with a mask: by its name where one ships."""
    shipped = (model for model in _DETR if f"{model}-{mask}" in _all_shipped())
    model = next(shipped, None)
    return f"--model {model} --mask {mask}" if model else _training(_DETR[1], mask)


def _training(model: str, mask: Mask | None) -> str:
    having = f" --mask {mask}" if mask else ""
    train = f"vidsum train detr --recipe captions --data FILE --out RUN --model {model}{having}"
    return f"{train}, then --model RUN/best.safetensors"


def _all_shipped() -> list[str]:
    return [name for name in builtin() if name == SHIPPED_GROUNDER or name.startswith(_DETR)]


def _check_mask(grounder: "Grounder | DETRGrounder", mask: Mask) -> None:
    has = grounder.model.config.mask
    kind = None if has is None else has.kind
    if kind != mask:
        raise UsageError(
            f"{grounder.name} has {f'the mask {kind}' if kind else 'no mask'}, not {mask}",
            hint=f"--mask {kind}" if kind else "leave out --mask",
        )


def _grounder(model: str, device: str) -> "Grounder | DETRGrounder":
    if model in _READS_NO_VIDEOS:
        raise UsageError(
            f"{model} reads published features, not videos: vidsum.grounding.mrnet runs it on those",
            hint="--model similarity, or a checkpoint of `vidsum train` (.safetensors)",
        )
    if model not in (*_all_shipped(), *OFFICIAL) and not model.endswith(".safetensors"):
        raise _no_model(model)
    return _loaded(model, device, named_sha256(model))


def _no_model(model: str) -> UsageError:
    best = Path(model) / "best.safetensors"
    if best.is_file():
        return UsageError(
            f"{model} is the folder of a run, not a checkpoint", hint=f"--model {quote(str(best))}"
        )
    if Path(model).is_file():
        return UsageError(
            f"{model} is not a checkpoint of vidsum (.safetensors)",
            hint="--model RUN/best.safetensors, of a run of `vidsum train detr` or `train mrnet`",
        )
    return UsageError(
        f"there is no model {model!r}",
        hint=f"choose from {', '.join(MODELS)}, or name a checkpoint (.safetensors)",
    )


@lru_cache(maxsize=2)
def _loaded(model: str, device: str, sha256: str) -> "Grounder | DETRGrounder":
    """Kept for the next video of a batch, unless the file has changed."""
    from vidsum.checkpoints.trained import read_trained
    from vidsum.grounding import grounder as detr
    from vidsum.grounding import mrnet

    trained = read_trained(named_file(model))
    if trained.model not in (*_DETR, "mrnet"):
        raise InputError(f"{model}: a checkpoint of {trained.model}, which finds no moments")
    _check_space(trained, model)
    make = detr.grounder_of if trained.model in _DETR else mrnet.grounder_of
    return make(trained, model, device)


def _check_space(trained: "Trained", model: str) -> None:
    """Refuse a model of what is not made of videos; one that does not say is refused where it is built."""
    space = str(trained.features.get("space", "conse"))
    if space in ("clip", "conse"):
        return
    read = {"planted": "planted moments", "features": "other features"}.get(space, space)
    command = "detr" if trained.model in _DETR else "mrnet"
    raise UsageError(
        f"{model} cannot read videos: it was trained on {read}",
        hint=f"vidsum train {command} with --recipe captions, or on features of --space conse or clip; "
        "vidsum evaluate runs others on features",
    )
