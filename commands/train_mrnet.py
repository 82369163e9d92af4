"""`vidsum train mrnet`: train MRNet to find moments."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vidsum.commands import mask_options as masks
from vidsum.commands import options
from vidsum.commands import train_moments_options as shared
from vidsum.commands import train_mrnet_data as source
from vidsum.commands import train_mrnet_options as own
from vidsum.commands import train_options as general
from vidsum.commands.batch import run_batch
from vidsum.commands.config import given
from vidsum.commands.result import Result, View
from vidsum.commands.train_moments import (
    annotated,
    caption_recipe,
    is_planted,
    preset_name,
    refuse,
    run_result,
)

if TYPE_CHECKING:
    from vidsum.datasets.examples import MomentExample
    from vidsum.training.data import MomentData
    from vidsum.training.moment_captions import CaptionRecipe
    from vidsum.training.mrnet_settings import MRNetSettings
    from vidsum.types import Progress

_COMMAND = "train mrnet"


def mrnet(
    context: typer.Context,
    data: source.Data,
    out: general.Out,
    recipe: source.Recipe = source.RecipeName.features,
    features: source.Features = None,
    space: source.Space = source.SpaceName.features,
    text: source.Text = None,
    clip_s: source.ClipS = None,
    guided: source.Guided = None,
    videos: source.Videos = None,
    validation: source.Validation = None,
    overwrite: general.Overwrite = False,
    head: own.Head = own.MapName.paper,
    clips: shared.Clips = None,
    layers: own.Layers = 2,
    d: general.Width = 256,
    d_ff: general.WidthFF = 1024,
    heads: general.Heads = 8,
    gamma: own.Gamma = 0.98,
    decay: own.Decay = own.DecayName.bidirectional,
    sparse: own.Sparse = True,
    sparsity: own.Sparsity = 0.25,
    regions: own.Regions = None,
    cross_modal: own.CrossModal = True,
    nonlinearity: own.Nonlinearity = own.NonlinearityName.softmax,
    dropout: general.Dropout = 0.1,
    dropout_in: shared.DropoutIn = None,
    mask: masks.Mask = None,
    mask_depth: masks.MaskDepth = None,
    mask_fusion: masks.MaskFusion = None,
    mask_shared: masks.MaskShared = None,
    mask_identity: masks.MaskIdentity = None,
    preset: own.Preset = None,
    epochs: shared.Epochs = None,
    lr: shared.LearningRate = None,
    warmup: shared.Warmup = None,
    decay_at: shared.DecayAt = None,
    weight_decay: shared.WeightDecay = None,
    batch_size: shared.BatchSize = None,
    queries_per_video: own.QueriesPerVideo = None,
    lambda_c: own.LambdaC = None,
    lambda_s: own.LambdaS = 10.0,
    seed: general.Seed = 0,
    patience: shared.Patience = None,
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

    choices = {
        "layers": layers,
        "d": d,
        "d_ff": d_ff,
        "heads": heads,
        "gamma": gamma,
        "decay": decay.value,
        "sparse": sparse,
        "sparsity": sparsity,
        "regions": tuple(region.value for region in regions or ()),
        "cross_modal": cross_modal,
        "nonlinearity": nonlinearity.value,
        "dropout": dropout,
        "mask": masks.chosen_mask(mask, mask_depth, mask_fusion, mask_shared, mask_identity),
        "queries_per_video": queries_per_video,
        "lambda_s": lambda_s,
        "seed": seed,
        "patience": patience,
        "precision": precision.value,
        "device": device,
        "clips": clips,
        "epochs": epochs,
        "lr": lr,
        "lambda_c": lambda_c,
        "dropout_in": dropout_in,
        "warmup": warmup,
        "decay_at": tuple(decay_at or ()),
        "weight_decay": weight_decay,
        "batch_size": batch_size,
    }
    of_captions = {"clip_s": clip_s, "guided": guided, "videos": videos}

    def step(folder: str, progress: "Progress | None") -> Result:
        from vidsum.training.mrnet import train_mrnet
        from vidsum.training.mrnet_settings import mrnet_settings, published

        begun = published(preset_name(preset, recipe, data, "activitynet"), head.value)
        settings = mrnet_settings(**{**begun, **given(context, choices)})
        if recipe is source.RecipeName.captions:
            refuse({"--features": features, "--text": text}, "with --recipe captions")
            made_from = caption_recipe(data, space, given(context, of_captions), validation)
            examples = _made_up(made_from, settings, progress)
        else:
            unread = {"--clip-s": clip_s, "--guided or --plain": guided, "--videos": videos}
            refuse(unread, "without --recipe captions")
            examples = _examples(data, features or (), space, text, validation, settings, progress)
        fitted = train_mrnet(examples, settings, Path(folder), overwrite=overwrite, progress=progress)
        return run_result(_COMMAND, folder, fitted, examples.features, examples.warnings)

    run_batch(_COMMAND, [str(out)], View(json, quiet, verbose), step)


def _made_up(
    recipe: "CaptionRecipe", settings: "MRNetSettings", progress: "Progress | None"
) -> "MomentData[MomentExample]":
    from vidsum.training.moment_captions import captions_data

    return captions_data(recipe, settings.model.clips, settings.loop.seed, settings.device, progress)


def _examples(
    data: Sequence[str],
    features: Sequence[Path],
    space: source.SpaceName,
    text: source.TextName | None,
    validation: str | None,
    settings: "MRNetSettings",
    progress: "Progress | None",
) -> "MomentData[MomentExample]":
    from vidsum.training.data import annotated_data, planted_data
    from vidsum.training.toy import Planting

    seed = settings.loop.seed
    if is_planted(data):
        of_a_space = None if space is source.SpaceName.features else space
        of_videos = {"--features": list(features), "--text": text, "--validation": validation}
        refuse({**of_videos, "--space": of_a_space}, "with --data planted")
        return planted_data(Planting(clips=settings.model.clips), seed)
    read = annotated(data, features, space, text, validation)
    return annotated_data(read, settings.model.clips, seed, settings.device, progress)
