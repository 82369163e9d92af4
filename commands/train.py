"""`vidsum train`: train models on annotated videos."""

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.options import option
from vidsum.commands.result import Result, View, render
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from vidsum.datasets.splits import Split
    from vidsum.datasets.summaries import AnnotatedVideo
    from vidsum.training.fulltransnet import SplitResult
    from vidsum.types import Progress

app = typer.Typer(no_args_is_help=True, help="Train models on annotated videos.")


class AttentionName(str, Enum):
    """What the encoder of FullTransNet attends to."""

    full = "full"
    local = "local"
    global_ = "global"
    local_global = "local-global"


class HeadName(str, Enum):
    """How FullTransNet scores samples."""

    linear = "linear"
    pointer = "pointer"


class TrainingPrecision(str, Enum):
    """Floating-point types a model can be trained in."""

    fp32 = "fp32"
    bf16 = "bf16"


DATA, MODEL, TRAINING = "Data and output", "Model", "Training"

Data = Annotated[
    list[Path],
    option(
        "--data",
        help="h5 file of a data set; once for each. The first is the one to test on.",
        show_default=False,
        metavar="FILE",
        rich_help_panel=DATA,
    ),
]
Splits = Annotated[
    str,
    option(
        "--splits",
        help="canonical, augmented or transfer, or a file of published splits (.json, .yml).",
        metavar="SETTING|FILE",
        rich_help_panel=DATA,
    ),
]
Out = Annotated[
    Path,
    option(
        "--out",
        "-o",
        help="Folder of the run; an unfinished run in it goes on.",
        show_default=False,
        metavar="FOLDER",
        rich_help_panel=DATA,
    ),
]
Only = Annotated[
    list[int] | None,
    option(
        "--split",
        help="Train this split only, counted from 0; once for each.",
        show_default="all",
        min=0,
        rich_help_panel=DATA,
    ),
]
Overwrite = Annotated[
    bool,
    option("--overwrite", help="Start anew where the folder holds a run.", rich_help_panel=DATA),
]

Attention = Annotated[
    AttentionName,
    option("--attention", help="What a token of the encoder attends to.", rich_help_panel=MODEL),
]
Layers = Annotated[
    int, option("--layers", help="N, of encoder and decoder each.", min=1, rich_help_panel=MODEL)
]
Width = Annotated[int, option("--d", help="d, numbers in a token.", min=2, rich_help_panel=MODEL)]
WidthFF = Annotated[
    int, option("--d-ff", help="d_ff, inside a feed-forward network.", min=1, rich_help_panel=MODEL)
]
Heads = Annotated[int, option("--heads", help="h, heads of attention.", min=1, rich_help_panel=MODEL)]
Window = Annotated[
    int, option("--window", help="w, tokens in a local window; odd.", min=1, rich_help_panel=MODEL)
]
GlobalTokens = Annotated[
    int,
    option("--global-tokens", help="Global tokens of a shot.", min=1, max=3, rich_help_panel=MODEL),
]
Head = Annotated[
    HeadName,
    option(
        "--head",
        help="linear: the paper's, for up to 1536 samples; pointer: for any length.",
        rich_help_panel=MODEL,
    ),
]
Dropout = Annotated[float, option("--dropout", help="Dropout.", min=0, max=0.99, rich_help_panel=MODEL)]

Epochs = Annotated[int, option("--epochs", help="Most epochs.", min=1, rich_help_panel=TRAINING)]
LearningRate = Annotated[float, option("--lr", help="Learning rate of Adam.", rich_help_panel=TRAINING)]
WeightDecay = Annotated[
    float, option("--weight-decay", help="Weight decay of Adam.", rich_help_panel=TRAINING)
]
Seed = Annotated[
    int, option("--seed", help="Of weights, order and dropout.", min=0, rich_help_panel=TRAINING)
]
Crop = Annotated[
    float,
    option(
        "--crop",
        help="Train on random runs of shots, at least this share of a video; 1: whole videos, as the paper.",
        rich_help_panel=TRAINING,
    ),
]
Noise = Annotated[
    float,
    option(
        "--noise",
        help="Most that is replaced, at random, of what the decoder is told of the steps before, so that it "
        "relies on the video; 0: nothing, as the paper.",
        rich_help_panel=TRAINING,
    ),
]
Validation = Annotated[
    float,
    option(
        "--validation",
        help="Share of the training videos that choose the best epoch; 0: take the last epoch.",
        rich_help_panel=TRAINING,
    ),
]
Patience = Annotated[
    int,
    option(
        "--patience", help="Stop after so many epochs without a better one.", min=1, rich_help_panel=TRAINING
    ),
]
Precision = Annotated[
    TrainingPrecision,
    option("--precision", help="Floating-point type of the computations.", rich_help_panel=TRAINING),
]
Device = Annotated[
    str,
    option("--device", help="auto, cpu, cuda, cuda:N or mps.", metavar="DEVICE", rich_help_panel=TRAINING),
]


@app.command("fulltransnet")
def fulltransnet(
    data: Data,
    out: Out,
    splits: Splits = "canonical",
    split: Only = None,
    overwrite: Overwrite = False,
    attention: Attention = AttentionName.local_global,
    layers: Layers = 6,
    d: Width = 64,
    d_ff: WidthFF = 2048,
    heads: Heads = 8,
    window: Window = 17,
    global_tokens: GlobalTokens = 3,
    head: Head = HeadName.linear,
    dropout: Dropout = 0.1,
    epochs: Epochs = 300,
    lr: LearningRate = 1e-3,
    weight_decay: WeightDecay = 1e-4,
    crop: Crop = 1.0,
    noise: Noise = 0.0,
    seed: Seed = 0,
    validation: Validation = 0.2,
    patience: Patience = 50,
    precision: Precision = TrainingPrecision.fp32,
    device: Device = "auto",
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
    render(_next(data, out), view)


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


def _next(data: Sequence[Path], out: Path) -> Result:
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
    )
