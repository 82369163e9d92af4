"""Published models of other authors that can be taken in as checkpoints of vidsum, by format and name."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from vidsum.checkpoints.cached import weights_folder
from vidsum.checkpoints.detr_official import moment_detr_checkpoint, qd_detr_checkpoint
from vidsum.checkpoints.mrnet_official import CONFIGURATIONS, mrnet_checkpoint
from vidsum.checkpoints.published import Published, read_published
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.errors import UsageError, WeightsError
from vidsum.outputs import make_folder

Format = Literal["mrnet-official", "detr-official"]


class Official(NamedTuple):
    """A published model."""

    format: Format
    checkpoint: Callable[[Published], Trained]
    hint: str
    """What file it is read from."""


OFFICIAL: Mapping[str, Official] = MappingProxyType(
    {
        **{
            name: Official(
                "mrnet-official",
                partial(mrnet_checkpoint, name=name),
                f"give a state dict of xian-sh/MRNet for {configuration.dataset}, as its trainer saves it "
                "(.pth)",
            )
            for name, configuration in CONFIGURATIONS.items()
        },
        "moment-detr-qvhighlights": Official(
            "detr-official",
            moment_detr_checkpoint,
            "give model_best.ckpt of jayleicn/moment_detr",
        ),
        "qd-detr-qvhighlights": Official(
            "detr-official", qd_detr_checkpoint, "give model_best.ckpt of wjun0830/QD-DETR"
        ),
    }
)
"""By the names that they get."""


def add_official(file: Path, name: str, format: Format | None = None) -> Path:
    """Store a published model as a checkpoint of vidsum in the folder of weights; its path.

    Args:
        file: as published.
        name: of OFFICIAL.
        format: of the file; what `name` has if not given.

    Raises:
        UsageError: no published model of the format has that name.
        WeightsError: the file does not hold that model.
        OutputError: it cannot be stored.
    """
    known = [one for one, official in OFFICIAL.items() if format in (None, official.format)]
    if name not in known:
        raise UsageError(
            f"{name} cannot be read from the authors' format", hint=f"known are {', '.join(known)}"
        )
    official = OFFICIAL[name]
    published = read_published(file, official.hint)
    try:
        trained = official.checkpoint(published)
    except WeightsError as error:
        raise WeightsError(f"{file}: {error.message}", hint=error.hint or official.hint) from error
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # what indexing and reshaping raise at tensors of other shapes, and numbers at other options
        raise WeightsError(
            f"{file}: its tensors or options do not have the form of {name}", hint=official.hint
        ) from error
    path = _place(name)
    make_folder(path.parent)
    save_trained(path, trained)
    return path


def official_file(name: str) -> Path:
    """The checkpoint that `add_official` stored.

    Raises:
        WeightsError: it was never added.
    """
    path = _place(name)
    if not path.is_file():
        official = OFFICIAL[name]
        raise WeightsError(
            f"{name}: its weights are not here, and come from its authors alone ({official.hint})",
            hint=f"vidsum weights add FILE --as {name} --format {official.format}",
        )
    return path


def _place(name: str) -> Path:
    return weights_folder() / name / f"{name}.safetensors"
