"""What the commands share that train a model to find moments: their choices, and what a run came to."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from vidsum.commands.result import Result
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from vidsum.training.loop import Fitted


def given(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Those that have a value."""
    return {name: value for name, value in choices.items() if value is not None}


def refuse(unread: Mapping[str, Any], where: str) -> None:
    """Refuse options that would change nothing; empty ones were not given."""
    if names := [name for name, value in unread.items() if value not in (None, [])]:
        raise UsageError(f"{' and '.join(names)} mean nothing {where}", hint="leave them out")


def held_out(validation: str) -> Path | float:
    """A file of annotations, or a share of the videos."""
    try:
        return float(validation)
    except ValueError:
        return Path(validation)


def held_out_share(validation: str) -> float:
    """A share of the videos, which is all that can be held out of captions."""
    share = held_out(validation)
    if isinstance(share, Path):
        raise UsageError(
            "with captions, --validation is a share of the annotated videos", hint="--validation 0.1"
        )
    return share


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
