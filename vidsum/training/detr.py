"""The DETR models' recipe: their published losses, validated by mean average precision of moments."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vidsum.datasets.examples import HighlightExample
from vidsum.errors import UsageError
from vidsum.evaluation.highlight_metrics import WindowMeasures, measure_moments
from vidsum.intervals import stacked
from vidsum.models.attention.learned_mask import static_sparsity
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import Detections
from vidsum.models.detr_models import MODELS, WITHOUT_NEGATIVES, DETRModel, build
from vidsum.models.mrnet_detr import MRNetDETR
from vidsum.models.spans import start_end
from vidsum.names import unknown
from vidsum.training.batches import Batches, DETRBatch, collate_pairs, shuffled
from vidsum.training.data import MomentData
from vidsum.training.detr_losses import (
    clips_inside,
    detection_loss,
    margin_loss,
    negative_pair_loss,
    rank_loss,
)
from vidsum.training.loop import FitResult
from vidsum.training.moments import MomentRecipe, check_sizes, train_moments
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
) -> FitResult:
    """Train moment-detr, qd-detr or mrnet-detr, or go on with the run in a folder: see `fit` of the loop.

    The sizes of a clip and a word are those of the data. Raises UsageError too where there are no examples,
    they do not go together, or the model is unknown.
    """
    config = _config(settings.model, data)
    if name not in MODELS:
        raise unknown("model", name, MODELS)
    recipe = MomentRecipe(
        name=name,
        config=config,
        build=partial(build, name, config),
        batches=lambda examples, device: Batches(
            shuffled(examples), settings.batch_size, collate_pairs, device
        ),
        loss=partial(detr_loss, how=settings.loss, with_negatives=name not in WITHOUT_NEGATIVES),
        score=partial(_mean_precision, batch_size=settings.batch_size),
        monitor="mAP",
    )
    return train_moments(data, recipe, settings, out, overwrite=overwrite, progress=progress)


def detr_loss(model: DETRModel, batch: DETRBatch, how: DETRLossSettings, *, with_negatives: bool) -> Tensor:
    """The published loss on a batch; with negative pairs as in QD-DETR."""
    detections = model(*batch.inputs)
    negative = model.saliency(*batch.negative) if with_negatives else None
    with torch.autocast(batch.gt_windows.device.type, enabled=False):
        detections = Detections(*(each.float() for each in detections))
        loss = detection_loss(detections, batch.gt_windows, batch.is_window, how)
        is_clip, given = batch.inputs.is_clip, batch.saliency
        saliency = margin_loss(detections.saliency, given, clips_inside(batch), is_clip, how.margin)
        if negative is not None:
            saliency = saliency + _negatives_loss(detections.saliency, negative.float(), batch, how)
        loss = loss + how.saliency * saliency + how.static_sparsity * static_sparsity(model)
        return loss + how.lambda_s * model.sparsity_loss() if isinstance(model, MRNetDETR) else loss


def _negatives_loss(scores: Tensor, negative: Tensor, batch: DETRBatch, how: DETRLossSettings) -> Tensor:
    counts = batch.negative.is_clip & batch.has_negative[:, None]
    every = torch.cat([scores, negative], dim=1)
    given = torch.cat([batch.saliency, torch.zeros_like(negative)], dim=1)
    ranked = rank_loss(every, given, torch.cat([batch.inputs.is_clip, counts], dim=1), how.tau)
    return ranked + negative_pair_loss(negative, counts)


def measured(
    model: DETRModel, examples: Sequence[HighlightExample], batch_size: int = 32
) -> WindowMeasures | None:
    """QVHighlights' measures of the moments of a model in evaluation mode; None where no example has any."""
    device = next(model.parameters()).device
    batches = Batches(examples, batch_size, collate_pairs, device)
    predictions = [_predictions(model, batch) for batch in batches.values()]
    moments, scores = (np.concatenate(parts).astype(np.float64) for parts in zip(*predictions, strict=True))
    # R1 counts the first one
    order = np.argsort(-scores, axis=1, kind="stable")
    moments = np.take_along_axis(moments, order[..., None], axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    gt_windows = stacked([example.windows.tolist() for example in examples])
    return measure_moments(moments, scores, gt_windows)["full"]


@torch.inference_mode()
def _predictions(model: DETRModel, batch: DETRBatch) -> tuple[FloatArray, FloatArray]:
    """[B, N, 2] moments as fractions of the video, and [B, N] the probability of each."""
    detections = model(*batch.inputs)
    moments = start_end(detections.spans[-1]).clamp(0, 1)
    scores = detections.logits[-1].softmax(-1)[..., 0]
    return moments.float().cpu().numpy(), scores.float().cpu().numpy()


def _mean_precision(model: DETRModel, examples: Sequence[HighlightExample], batch_size: int) -> float:
    """Average mAP, a fraction."""
    measures = measured(model, examples, batch_size)
    return 0.0 if measures is None else measures.mean_precision


def _config(config: DETRConfig, data: MomentData[HighlightExample]) -> DETRConfig:
    """With the dimensions of the examples, which must fit into the model's positions."""
    examples, validation = data.examples(1), data.validation
    dim_video, dim_query = check_sizes(
        examples,
        validation,
        lambda example: (example.video.shape[1], example.words.shape[1]),
        "clips of {} numbers and words of {}",
    )
    for example in (*examples, *validation):
        n_clips, n_words = len(example.video), len(example.words)
        if n_clips > config.clips or n_words > config.words:
            positions = f"the model positions for {config.clips} and {config.words}"
            raise UsageError(f"{example.name} has {n_clips} clips and {n_words} words, {positions}")
    return replace(config, dim_video=dim_video, dim_query=dim_query)
