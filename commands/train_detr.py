"""`vidsum train detr`: train a model that finds moments and what is salient in them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vidsum.commands import mask_options as masks
from vidsum.commands import options
from vidsum.commands import train_detr_options as own
from vidsum.commands import train_moments_options as shared
from vidsum.commands import train_mrnet_data as source
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
    from vidsum.datasets.highlight_examples import HighlightExample
    from vidsum.training.data import Annotated, MomentData
    from vidsum.training.detr_settings import DETRSettings
    from vidsum.training.moment_captions import CaptionRecipe
    from vidsum.types import Progress

_COMMAND = "train detr"


def detr(
    context: typer.Context,
    data: source.Data,
    out: general.Out,
    recipe: source.Recipe = source.RecipeName.features,
    features: source.Features = None,
    text_features: own.TextFeatures = None,
    space: source.Space = source.SpaceName.features,
    text: source.Text = None,
    clip_s: source.ClipS = None,
    guided: source.Guided = None,
    videos: source.Videos = None,
    validation: source.Validation = None,
    overwrite: general.Overwrite = False,
    model: own.Model = own.ModelName.qd_detr,
    size: own.Size = own.SizeName.paper,
    clips: shared.Clips = None,
    words: own.Words = None,
    layers: own.Layers = None,
    decoder_layers: own.DecoderLayers = None,
    n_moments: own.NMoments = None,
    d: own.Width = None,
    d_ff: own.WidthFF = None,
    heads: general.Heads = 8,
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
    max_norm: own.MaxNorm = None,
    seed: general.Seed = 0,
    patience: shared.Patience = None,
    precision: general.Precision = general.TrainingPrecision.fp32,
    device: general.Device = "auto",
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Train QD-DETR, Moment-DETR or mrnet-detr, which find moments and how salient each clip is.

    vidsum train detr --data train.jsonl --features slowfast/ --features clip/ --text clip --out runs/qd

    vidsum train detr --recipe captions --data train.jsonl --size light --out runs/captions

    vidsum train detr --data planted --size light --out runs/try
    """
    choices = {
        "heads": heads,
        "dropout": dropout,
        "mask": masks.chosen_mask(mask, mask_depth, mask_fusion, mask_shared, mask_identity),
        "seed": seed,
        "patience": patience,
        "precision": precision.value,
        "device": device,
        "clips": clips,
        "words": words,
        "layers": layers,
        "decoder_layers": decoder_layers,
        "n_moments": n_moments,
        "d": d,
        "d_ff": d_ff,
        "dropout_in": dropout_in,
        "epochs": epochs,
        "lr": lr,
        "warmup": warmup,
        "decay_at": tuple(decay_at or ()),
        "weight_decay": weight_decay,
        "batch_size": batch_size,
        "max_norm": max_norm,
    }
    of_features = {"--features": features, "--text-features": text_features, "--text": text}
    of_captions = {"clip_s": clip_s, "guided": guided, "videos": videos}

    def step(folder: str, progress: "Progress | None") -> Result:
        from vidsum.training.detr import train_detr
        from vidsum.training.detr_settings import detr_settings, published

        begun = published(preset_name(preset, recipe, data, "qvhighlights"), size.value)
        settings = detr_settings(**_with_depth(begun, given(context, choices)))
        if recipe is source.RecipeName.captions:
            refuse(of_features, "with --recipe captions")
            made_from = caption_recipe(data, space, given(context, of_captions), validation)
            examples = _made_up(made_from, settings, progress)
        else:
            unread = {"--clip-s": clip_s, "--guided or --plain": guided, "--videos": videos}
            refuse(unread, "without --recipe captions")
            if is_planted(data):
                of_a_space = None if space is source.SpaceName.features else space
                of_videos = {**of_features, "--space": of_a_space, "--validation": validation}
                refuse(of_videos, "with --data planted")
                examples = _planted(settings)
            else:
                read = annotated(data, features or (), space, text, validation)
                examples = _annotated(read, text_features, settings, progress)
        fitted = train_detr(
            examples, model.value, settings, Path(folder), overwrite=overwrite, progress=progress
        )
        return run_result(_COMMAND, folder, fitted, examples.features, examples.warnings)

    run_batch(_COMMAND, [str(out)], View(json, quiet, verbose), step)


def _with_depth(begun: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """A preset with what was chosen; its depth of a mask is for a mask that has none chosen."""
    settings = {**begun, **chosen}
    depth = settings.pop("mask_depth", None)
    if depth is not None and "mask" in settings:
        settings["mask"] = {"depth": depth, **settings["mask"]}
    return settings


def _made_up(
    recipe: "CaptionRecipe", settings: "DETRSettings", progress: "Progress | None"
) -> "MomentData[HighlightExample]":
    from vidsum.training.moment_captions import highlight_captions_data

    model = settings.model
    return highlight_captions_data(
        recipe, model.clips, model.words, settings.loop.seed, settings.device, progress
    )


def _planted(settings: "DETRSettings") -> "MomentData[HighlightExample]":
    from vidsum.training.highlight_planted import planted_highlights_data
    from vidsum.training.toy import Planting

    return planted_highlights_data(Planting(clips=settings.model.clips, asked=1), settings.loop.seed)


def _annotated(
    data: "Annotated", text_features: Path | None, settings: "DETRSettings", progress: "Progress | None"
) -> "MomentData[HighlightExample]":
    from vidsum.training.highlight_data import annotated_highlights

    return annotated_highlights(
        data,
        settings.model.clips,
        settings.model.words,
        text_features=text_features,
        seed=settings.loop.seed,
        device=settings.device,
        progress=progress,
    )
