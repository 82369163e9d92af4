"""`vidsum train mrnet`: train MRNet to find moments."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from vidsum.commands import options
from vidsum.commands import train_mrnet_options as own
from vidsum.commands import train_options as general
from vidsum.commands.batch import run_batch
from vidsum.commands.result import Result, View
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from vidsum.training.loop import Fitted
    from vidsum.training.moment_data import MomentData
    from vidsum.training.mrnet_settings import MRNetSettings
    from vidsum.types import Progress

_COMMAND = "train mrnet"
_PLANTED = "planted"


def mrnet(
    data: own.Data,
    out: general.Out,
    recipe: own.Recipe = own.RecipeName.features,
    features: own.Features = None,
    space: own.Space = own.SpaceName.features,
    text: own.Text = None,
    clip_s: own.ClipS = 1.0,
    guided: own.Guided = True,
    videos: own.Videos = 1200,
    validation: own.Validation = "0.1",
    overwrite: general.Overwrite = False,
    head: own.Head = own.MapName.paper,
    clips: own.Clips = None,
    layers: own.Layers = 2,
    d: own.Width = 256,
    d_ff: own.WidthFF = 1024,
    heads: general.Heads = 8,
    gamma: own.Gamma = 0.98,
    decay: own.Decay = own.DecayName.bidirectional,
    sparse: own.Sparse = True,
    sparsity: own.Sparsity = 0.25,
    regions: own.Regions = None,
    cross_modal: own.CrossModal = True,
    nonlinearity: own.Nonlinearity = own.NonlinearityName.softmax,
    dropout: own.Dropout = 0.1,
    dropout_in: own.DropoutIn = None,
    preset: own.Preset = None,
    epochs: own.Epochs = None,
    lr: own.LearningRate = None,
    warmup: own.Warmup = None,
    decay_at: own.DecayAt = None,
    weight_decay: own.WeightDecay = None,
    batch_size: own.BatchSize = None,
    queries_per_video: own.QueriesPerVideo = None,
    lambda_c: own.LambdaC = None,
    lambda_s: own.LambdaS = 10.0,
    seed: general.Seed = 0,
    patience: own.Patience = None,
    precision: general.Precision = general.TrainingPrecision.fp32,
    device: general.Device = "auto",
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Train MRNet, which finds the moments of a video that a text describes.

    vidsum train mrnet --data train.json --features c3d.hdf5 --out runs/anet

    vidsum train mrnet --data planted --clips 16 --head light --out runs/try

    vidsum train mrnet --recipe captions --data train.json --head light --out runs/captions
    """

    def step(folder: str, progress: "Progress | None") -> Result:
        from vidsum.training.mrnet import train_mrnet
        from vidsum.training.mrnet_settings import mrnet_settings, published

        chosen = {
            "clips": clips,
            "epochs": epochs,
            "lr": lr,
            "lambda_c": lambda_c,
            "dropout_in": dropout_in,
            "warmup": warmup,
            "weight_decay": weight_decay,
            "batch_size": batch_size,
        }
        settings = mrnet_settings(
            **{
                **published(_preset(preset, recipe, data), head.value),
                **{name: value for name, value in chosen.items() if value is not None},
                **({"decay_at": tuple(decay_at)} if decay_at else {}),
            },
            layers=layers,
            d=d,
            d_ff=d_ff,
            heads=heads,
            gamma=gamma,
            decay=decay.value,
            sparse=sparse,
            sparsity=sparsity,
            regions=tuple(region.value for region in regions or (own.RegionName.vv,)),
            cross_modal=cross_modal,
            nonlinearity=nonlinearity.value,
            dropout=dropout,
            queries_per_video=queries_per_video,
            lambda_s=lambda_s,
            seed=seed,
            patience=patience,
            precision=precision.value,
            device=device,
        )
        if recipe is own.RecipeName.captions:
            if features or text:
                raise UsageError("captions need no --features and no --text", hint="leave them out")
            examples = _made_up(data, space, clip_s, guided, videos, validation, settings, progress)
        else:
            examples = _examples(data, features or (), space.value, text, validation, settings, progress)
        fitted = train_mrnet(examples, settings, Path(folder), overwrite=overwrite, progress=progress)
        return _result(folder, fitted, examples)

    run_batch(_COMMAND, [str(out)], View(json, quiet, verbose), step)


def _preset(preset: own.PresetName | None, recipe: own.RecipeName, data: Sequence[str]) -> str:
    if preset is not None:
        return preset.value
    if recipe is own.RecipeName.captions:
        return "captions"
    return "planted" if data[0] == _PLANTED else "activitynet"


def _made_up(
    data: Sequence[str],
    space: own.SpaceName,
    clip_s: float,
    guided: bool,
    videos: int,
    validation: str,
    settings: "MRNetSettings",
    progress: "Progress | None",
) -> "MomentData":
    from vidsum.training.moment_captions import CaptionRecipe, captions_data

    share = _held_out(validation)
    if isinstance(share, Path):
        raise UsageError("with captions, --validation is a share of the annotated videos", hint="0.1")
    made_in = "conse" if space is own.SpaceName.features else space.value
    annotations = tuple(Path(one) for one in data)
    recipe = CaptionRecipe(annotations, made_in, clip_s, guided, videos, validation=share)
    return captions_data(recipe, settings.model.clips, settings.loop.seed, settings.device, progress)


def _examples(
    data: Sequence[str],
    features: Sequence[Path],
    space: str,
    text: own.TextName | None,
    validation: str,
    settings: "MRNetSettings",
    progress: "Progress | None",
) -> "MomentData":
    from vidsum.datasets.planted import Planting
    from vidsum.training.moment_data import Annotated, annotated_data, planted_data

    seed = settings.loop.seed
    if len(data) > 1:
        raise UsageError("features are read for one file of annotations", hint="one --data")
    if data[0] == _PLANTED:
        return planted_data(Planting(clips=settings.model.clips), seed)
    if not features:
        raise UsageError("no features to train on", hint="--features FILE or FOLDER; or --data planted")
    source = Annotated(
        Path(data[0]), tuple(features), space, text.value if text else None, _held_out(validation)
    )
    return annotated_data(source, settings.model.clips, seed, settings.device, progress)


def _held_out(validation: str) -> Path | float:
    try:
        return float(validation)
    except ValueError:
        return Path(validation)


def _result(folder: str, fitted: "Fitted", data: "MomentData") -> Result:
    best, n_epochs = fitted.best, len(fitted.history)
    judged = "" if best.validation is None else f", validation {best.validation:.3f}"
    line = f"{folder}: best epoch {best.epoch} of {n_epochs}{judged}"
    use = f"vidsum ground VIDEO --query TEXT --model {quote(str(fitted.checkpoint))}"
    usable = data.features["space"] in ("clip", "conse")
    return Result(
        _COMMAND,
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
        messages=data.warnings,
    )
