"""`vidsum train`: train models on annotated videos or captions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from vidsum.batch.inputs import BatchInput, plain_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.commands.batch import Printing, run_verb
from vidsum.commands.options import Chosen, Flags, Without, command
from vidsum.commands.result import render
from vidsum.commands.usage import CommandGroup
from vidsum.errors import (
    Mention,
    UsageError,
)
from vidsum.lab.training.settings import DataSettings, DETRChoice, DETRSettings, MRNetChoice, MRNetSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings, SplitOptions
from vidsum.options import Option, build, option

if TYPE_CHECKING:
    from vidsum.lab.training.annotated import MomentData
    from vidsum.lab.training.loop import FitResult
    from vidsum.lab.training.run import TrainingRun

S = TypeVar("S", bound=FullTransNetSettings | RidgeSettings)
app = typer.Typer(
    cls=CommandGroup, add_completion=False, no_args_is_help=True, help="Train models on annotated videos."
)
_DATA = ("data", "recipe", "features", "space", "text", "validation")
_TRAINING = ("epochs", "lr", "mask", "device")
"""Settings that have a flag: `--config` and variables set all others."""


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Where a run goes."""

    PANEL = "Data and output"

    out: Annotated[
        Path,
        Option(
            "Run folder.",
            flags=("--out", "-o"),
            metavar="FOLDER",
            more="An unfinished run there is resumed.",
        ),
    ]
    overwrite: bool = option("Start over if the folder has a run.", False)
    keep_epochs: tuple[int, ...] = option(
        "Also keep the model of this epoch, epoch_N.safetensors.",
        (),
        min=1,
        flag_on=(),
        panel="Training",
    )


Folder = Annotated[RunFolder, Without(("keep_epochs",))]


def _preset_names(kind: type[MRNetSettings | DETRSettings]) -> tuple[str, ...]:
    sizes = {name for size in kind.SIZES.values() for name in size}
    return tuple(sizes.union(*(preset for preset in kind.PRESETS.values())))


def _preset(data: DataSettings, published: str) -> str:
    """Return the preset that goes with the data; `published` for features of annotated videos."""
    return data.recipe if data.recipe == "captions" else published


@command(
    app,
    "vidsum train fulltransnet --data tvsum.h5 --out runs/tvsum",
    "vidsum train fulltransnet --data tvsum.h5 --splits splits.json --out runs/tvsum",
)
def fulltransnet(
    data: SplitOptions,
    run: RunFolder,
    settings: Annotated[FullTransNetSettings, Flags(("epochs", "lr", "device", "mask"))],
    common: Printing,
) -> None:
    """Train FullTransNet, one model per split."""
    from vidsum.lab.training.train_fulltransnet import prepare_run, train_split

    def train(prepared: "TrainingRun[FullTransNetSettings]", number: int, progress: Progress | None) -> Reply:
        fitted, warnings = train_split(
            prepared, number, keep_epochs=run.keep_epochs, overwrite=run.overwrite, progress=progress
        )
        folder = str(prepared.folder(number))
        return _fitted_result(folder, fitted, warnings, prepared.splits[number].name)

    prepare = partial(prepare_run, settings=settings)
    _train_splits("train fulltransnet", data, run, prepare, train, common)


@command(
    app,
    "vidsum train ridge --data tvsum.h5 --out runs/ridge",
    "vidsum train ridge --captions captions.json --annotations ydata-tvsum50.mat --captions-as vse "
    "--out runs/r",
)
def ridge(
    data: SplitOptions, run: Folder, settings: Annotated[RidgeSettings, Flags()], common: Printing
) -> None:
    """Fit ridge regression of people's scores on frames, one model per split, in one step."""
    from vidsum.lab.training.run import start_run
    from vidsum.lab.training.train_ridge import fit_split

    def train(prepared: "TrainingRun[RidgeSettings]", number: int, progress: Progress | None) -> Reply:
        checkpoint, fitted = fit_split(prepared, number, progress, overwrite=run.overwrite)
        split, folder = prepared.splits[number].name, str(prepared.folder(number))
        rank = "" if fitted.validation is None else f", validation {fitted.validation:.3f}"
        facts = {
            "split": split,
            "checkpoint": str(checkpoint),
            "penalty": fitted.penalty,
            "validation": fitted.validation,
        }
        line = f"{folder}: {split}, penalty {fitted.penalty:g}{rank}"
        return Reply(data=facts, lines=(line,))

    _train_splits("train ridge", data, run, partial(start_run, "ridge", settings=settings), train, common)


@command(
    app,
    "vidsum train mrnet --data train.json --features c3d.hdf5 --out runs/anet",
    "vidsum train mrnet --recipe captions --data train.json --out runs/captions",
)
def mrnet(
    data: Annotated[DataSettings, Without(("text_features",)), Flags((*_DATA, "query_features"))],
    run: Folder,
    choice: MRNetChoice,
    chosen: Annotated[
        Mapping[str, Any], Chosen(MRNetSettings, _preset_names(MRNetSettings)), Flags(_TRAINING)
    ],
    common: Printing,
) -> None:
    """Train MRNet, which finds moments from a text query."""

    def step(item: BatchInput, progress: Progress | None) -> Reply:
        from vidsum.lab.training.train_mrnet import train_mrnet
        from vidsum.lab.training.training_examples import moment_data

        preset = MRNetSettings.published(choice.preset or _preset(data, "activitynet"), choice.head)
        settings = build(MRNetSettings, chosen, preset)
        examples = moment_data(data, settings, progress)
        fitted = train_mrnet(examples, settings, Path(item.path), overwrite=run.overwrite, progress=progress)
        return _run_result(item.path, fitted, examples)

    run_verb("train mrnet", step, plain_inputs([str(run.out)]), common, are_videos=False)


@command(
    app,
    "vidsum train detr --data train.jsonl --features clip/ --text clip --out runs/qd",
    "vidsum train detr --recipe captions --data train.jsonl --out runs/captions",
)
def detr(
    data: Annotated[DataSettings, Without(("query_features",)), Flags((*_DATA, "text_features"))],
    run: Folder,
    choice: DETRChoice,
    chosen: Annotated[Mapping[str, Any], Chosen(DETRSettings, _preset_names(DETRSettings)), Flags(_TRAINING)],
    common: Printing,
) -> None:
    """Train QD-DETR, Moment-DETR or mrnet-detr, which find moments and saliency."""

    def step(item: BatchInput, progress: Progress | None) -> Reply:
        from vidsum.lab.training.train_detr import train_detr
        from vidsum.lab.training.training_examples import highlight_data

        preset = DETRSettings.published(
            choice.preset or _preset(data, "qvhighlights"), choice.size, chosen.get("mask")
        )
        settings = build(DETRSettings, chosen, preset)
        examples = highlight_data(data, settings, progress)
        fitted = train_detr(
            examples, choice.model, settings, Path(item.path), overwrite=run.overwrite, progress=progress
        )
        return _run_result(item.path, fitted, examples)

    run_verb("train detr", step, plain_inputs([str(run.out)]), common, are_videos=False)


def _train_splits(
    command: str,
    data: SplitOptions,
    run: RunFolder,
    prepare: "Callable[..., TrainingRun[S]]",
    train: "Callable[[TrainingRun[S], int, Progress | None], Reply]",
    common: CommonOptions,
) -> None:
    """Train a summarizer on each of the splits that were asked for, and say how the run goes on."""
    from vidsum.lab.datasets.annotated_videos import dataset_name, pair_annotations, read_all
    from vidsum.lab.datasets.captioned import draw_of, read_captioned
    from vidsum.lab.datasets.labels import DATASETS
    from vidsum.lab.datasets.splits import by_dataset, splits_of
    from vidsum.lab.training.run import unfinished_splits

    pairs = pair_annotations(data.data, data.annotations) if data.data else {}
    videos = read_all(pairs) if pairs else read_captioned(data.captions, data.annotations)
    splits = splits_of(data.splits, videos, next(iter(by_dataset(videos))))
    if wrong := [number for number in data.split if number >= len(splits)]:
        raise UsageError(f"unknown split {wrong[0]}", hint=(Mention("split"), f" 0 ... {len(splits) - 1}"))
    origin = {"sources": data.files, "draw": draw_of(data.space)}
    prepared = prepare(videos, splits, out=run.out, overwrite=run.overwrite, **origin)
    numbers = sorted(set(data.split)) or range(len(splits))
    number_of = {str(prepared.folder(number)): number for number in numbers}

    def step(item: BatchInput, progress: Progress | None) -> Reply:
        result = train(prepared, number_of[item.path], progress)
        use = f"use it with: vidsum summarize VIDEO --model {quote(result.data['checkpoint'])}"
        return replace(result, lines=(*result.lines, use)) if data.captions else result

    run_verb(command, step, plain_inputs([*number_of]), common, are_videos=False)
    left = unfinished_splits(run.out)
    tested = by_dataset(name for split in splits for name in split.test)
    if pairs:
        path = next(path for path in pairs if dataset_name(path) in tested)
        source: dict[str, Any] = {"data": path, "annotations": pairs[path]}
    else:
        files = zip(data.captions, data.annotations, strict=True)
        captions, of_people = next(pair for pair in files if DATASETS[pair[1].suffix] in tested)
        source = {"captions": captions, "annotations": of_people, "captions-as": data.space}
    flags = " ".join(f"--{name} {quote(str(value))}" for name, value in source.items() if value)
    evaluate = f"vidsum evaluate summary {flags} --run {quote(str(run.out))}"
    todo = f"still to train: {' '.join(f'--split {number}' for number in left)}"
    line = todo if left else f"evaluate it with: {evaluate}"
    facts = {"unfinished_splits": left, "evaluate": None if left else evaluate}
    render(Reply(command, str(run.out), facts, lines=(line,)), common)


def _run_result(folder: str, fitted: "FitResult", data: "MomentData[Any]") -> Reply:
    """Return the end of a run; with how to use the model, where the command makes such features."""
    result = _fitted_result(folder, fitted, data.warnings)
    use = f"use it with: vidsum ground VIDEO --query TEXT --model {quote(str(fitted.checkpoint))}"
    has_space = data.features["space"] in ("clip", "vse")
    return replace(result, lines=(*result.lines, use)) if has_space else result


def _fitted_result(
    folder: str, fitted: "FitResult", warnings: tuple[str, ...], split: str | None = None
) -> Reply:
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
    return Reply(data=facts, lines=(line,), messages=warnings)
