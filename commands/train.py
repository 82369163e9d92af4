"""`vidsum train`: train models on annotated videos, captions or toy data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vidsum.commands.options import Given, View, command
from vidsum.commands.result import Result, render, run_batch
from vidsum.errors import UsageError
from vidsum.options import Option, build
from vidsum.training.settings import DataSettings, DETRSettings, FullTransNetSettings, MRNetSettings

if TYPE_CHECKING:
    from vidsum.datasets.splits import Split
    from vidsum.datasets.summaries import AnnotatedVideo
    from vidsum.training.fulltransnet import SplitResult
    from vidsum.training.loop import FitResult
    from vidsum.training.simulated_data import CaptionRecipe
    from vidsum.types import Progress

app = typer.Typer(no_args_is_help=True, help="Train models on annotated videos.")

TOY = "toy"
"""The value of `--data` for toy data."""


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


@dataclass(frozen=True)
class MRNetChoice:
    """Which MRNet to begin with."""

    head: Annotated[
        Literal["paper", "light"], Option("Proposal map: the paper's, or one for a CPU.", panel="Model")
    ] = "paper"
    preset: Annotated[
        Literal["activitynet", "charades", "tacos", "qvhighlights", "captions", "toy"] | None,
        Option(
            "Settings to begin with: published ones; captions, toy: ours.",
            panel="Training",
            shown="activitynet; for captions and toy theirs",
        ),
    ] = None


@dataclass(frozen=True)
class DETRChoice:
    """Which DETR model to begin with."""

    model: Annotated[
        Literal["moment-detr", "qd-detr", "mrnet-detr"],
        Option("mrnet-detr is MRNet's encoder with the decoder of QD-DETR.", panel="Model"),
    ] = "qd-detr"
    size: Annotated[
        Literal["paper", "light"],
        Option("paper: d 256, d_ff 1024. light: 128, 256, for a CPU.", panel="Model"),
    ] = "paper"
    preset: Annotated[
        Literal["qvhighlights", "captions", "toy"] | None,
        Option(
            "Settings to begin with: the published ones; captions, toy: ours.",
            panel="Training",
            shown="qvhighlights; for captions and toy theirs",
        ),
    ] = None
    text_features: Annotated[
        Path | None,
        Option(
            "Folder with the words of each query, qidNUMBER.npz, as published for QVHighlights; --text names "
            "their encoder.",
            panel="Data and output",
            shown="the words are embedded",
            metavar="FOLDER",
        ),
    ] = None


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
    from vidsum.training.fulltransnet import prepare_run, train_split

    videos = _read(data.data)
    splits = _splits(data.splits, data.data, videos)
    if wrong := [number for number in data.split if number >= len(splits)]:
        raise UsageError(f"unknown split {wrong[0]}", hint=f"--split 0 ... {len(splits) - 1}")
    numbers = sorted(set(data.split)) or list(range(len(splits)))
    prepared = prepare_run(
        videos, splits, settings, run.out, sources=list(data.data), overwrite=run.overwrite
    )
    number_of = {str(prepared.folder(number)): number for number in numbers}

    def step(folder: str, progress: "Progress | None") -> Result:
        trained = train_split(prepared, number_of[folder], overwrite=run.overwrite, progress=progress)
        return _split_result(folder, trained)

    run_batch("train fulltransnet", list(number_of), view, step)
    render(_next_result(_tested(data.data, splits), run.out, _uneven(splits, videos)), view)


@app.command("mrnet")
@command
def mrnet(
    data: DataSettings,
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
        from vidsum.training.data import annotated_moments, toy_moments
        from vidsum.training.mrnet import train_mrnet
        from vidsum.training.simulated_data import simulated_moments
        from vidsum.training.toy import Toy

        preset = MRNetSettings.published(choice.preset or _preset_of(data, "activitynet"), choice.head)
        settings = build(MRNetSettings, chosen, preset)
        clips, seed, device = settings.model.clips, settings.loop.seed, settings.device
        if data.recipe == "captions":
            examples = simulated_moments(_caption_recipe(data), clips, seed, device, progress)
        elif _is_toy(data):
            examples = toy_moments(Toy(clips=clips), seed)
        else:
            examples = annotated_moments(_annotated(data), clips, seed, device, progress)
        fitted = train_mrnet(examples, settings, Path(folder), overwrite=run.overwrite, progress=progress)
        return _run_result("train mrnet", folder, fitted, examples.features, examples.warnings)

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
        from vidsum.training.data import annotated_highlights, toy_highlights
        from vidsum.training.detr import train_detr
        from vidsum.training.simulated_data import simulated_highlights
        from vidsum.training.toy import Toy

        preset = DETRSettings.published(choice.preset or _preset_of(data, "qvhighlights"), choice.size)
        settings = build(DETRSettings, chosen, preset)
        model, seed, words = settings.model, settings.loop.seed, choice.text_features
        if data.recipe == "captions":
            recipe = _caption_recipe(data, words)
            examples = simulated_highlights(recipe, model.clips, model.words, seed, settings.device, progress)
        elif _is_toy(data, words):
            examples = toy_highlights(Toy(clips=model.clips, queries=1), seed)
        else:
            examples = annotated_highlights(
                _annotated(data),
                model.clips,
                model.words,
                text_features=words,
                seed=seed,
                device=settings.device,
                progress=progress,
            )
        fitted = train_detr(
            examples, choice.model, settings, Path(folder), overwrite=run.overwrite, progress=progress
        )
        return _run_result("train detr", folder, fitted, examples.features, examples.warnings)

    run_batch("train detr", [str(run.out)], view, step)


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


def _tested(data: Sequence[Path], splits: "Sequence[Split]") -> list[Path]:
    """The files of the datasets that the splits test on, which are what the run is evaluated on."""
    from vidsum.datasets.splits import by_dataset
    from vidsum.datasets.summaries import dataset_name

    tested = by_dataset(name for split in splits for name in split.test)
    return [path for path in data if dataset_name(path) in tested]


def _uneven(splits: "Sequence[Split]", videos: "dict[str, AnnotatedVideo]") -> tuple[str, ...]:
    """A warning where the splits test some videos never or repeatedly, as published ones do."""
    from vidsum.datasets.splits import coverage_of

    coverage = coverage_of(splits, videos)
    return () if coverage.tiles else (str(coverage),)


def _preset_of(data: DataSettings, of_features: str) -> str:
    """The preset that goes with the data; `of_features` with the features of videos."""
    return "captions" if data.recipe == "captions" else TOY if data.data[0] == TOY else of_features


def _refuse(unread: Mapping[str, Any], where: str) -> None:
    """Refuse options that would have no effect; empty ones were not given."""
    if names := [name for name, value in unread.items() if value not in (None, ())]:
        has, them = ("has", "it") if len(names) == 1 else ("have", "them")
        raise UsageError(f"{' and '.join(names)} {has} no effect {where}", hint=f"leave {them} out")


def _of_captions(data: DataSettings) -> dict[str, Any]:
    return {"--clip-s": data.clip_s, "--guided or --plain": data.guided, "--videos": data.videos}


def _of_videos(data: DataSettings, words: Path | None) -> dict[str, Any]:
    return {"--features": data.features, "--text-features": words, "--text": data.text}


def _is_toy(data: DataSettings, words: Path | None = None) -> bool:
    """Whether the data are toy moments, and nothing is given that they do not use."""
    _refuse(_of_captions(data), "without --recipe captions")
    if len(data.data) > 1:
        raise UsageError("features are read for one file of annotations", hint="one --data")
    if data.data[0] != TOY:
        return False
    space = None if data.space == "features" else data.space
    unread = {**_of_videos(data, words), "--space": space, "--validation": data.validation}
    _refuse(unread, f"with --data {TOY}")
    return True


def _annotated(data: DataSettings) -> Any:
    from vidsum.training.data import Annotated as AnnotatedVideos

    if not data.features:
        raise UsageError("no features to train on", hint=f"--features FILE or FOLDER; or --data {TOY}")
    return AnnotatedVideos(Path(data.data[0]), data.features, data.space, data.text, _held_out(data))


def _caption_recipe(data: DataSettings, words: Path | None = None) -> "CaptionRecipe":
    """What to simulate examples from."""
    from vidsum.training.simulated_data import CaptionRecipe

    _refuse(_of_videos(data, words), "with --recipe captions")
    if TOY in data.data:
        raise UsageError(
            f"--data {TOY} has no captions to simulate features from",
            hint="--data FILE, or leave out --recipe captions",
        )
    fraction = _held_out(data)
    if isinstance(fraction, Path):
        raise UsageError(
            "with captions, --validation is a fraction of the annotated videos", hint="--validation 0.1"
        )
    given = {name: getattr(data, name) for name in ("clip_s", "guided", "videos")}
    choices = {name: value for name, value in given.items() if value is not None}
    if data.space != "features":
        choices["space"] = data.space
    return CaptionRecipe(tuple(map(Path, data.data)), **choices, validation=fraction)


def _held_out(data: DataSettings) -> Path | float:
    """A file of annotations, or a fraction of the videos."""
    try:
        return 0.1 if data.validation is None else float(data.validation)
    except ValueError:
        return Path(str(data.validation))


def _split_result(folder: str, trained: "SplitResult") -> Result:
    return _fitted_result("train fulltransnet", folder, trained.fitted, trained.split.name, trained.warnings)


def _run_result(
    command: str, folder: str, fitted: "FitResult", features: Mapping[str, Any], warnings: tuple[str, ...]
) -> Result:
    """What a run came to; with how to use it, where `vidsum ground` makes such features."""
    use = f"use it with: vidsum ground VIDEO --query TEXT --model {quote(str(fitted.checkpoint))}"
    lines = (use,) if features["space"] in ("clip", "conse") else ()
    return _fitted_result(command, folder, fitted, None, warnings, lines)


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
