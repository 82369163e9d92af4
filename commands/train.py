"""`vidsum train`: train models on annotated videos, captions or toy data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vidsum.commands.options import Given, View, Without, command
from vidsum.commands.result import Result, render, run_batch
from vidsum.errors import UsageError
from vidsum.options import Option, build
from vidsum.training.presets import DETRChoice, MRNetChoice
from vidsum.training.settings import DataSettings, DETRSettings, FullTransNetSettings, MRNetSettings

if TYPE_CHECKING:
    from vidsum.training.data import MomentData
    from vidsum.training.loop import FitResult
    from vidsum.types import Progress

app = typer.Typer(no_args_is_help=True, help="Train models on annotated videos.")


@dataclass(frozen=True)
class RunFolder:
    """Where a run goes."""

    PANEL = "Data and output"

    out: Annotated[
        Path,
        Option("Run folder. An unfinished run there is resumed.", flags=("--out", "-o"), metavar="FOLDER"),
    ]
    overwrite: Annotated[bool, Option("Start over if the folder has a run.")] = False


@dataclass(frozen=True)
class SplitOptions:
    """The videos of FullTransNet."""

    PANEL = "Data and output"

    data: Annotated[
        tuple[Path, ...],
        Option("h5 file of annotated videos. Can be repeated; the first is the test set.", metavar="FILE"),
    ]
    splits: Annotated[
        str,
        Option(
            "canonical, augmented or transfer, or a file of published splits (.json, .yml).",
            metavar="SETTING|FILE",
        ),
    ] = "canonical"
    split: Annotated[
        tuple[int, ...], Option("Train this split only, counted from 0. Can be repeated.", min=0, shown="all")
    ] = ()


def _preset_names(kind: type[MRNetSettings | DETRSettings]) -> tuple[str, ...]:
    """The options that a preset sets."""
    sizes = {name for size in kind.SIZES.values() for name in size}
    return tuple(sizes.union(*(preset for preset in kind.PRESETS.values())))


@app.command("fulltransnet")
@command
def fulltransnet(data: SplitOptions, run: RunFolder, settings: FullTransNetSettings, view: View) -> None:
    """Train FullTransNet, one model per split.

    vidsum train fulltransnet --data tvsum.h5 --out runs/tvsum

    vidsum train fulltransnet --data summe.h5 --data tvsum.h5 --splits augmented --out runs/augmented
    """
    from vidsum.datasets.splits import coverage_of, splits_of, tested_files
    from vidsum.datasets.summaries import dataset_name, read_all
    from vidsum.training.fulltransnet import prepare_run, train_split

    videos = read_all(data.data)
    splits = splits_of(data.splits, videos, dataset_name(data.data[0]))
    if wrong := [number for number in data.split if number >= len(splits)]:
        raise UsageError(f"unknown split {wrong[0]}", hint=f"--split 0 ... {len(splits) - 1}")
    numbers = sorted(set(data.split)) or list(range(len(splits)))
    prepared = prepare_run(
        videos, splits, settings, run.out, sources=list(data.data), overwrite=run.overwrite
    )
    number_of = {str(prepared.folder(number)): number for number in numbers}

    def step(folder: str, progress: "Progress | None") -> Result:
        trained = train_split(prepared, number_of[folder], overwrite=run.overwrite, progress=progress)
        name, warnings = trained.split.name, trained.warnings
        return _fitted_result("train fulltransnet", folder, trained.fitted, name, warnings)

    run_batch("train fulltransnet", list(number_of), view, step)
    coverage = coverage_of(splits, videos)  # published splits test some videos never, others repeatedly
    uneven = () if coverage.tiles else (str(coverage),)
    render(_next_result(tested_files(splits, data.data), run.out, uneven), view)


@app.command("mrnet")
@command
def mrnet(
    data: Annotated[DataSettings, Without(("text_features",))],
    run: RunFolder,
    choice: MRNetChoice,
    chosen: Annotated[Mapping[str, Any], Given(MRNetSettings, _preset_names(MRNetSettings))],
    view: View,
) -> None:
    """Train MRNet, which finds the moments of a video that a text describes.

    vidsum train mrnet --data train.json --features c3d.hdf5 --out runs/anet

    vidsum train mrnet --data toy --clips 16 --head light --out runs/try

    vidsum train mrnet --recipe captions --data train.json --head light --out runs/captions
    """

    def step(folder: str, progress: "Progress | None") -> Result:
        from vidsum.training.mrnet import train_mrnet
        from vidsum.training.sources import moment_data, preset_of

        preset = MRNetSettings.published(choice.preset or preset_of(data, "activitynet"), choice.head)
        settings = build(MRNetSettings, chosen, preset)
        examples = moment_data(data, settings, progress)
        fitted = train_mrnet(examples, settings, Path(folder), overwrite=run.overwrite, progress=progress)
        return _run_result("train mrnet", folder, fitted, examples)

    run_batch("train mrnet", [str(run.out)], view, step)


@app.command("detr")
@command
def detr(
    data: DataSettings,
    run: RunFolder,
    choice: DETRChoice,
    chosen: Annotated[Mapping[str, Any], Given(DETRSettings, _preset_names(DETRSettings))],
    view: View,
) -> None:
    """Train QD-DETR, Moment-DETR or mrnet-detr, which find moments and how salient each clip is.

    vidsum train detr --data train.jsonl --features slowfast/ --features clip/ --text clip --out runs/qd

    vidsum train detr --recipe captions --data train.jsonl --size light --out runs/captions

    vidsum train detr --data toy --size light --out runs/try
    """

    def step(folder: str, progress: "Progress | None") -> Result:
        from vidsum.training.detr import train_detr
        from vidsum.training.sources import highlight_data, preset_of

        preset = DETRSettings.published(choice.preset or preset_of(data, "qvhighlights"), choice.size)
        settings = build(DETRSettings, chosen, preset)
        examples = highlight_data(data, settings, progress)
        fitted = train_detr(
            examples, choice.model, settings, Path(folder), overwrite=run.overwrite, progress=progress
        )
        return _run_result("train detr", folder, fitted, examples)

    run_batch("train detr", [str(run.out)], view, step)


def _run_result(command: str, folder: str, fitted: "FitResult", data: "MomentData[Any]") -> Result:
    """The end of a run; with how to use the model, where `vidsum ground` makes such features."""
    use = f"use it with: vidsum ground VIDEO --query TEXT --model {quote(str(fitted.checkpoint))}"
    lines = (use,) if data.features["space"] in ("clip", "conse") else ()
    return _fitted_result(command, folder, fitted, None, data.warnings, lines)


def _fitted_result(
    command: str,
    folder: str,
    fitted: "FitResult",
    split: str | None,
    warnings: tuple[str, ...],
    lines: tuple[str, ...] = (),
) -> Result:
    best, n_epochs = fitted.best, len(fitted.history)
    validation = "" if best.validation is None else f", validation {best.validation:.3f}"
    name = f"{split}, " if split else ""
    done = " (up to date)" if fitted.up_to_date else ""
    facts = {
        "up_to_date": fitted.up_to_date,
        **({"split": split} if split else {}),
        "checkpoint": str(fitted.checkpoint),
        "epochs": n_epochs,
        "best_epoch": best.epoch,
        "loss": best.loss,
        "validation": best.validation,
    }
    line = f"{folder}: {name}best epoch {best.epoch} of {n_epochs}{validation}{done}"
    return Result(command, folder, facts, lines=(line, *lines), messages=warnings)


def _next_result(data: Sequence[Path], out: Path, messages: tuple[str, ...]) -> Result:
    """How the run is evaluated, or which splits it still lacks."""
    from vidsum.training.run import unfinished_splits

    files = " ".join(f"--data {quote(str(path))}" for path in data)
    evaluate = f"vidsum evaluate summary {files} --run {quote(str(out))}"
    left = unfinished_splits(out)
    line = f"still to train: {' '.join(f'--split {number}' for number in left)}"
    return Result(
        "train fulltransnet",
        str(out),
        {"unfinished_splits": left, "evaluate": None if left else evaluate},
        lines=(line if left else f"evaluate it with: {evaluate}",),
        messages=messages,
    )
