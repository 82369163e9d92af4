"""Checkpoints of trained models by name: from the registry, from other authors, or as files."""

from collections.abc import Mapping
from pathlib import Path

from vidsum import checkpoints
from vidsum.checkpoints.registry import builtin_entries, weights_folder
from vidsum.errors import WeightsError
from vidsum.io.file_names import missing_file
from vidsum.io.provenance import identify_file

BEST = "best.safetensors"  # the checkpoint in the folder of a training run that validated best

_MRNET_HINT = "give a state dict of xian-sh/MRNet for {}, as its trainer saves it (.pth)"
_DETR_HINT = "give model_best.ckpt of {}"

OFFICIAL: Mapping[str, str] = {
    "mrnet-activitynet": _MRNET_HINT.format("ActivityNet Captions"),
    "mrnet-charades": _MRNET_HINT.format("Charades-STA"),
    "mrnet-tacos": _MRNET_HINT.format("TACoS"),
    "moment-detr-qvhighlights": _DETR_HINT.format("jayleicn/moment_detr"),
    "qd-detr-qvhighlights": _DETR_HINT.format("wjun0830/QD-DETR"),
}
"""Published models that only their authors distribute: the file that each is read from, for messages.

`vidsum.lab.importers` reads their files.
"""


def official_path(name: str) -> Path:
    """Return where a published model is stored once it was added."""
    return weights_folder() / name / f"{name}.safetensors"


def checkpoint_file(name: str) -> Path:
    """Return the file of a checkpoint by its path or name. Raises WeightsError: it is not here."""
    if name in builtin_entries():
        return checkpoints.path_of(name)
    if name not in OFFICIAL:
        return Path(name)
    path = official_path(name)
    if not path.is_file():
        raise WeightsError(
            f"its weights are not on this machine, only its authors publish them ({OFFICIAL[name]})",
            hint=f"vidsum weights add FILE --as {name}",
            subject=name,
        )
    return path


def checkpoint_digest(name: str) -> str:
    """Return the SHA-256 of `checkpoint_file(name)`. Raises InputError where there is no such file."""
    if name in builtin_entries():
        return checkpoints.sha256_of(name)
    file = checkpoint_file(name)
    if not file.is_file():
        raise missing_file(file)
    return str(identify_file(file)["sha256"])
