"""What the commands share that train a model to find moments: their choices, and what a run came to."""

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from vidsum.commands.result import Result
from vidsum.commands.train_mrnet_data import SHARE, RecipeName, SpaceName, TextName
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from vidsum.training.data import Annotated
    from vidsum.training.loop import Fitted
    from vidsum.training.moment_captions import CaptionRecipe

PLANTED = "planted"
"""What `--data` says for made-up moments."""


def refuse(unread: Mapping[str, Any], where: str) -> None:
    """Refuse options that would change nothing; empty ones were not given."""
    if names := [name for name, value in unread.items() if value not in (None, [])]:
        mean, them = ("means", "it") if len(names) == 1 else ("mean", "them")
        raise UsageError(f"{' and '.join(names)} {mean} nothing {where}", hint=f"leave {them} out")


def preset_name(preset: Enum | None, recipe: RecipeName, data: Sequence[str], of_features: str) -> str:
    """The preset that was chosen, or that goes with the data; `of_features` with the features of videos."""
    if preset is not None:
        return str(preset.value)
    if recipe is RecipeName.captions:
        return "captions"
    return PLANTED if is_planted(data) else of_features


def is_planted(data: Sequence[str]) -> bool:
    """Whether moments are made up, without captions.

    Raises:
        UsageError: there is more than one file of annotations, which only captions may be read from.
    """
    if len(data) > 1:
        raise UsageError("features are read for one file of annotations", hint="one --data")
    return data[0] == PLANTED


def annotated(
    data: Sequence[str],
    features: Sequence[Path],
    space: SpaceName,
    text: TextName | None,
    validation: str | None,
) -> "Annotated":
    """What annotated videos to train on.

    Raises:
        UsageError: there are no features.
    """
    from vidsum.training.data import Annotated

    if not features:
        raise UsageError("no features to train on", hint="--features FILE or FOLDER; or --data planted")
    return Annotated(
        Path(data[0]), tuple(features), space.value, text.value if text else None, _held_out(validation)
    )


def caption_recipe(
    data: Sequence[str], space: SpaceName, choices: Mapping[str, Any], validation: str | None
) -> "CaptionRecipe":
    """What to make examples up from; `choices` are fields of `CaptionRecipe`.

    Raises:
        UsageError: there are no captions, what is held out is not a share of the videos, or a choice makes
            no sense.
    """
    from vidsum.training.moment_captions import CaptionRecipe

    if PLANTED in data:
        raise UsageError(
            "--data planted has no captions to make examples up from",
            hint="--data FILE, or leave out --recipe captions",
        )
    share = _held_out(validation)
    if isinstance(share, Path):
        raise UsageError(
            "with captions, --validation is a share of the annotated videos", hint="--validation 0.1"
        )
    made_in = {} if space is SpaceName.features else {"space": space.value}
    return CaptionRecipe(tuple(Path(one) for one in data), **made_in, **choices, validation=share)


def _held_out(validation: str | None) -> Path | float:
    """A file of annotations, or a share of the videos."""
    if validation is None:
        return SHARE
    try:
        return float(validation)
    except ValueError:
        return Path(validation)


def run_result(
    command: str, folder: str, fitted: "Fitted", features: Mapping[str, Any], warnings: tuple[str, ...]
) -> Result:
    """What a run came to; with how to use it, where the features are such that `vidsum ground` makes them."""
    best, n_epochs = fitted.best, len(fitted.history)
    judged = "" if best.validation is None else f", validation {best.validation:.3f}"
    line = f"{folder}: best epoch {best.epoch} of {n_epochs}{judged}"
    use = f"vidsum ground VIDEO --query TEXT --model {quote(str(fitted.checkpoint))}"
    usable = features["space"] in ("clip", "conse")
    return Result(
        command,
        folder,
        {
            "up_to_date": fitted.up_to_date,
            "checkpoint": str(fitted.checkpoint),
            "epochs": n_epochs,
            "best_epoch": best.epoch,
            "loss": best.loss,
            "validation": best.validation,
        },
        lines=(
            f"{line} (up to date)" if fitted.up_to_date else line,
            *([f"use it with: {use}"] if usable else []),
        ),
        messages=warnings,
    )
