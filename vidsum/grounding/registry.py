"""Trained models for moments by name or checkpoint: their space, precision and loading, with hints."""

from typing import TYPE_CHECKING

from vidsum.checkpoints.named import OFFICIAL, checkpoint_digest, checkpoint_file
from vidsum.checkpoints.registry import builtin_entries
from vidsum.device import Precision, PrecisionChoice, cached_model, takes_bf16
from vidsum.errors import UsageError, unknown_name_error
from vidsum.grounding.settings import SHIPPED_GROUNDER
from vidsum.grounding.spaces import SPACES, resolve_space

if TYPE_CHECKING:
    from vidsum.grounding.moment_model import MomentModel

_DETR = ("moment-detr", "qd-detr", "mrnet-detr")


def resolve_model(model: str, space: str, device: str = "auto") -> tuple[str, str]:
    """Return the model (a name or a path) and the space to use, before a video is decoded.

    `auto` is the model that measured best (docs/benchmarks.md), `similarity`, and the space that a trained
    model was trained in. `device` is where it will run.

    Raises UsageError: the model or space is unknown, or the model reads another space. InputError: the file
    is missing or no checkpoint.
    """
    if model in ("auto", "similarity"):
        return "similarity", resolve_space(space)
    grounder = load_model(model, device)
    if space not in ("auto", grounder.space):
        fault = f"{model} reads the space {grounder.space}, not {space}"
        raise UsageError(fault, hint=f"--space {grounder.space}")
    return model, grounder.space


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


def load_model(model: str, device: str) -> "MomentModel":
    """Return a trained model by name or checkpoint. Raises UsageError where it cannot read videos."""
    if model in OFFICIAL and model.startswith("mrnet-"):
        fault = (
            f"{model} reads published features, not videos: vidsum.grounding.moment_model runs it on those"
        )
        raise UsageError(fault, hint="--model similarity, or a checkpoint of `vidsum train` (.safetensors)")
    shipped = [name for name in builtin_entries() if name == SHIPPED_GROUNDER or name.startswith(_DETR)]
    if model not in (*shipped, *OFFICIAL) and not model.endswith(".safetensors"):
        known = ("auto", "similarity", *shipped)
        raise unknown_name_error("model", model, known, ", or give a checkpoint (RUN/best.safetensors)")
    return _load_checkpoint(model, device, checkpoint_digest(model))


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
