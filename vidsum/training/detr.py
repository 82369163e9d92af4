"""The recipe for the DETR models: their published losses, judged by mean average precision of moments."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vidsum.checkpoints.trained import Trained
from vidsum.datasets.highlight_examples import HighlightExample
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.evaluation.highlight_metrics import WindowMeasures, measure_moments
from vidsum.intervals import stacked
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import Detections
from vidsum.models.detr_models import MODELS, WITHOUT_AGAINST, DETRModel, build
from vidsum.models.mrnet_detr import MRNetDETR
from vidsum.models.spans import start_end
from vidsum.training.batches import DETRBatch, DETRBatches, in_order, shuffled
from vidsum.training.data import MomentData, Source
from vidsum.training.detr_losses import (
    clips_inside,
    detection_loss,
    false_pair_loss,
    margin_loss,
    rank_loss,
)
from vidsum.training.loop import Fitted, Recipe, first_weights, fit
from vidsum.training.settings import DETRLossSettings, DETRSettings
from vidsum.types import FloatArray, Progress


def train_detr(
    data: MomentData[HighlightExample],
    name: str,
    settings: DETRSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Fitted:
    """Train a DETR model, or go on with the run in a folder.

    Args:
        data: its first example says how many numbers a clip and a word have.
        name: which model: moment-detr, qd-detr or mrnet-detr.
        settings: of the model and of training.
        out: folder of the run; made if it is not there.
        overwrite: drop a run with other settings that is there.

    Raises:
        UsageError: there are no examples, or they do not go together, or there is no such model.
        OutputError, InputError, VidsumError: see `vidsum.training.loop.fit`.
    """
    recipe = _recipe(data, name, settings)
    loop = settings.loop if recipe.validate else replace(settings.loop, patience=None)
    return fit(recipe, loop, out, overwrite=overwrite, progress=progress)


def detr_loss(model: DETRModel, batch: DETRBatch, how: DETRLossSettings, *, with_against: bool) -> Tensor:
    """The published loss on a batch.

    Args:
        model: in training mode.
        batch: of examples.
        how: the constants.
        with_against: whether false queries have a part in it, as in QD-DETR.
    """
    found = model(*batch.inputs)
    against = model.saliency(*batch.against) if with_against else None
    with torch.autocast(batch.windows.device.type, enabled=False):
        found = Detections(*(one.float() for one in found))
        loss = detection_loss(found, batch.windows, batch.is_window, how)
        is_clip, given = batch.inputs.is_clip, batch.saliency
        saliency = margin_loss(found.saliency, given, clips_inside(batch), is_clip, how.margin)
        if against is not None:
            saliency = saliency + _against_loss(found.saliency, against.float(), batch, how)
        loss = loss + how.saliency * saliency
        return loss + how.lambda_s * model.sparsity_loss() if isinstance(model, MRNetDETR) else loss


def _against_loss(scores: Tensor, against: Tensor, batch: DETRBatch, how: DETRLossSettings) -> Tensor:
    counts = batch.against.is_clip & batch.has_against[:, None]
    every = torch.cat([scores, against], dim=1)
    given = torch.cat([batch.saliency, torch.zeros_like(against)], dim=1)
    ranked = rank_loss(every, given, torch.cat([batch.inputs.is_clip, counts], dim=1), how.tau)
    return ranked + false_pair_loss(against, counts)


def measured(
    model: DETRModel, examples: Sequence[HighlightExample], batch_size: int = 32
) -> WindowMeasures | None:
    """QVHighlights' measures of the moments that a model in evaluation mode finds.

    None where no example has a window.
    """
    device = next(model.parameters()).device
    found = [_answers(model, batch) for batch in in_order(examples, batch_size, device).values()]
    moments, scores = (np.concatenate(parts).astype(np.float64) for parts in zip(*found, strict=True))
    # R1 takes the first one for the answer
    order = np.argsort(-scores, axis=1, kind="stable")
    moments = np.take_along_axis(moments, order[..., None], axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    windows = stacked([one.windows.tolist() for one in examples])
    return measure_moments(moments, scores, windows)["full"]


@torch.inference_mode()
def _answers(model: DETRModel, batch: DETRBatch) -> tuple[FloatArray, FloatArray]:
    """[B, N, 2] moments as shares of the video, and [B, N] how likely each is one."""
    found = model(*batch.inputs)
    moments = start_end(found.spans[-1]).clamp(0, 1)
    scores = found.logits[-1].softmax(-1)[..., 0]
    return moments.float().cpu().numpy(), scores.float().cpu().numpy()


def _judge(model: DETRModel, examples: Sequence[HighlightExample], batch_size: int) -> float:
    """Average mAP, a share."""
    of_all = measured(model, examples, batch_size)
    return 0.0 if of_all is None else of_all.mean_precision


def _recipe(
    data: MomentData[HighlightExample], name: str, settings: DETRSettings
) -> Recipe[DETRModel, DETRBatch]:
    config = _config(settings.model, data.examples(1), data.validation)
    device = choose_device(settings.device)
    if name not in MODELS:
        raise UsageError(f"there is no {name!r}", hint=f"choose from {', '.join(MODELS)}")
    try:
        with first_weights(settings.loop.seed):
            model = build(name, config).to(device)
    except ValueError as error:
        raise UsageError(str(error)) from error
    judge = partial(_judge, examples=data.validation, batch_size=settings.batch_size)
    training = {
        **settings.own,
        "data": dict(data.about),
        "device": device.type,
        "validated_by": "mAP",
    }
    return Recipe(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=partial(_batches, data.examples, settings, device),
        loss=partial(detr_loss, how=settings.loss, with_against=name not in WITHOUT_AGAINST),
        validate=judge if data.validation else None,
        about=Trained(name, asdict(config), dict(data.features), training, {}),
        lr_share=settings.lr_share,
        max_norm=settings.max_norm,
    )


def _batches(
    source: Source[HighlightExample], settings: DETRSettings, device: torch.device, epoch: int
) -> DETRBatches:
    return shuffled(source(epoch), settings.batch_size, device)


def _config(
    config: DETRConfig, examples: Sequence[HighlightExample], validation: Sequence[HighlightExample]
) -> DETRConfig:
    """With the dimensions of the examples, which must be the same; no longer than it has places for."""
    if not examples:
        raise UsageError("there is no video to train on")
    first = examples[0]
    for example in (*examples, *validation):
        sizes = [(one.video.shape[1], one.words.shape[1]) for one in (first, example)]
        if sizes[0] != sizes[1]:
            texts = ["clips of {} numbers and words of {}".format(*size) for size in sizes]
            raise UsageError(f"{first.name} has {texts[0]}, {example.name} {texts[1]}")
        if len(example.video) > config.clips or len(example.words) > config.words:
            raise UsageError(
                f"{example.name} has {len(example.video)} clips and {len(example.words)} words, the model "
                f"places for {config.clips} and {config.words}"
            )
    return replace(config, dim_video=first.video.shape[1], dim_query=first.words.shape[1])
