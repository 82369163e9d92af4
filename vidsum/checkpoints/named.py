"""Checkpoints of trained models by name: from the registry, from other authors, or as files."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from vidsum import checkpoints
from vidsum.checkpoints.detr_official import moment_detr_checkpoint, qd_detr_checkpoint
from vidsum.checkpoints.mrnet_official import CONFIGURATIONS, mrnet_checkpoint
from vidsum.checkpoints.registry import builtin_entries, weights_folder
from vidsum.checkpoints.tensors import Published, read_published
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.errors import InputError, UsageError, WeightsError
from vidsum.outputs import make_folder
from vidsum.provenance import identify_file

BEST = "best.safetensors"
"""The checkpoint in the folder of a training run that validated best."""

OfficialFormat = Literal["mrnet-official", "detr-official"]


class OfficialModel(NamedTuple):
    """A published model."""

    format: OfficialFormat
    checkpoint: Callable[[Published], Trained]
    hint: str
    """The file that it is read from, for messages."""


_MRNET_HINT = "give a state dict of xian-sh/MRNet for {}, as its trainer saves it (.pth)"
_DETR_HINT = "give model_best.ckpt of {}"

OFFICIAL: Mapping[str, OfficialModel] = {
    name: OfficialModel("mrnet-official", partial(mrnet_checkpoint, name=name), _MRNET_HINT.format(dataset))
    for name, (dataset, *_) in CONFIGURATIONS.items()
} | {
    name: OfficialModel("detr-official", checkpoint, _DETR_HINT.format(repository))
    for name, checkpoint, repository in (
        ("moment-detr-qvhighlights", moment_detr_checkpoint, "jayleicn/moment_detr"),
        ("qd-detr-qvhighlights", qd_detr_checkpoint, "wjun0830/QD-DETR"),
    )
}
"""The published models by their names here."""


def add_official(file: Path, name: str, format: OfficialFormat | None = None) -> Path:
    """Store a published model, `name` of OFFICIAL, as a checkpoint in the folder of weights; return its path.

    Raises UsageError: no published model of the format has that name. WeightsError: the file does not hold
    that model. OutputError: it cannot be stored.
    """
    known = [other for other, official in OFFICIAL.items() if format in (None, official.format)]
    if name not in known:
        hint = f"known are {', '.join(known)}"
        raise UsageError(f"{name} cannot be read from the authors' format", hint=hint)
    official = OFFICIAL[name]
    published = read_published(file, official.hint)
    try:
        trained = official.checkpoint(published)
    except WeightsError as error:
        raise WeightsError(f"{file}: {error.message}", hint=error.hint or official.hint) from error
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # what indexing and reshaping raise at tensors of other shapes, and numbers at other options
        fault = f"{file}: its tensors or options do not have the form of {name}"
        raise WeightsError(fault, hint=official.hint) from error
    path = _path_of(name)
    make_folder(path.parent)
    save_trained(path, trained)
    return path


def official_file(name: str) -> Path:
    """Return the checkpoint that `add_official` stored. Raises WeightsError where it was never added."""
    path = _path_of(name)
    if not path.is_file():
        official = OFFICIAL[name]
        raise WeightsError(
            f"{name}: its weights are not on this machine, only its authors publish them ({official.hint})",
            hint=f"vidsum weights add FILE --as {name} --format {official.format}",
        )
    return path


def _path_of(name: str) -> Path:
    return weights_folder() / name / f"{name}.safetensors"


def checkpoint_file(name: str) -> Path:
    """Return the file of a checkpoint by its path, its name in the registry, or the name it was added by.

    Raises WeightsError where it cannot be fetched, or was not added.
    """
    if name in builtin_entries():
        return checkpoints.path_of(name)
    return official_file(name) if name in OFFICIAL else Path(name)


def checkpoint_digest(name: str) -> str:
    """Return the SHA-256 of `checkpoint_file(name)`. Raises InputError where there is no such file."""
    if name in builtin_entries():
        return checkpoints.sha256_of(name)
    file = checkpoint_file(name)
    if not file.is_file():
        raise InputError(f"{name}: no such file")
    return str(identify_file(file)["sha256"])
