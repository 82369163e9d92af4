"""Trained models for moments by name or checkpoint: their space, precision and loading, with hints."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from vidsum.checkpoints.named import OFFICIAL, checkpoint_digest, checkpoint_file
from vidsum.checkpoints.registry import builtin_entries
from vidsum.device import Precision, PrecisionChoice, cached_model, takes_bf16
from vidsum.errors import UsageError, WeightsError, unknown_name_error
from vidsum.grounding.settings import SHIPPED_GROUNDER
from vidsum.grounding.spaces import SPACES, resolve_space
from vidsum.models.mask_kinds import MaskKind

if TYPE_CHECKING:
    from vidsum.grounding.moment_model import MomentModel

_DETR = ("moment-detr", "qd-detr", "mrnet-detr")

MODELS = ("auto", "similarity", SHIPPED_GROUNDER, *_DETR)
"""Models that have a name; a checkpoint of `vidsum train mrnet` or `train detr` is given by its path."""

_FEATURE_MODELS = [name for name, official in OFFICIAL.items() if official.format == "mrnet-official"]
"""Published models whose features vidsum cannot extract."""


def resolve_model(
    model: str, space: str, device: str = "auto", mask: MaskKind | None = None
) -> tuple[str, str]:
    """Return the model (one of MODELS or a path) and the space to use, before a video is decoded.

    `auto` is the model that measured best (docs/benchmarks.md), `similarity`, and the space that a trained
    model was trained in. `device` is where it will run; `mask` the learned mask that it must have.

    Raises UsageError: the model or space is unknown, or the model reads another space or has no such mask.
    WeightsError: no checkpoint of that model ships. InputError: the file is missing or no checkpoint.
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


def max_words(model: str, device: str = "auto") -> int | None:
    """Maximum number of tokens of a query that a model reads; None for all that its text encoder reads."""
    return None if model == "similarity" else load_model(model, device).max_words


def checkpoint_sha256(model: str) -> str | None:
    """Return SHA-256 of a model's checkpoint, None for `similarity`. Raises InputError: it is missing."""
    return None if model == "similarity" else checkpoint_digest(model)


def _registry_name(model: str, mask: MaskKind | None) -> str:
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
        raise _name_error(model)
    return _load_checkpoint(model, device, checkpoint_digest(model))


def _name_error(model: str) -> UsageError:
    best = Path(model) / "best.safetensors"
    if best.is_file():
        fault, hint = f"{model} is the folder of a run, not a checkpoint", f"--model {quote(str(best))}"
        return UsageError(fault, hint=hint)
    if Path(model).is_file():
        hint = "--model RUN/best.safetensors, of a run of `vidsum train detr` or `train mrnet`"
        return UsageError(f"{model} is not a checkpoint of vidsum (.safetensors)", hint=hint)
    known = ("auto", "similarity", *_shipped_models())
    return unknown_name_error("model", model, known, ", or give a checkpoint (.safetensors)")


@cached_model(maxsize=2)
def _load_checkpoint(model: str, device: str, sha256: str) -> "MomentModel":
    from vidsum.checkpoints.trained import read_trained
    from vidsum.grounding.moment_model import build_moment_model

    trained = read_trained(checkpoint_file(model))
    space = str(trained.features.get("space", "clip"))  # `build_moment_model` refuses a model without one
    if space not in SPACES:
        source = {"toy": "toy data", "features": "other features"}.get(space, space)
        train = f"vidsum train {'detr' if trained.model in _DETR else 'mrnet'} with --recipe captions"
        hint = f"or on features of the space {' or '.join(SPACES)}; vidsum evaluate runs others on features"
        raise UsageError(f"{model} cannot read videos: it was trained on {source}", hint=f"{train}, {hint}")
    return build_moment_model(trained, model, device)
