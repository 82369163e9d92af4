"""`vidsum train`: train models on annotated videos."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from vidsum.commands import mask_options as masks
from vidsum.commands import options, train_detr, train_mrnet
from vidsum.commands import train_options as own
from vidsum.commands.batch import run_batch
from vidsum.commands.result import Result, View, render
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from vidsum.datasets.splits import Split
    from vidsum.datasets.summaries import AnnotatedVideo
    from vidsum.training.fulltransnet import SplitResult
    from vidsum.types import Progress

app = typer.Typer(no_args_is_help=True, help="Train models on annotated videos.")


@app.command("fulltransnet")
def fulltransnet(
    data: own.Data,
    out: own.Out,
    splits: own.Splits = "canonical",
    split: own.Only = None,
    overwrite: own.Overwrite = False,
    attention: own.Attention = own.AttentionName.local_global,
    layers: own.Layers = 6,
    d: own.Width = 64,
    d_ff: own.WidthFF = 2048,
    heads: own.Heads = 8,
    window: own.Window = 17,
    global_tokens: own.GlobalTokens = 3,
    head: own.Head = own.HeadName.linear,
    dropout: own.Dropout = 0.1,
    mask: masks.Mask = None,
    mask_depth: masks.MaskDepth = None,
    mask_fusion: masks.MaskFusion = None,
    mask_shared: masks.MaskShared = None,
    mask_identity: masks.MaskIdentity = None,
    epochs: own.Epochs = 300,
    lr: own.LearningRate = 1e-3,
    weight_decay: own.WeightDecay = 1e-4,
    crop: own.Crop = 1.0,
    noise: own.Noise = 0.0,
    seed: own.Seed = 0,
    validation: own.Validation = 0.2,
    patience: own.Patience = 50,
    precision: own.Precision = own.TrainingPrecision.fp32,
    device: own.Device = "auto",
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Train FullTransNet, one model a split.

    vidsum train fulltransnet --data tvsum.h5 --out runs/tvsum

    vidsum train fulltransnet --data summe.h5 --data tvsum.h5 --splits augmented --out runs/augmented
    """
    from vidsum.training.fulltransnet import prepare_run, train_split
    from vidsum.training.settings import settings_of

    settings = settings_of(
        attention=attention.value,
        layers=layers,
        d=d,
        d_ff=d_ff,
        heads=heads,
        window=window,
        global_tokens=global_tokens,
        head=head.value,
        dropout=dropout,
        mask=masks.chosen_mask(mask, mask_depth, mask_fusion, mask_shared, mask_identity),
        epochs=epochs,
        lr=lr,
        weight_decay=weight_decay,
        crop=crop,
        noise=noise,
        seed=seed,
        validation=validation,
        patience=patience,
        precision=precision.value,
        device=device,
    )
    videos = _read(data)
    wanted = _splits(splits, data, videos)
    numbers = _chosen(split, len(wanted))
    run = prepare_run(videos, wanted, settings, out, sources=data, overwrite=overwrite)
    view = View(json, quiet, verbose)
    number_of = {str(run.folder(number)): number for number in numbers}

    def step(folder: str, progress: "Progress | None") -> Result:
        trained = train_split(run, number_of[folder], overwrite=overwrite, progress=progress)
        return _result(folder, trained)

    run_batch("train fulltransnet", list(number_of), view, step)
    render(_next(_tested(data, wanted), out, _uneven(wanted, videos)), view)


app.command("mrnet")(train_mrnet.mrnet)
app.command("detr")(train_detr.detr)


def _read(data: Sequence[Path]) -> "dict[str, AnnotatedVideo]":
    """The videos of all files, by name."""
    from vidsum.datasets.summaries import dataset_name, read_annotated

    videos = {}
    sources: dict[str, Path] = {}
    for path in data:
        other = sources.setdefault(dataset_name(path), path)
        if other is not path:
            raise UsageError(f"{other} and {path} both go by the name {dataset_name(path)}")
        videos.update(read_annotated(path))
    return videos


def _splits(chosen: str, data: Sequence[Path], videos: "dict[str, AnnotatedVideo]") -> "list[Split]":
    from vidsum.datasets.splits import SETTINGS, by_dataset, read_splits, settings
    from vidsum.datasets.summaries import dataset_name

    for setting in SETTINGS:
        if chosen == setting:
            return settings(setting, by_dataset(videos), dataset_name(data[0]))
    return read_splits(chosen, videos)


def _chosen(only: Sequence[int] | None, n_splits: int) -> list[int]:
    for number in only or ():
        if number >= n_splits:
            raise UsageError(f"there is no split {number}", hint=f"--split 0 ... {n_splits - 1}")
    return sorted(set(only)) if only else list(range(n_splits))


def _tested(data: Sequence[Path], wanted: "Sequence[Split]") -> list[Path]:
    """The files of the datasets that the splits test on, which are what the run is evaluated on."""
    from vidsum.datasets.splits import by_dataset
    from vidsum.datasets.summaries import dataset_name

    tested = by_dataset(name for split in wanted for name in split.test)
    return [path for path in data if dataset_name(path) in tested]


def _uneven(wanted: "Sequence[Split]", videos: "dict[str, AnnotatedVideo]") -> tuple[str, ...]:
    """A warning where the splits test some videos never or again and again, as published ones do."""
    from vidsum.datasets.splits import coverage_of

    coverage = coverage_of(wanted, videos)
    return () if coverage.tiles else (str(coverage),)


def _result(folder: str, trained: "SplitResult") -> Result:
    fitted = trained.fitted
    best, n_epochs = fitted.best, len(fitted.history)
    judged = "" if best.validation is None else f", validation {best.validation:.3f}"
    line = f"{folder}: {trained.split.name}, best epoch {best.epoch} of {n_epochs}{judged}"
    return Result(
        "train fulltransnet",
        folder,
        {
            "up_to_date": fitted.up_to_date,
            "split": trained.split.name,
            "checkpoint": str(fitted.checkpoint),
            "epochs": n_epochs,
            "best_epoch": best.epoch,
            "loss": best.loss,
            "validation": best.validation,
        },
        lines=(f"{line} (up to date)" if fitted.up_to_date else line,),
        messages=trained.warnings,
    )


def _next(data: Sequence[Path], out: Path, messages: tuple[str, ...]) -> Result:
    """How the run is evaluated, or which splits it still lacks."""
    from vidsum.training.run import unfinished_splits

    files = " ".join(f"--data {quote(str(path))}" for path in data)
    command = f"vidsum evaluate summary {files} --run {quote(str(out))}"
    left = unfinished_splits(out)
    line = f"still to train: {' '.join(f'--split {number}' for number in left)}"
    return Result(
        "train fulltransnet",
        str(out),
        {"unfinished_splits": left, "evaluate": None if left else command},
        lines=(line if left else f"evaluate it with: {command}",),
        messages=messages,
    )
