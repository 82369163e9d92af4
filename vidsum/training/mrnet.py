"""MRNet's recipe: Eq. 10 to 12, validated by R@1 IoU 0.5, one query at a time."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vidsum.datasets.examples import MomentExample
from vidsum.evaluation.moment_metrics import measure
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.training.batches import Batches, MomentBatch, collate_groups, grouped, one_by_one
from vidsum.training.data import MomentData
from vidsum.training.loop import FitResult
from vidsum.training.moments import MomentRecipe, check_sizes, train_moments
from vidsum.training.mrnet_losses import contrastive_loss, iou_loss, proposal_ious
from vidsum.training.settings import LossSettings, MRNetSettings
from vidsum.types import Progress, TimeArray


def train_mrnet(
    data: MomentData[MomentExample],
    settings: MRNetSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train MRNet, or go on with the run in a folder: see `vidsum.training.loop.fit`.

    The number of clips, and the sizes of a clip and a query, are those of the data. Raises UsageError too
    where there are no examples, or they do not go together.
    """
    clips, dim_video, dim_query = check_sizes(
        data.examples(1),
        data.validation,
        lambda example: (*example.video.shape, example.queries.shape[1]),
        "{} clips of {} numbers and queries of {}",
    )
    config = replace(settings.model, clips=clips, dim_video=dim_video, dim_query=dim_query)
    recipe = MomentRecipe(
        name="mrnet",
        config=config,
        build=lambda: MRNet(config),
        batches=lambda examples, device: Batches(
            grouped(examples, settings.queries_per_video), settings.batch_size, collate_groups, device
        ),
        loss=partial(mrnet_loss, how=settings.loss),
        score=partial(_recall, batch_size=settings.batch_size),
        monitor="R@1 IoU 0.5",
        betas=(0.9, 0.99),  # as in the public code
    )
    return train_moments(data, recipe, settings, out, overwrite=overwrite, progress=progress)


def mrnet_loss(model: MRNet, batch: MomentBatch, how: LossSettings) -> Tensor:
    """Eq. 12 on a batch: IoU loss, contrastive loss, and the sparsity loss, once."""
    scores = model(batch.video, batch.queries, batch.is_query)
    valid, is_query = model.valid, batch.is_query
    with torch.autocast(batch.video.device.type, enabled=False):  # cosines over .1 need their digits
        ious = proposal_ious(batch.gt_windows, model.config.clips)
        loss = iou_loss(scores.iou, ious, valid, is_query, how.iou_low, how.iou_high)
        contrast = contrastive_loss(
            scores.proposals, scores.queries, ious[:, :, valid], batch.gt_windows, is_query, how
        )
        total: Tensor = loss + how.lambda_c * contrast + how.lambda_s * model.sparsity_loss()
    return total


def best_ious(model: MRNet, examples: Sequence[MomentExample], batch_size: int = 12) -> TimeArray:
    """[Q, 1] IoU of each query's best proposal with its window, in evaluation mode.

    Each query comes alone, as in the paper whichever way the model was trained.
    """
    device = next(model.parameters()).device
    batches = Batches(one_by_one(examples), batch_size, collate_groups, device)
    return torch.cat([_best_of(model, batch) for batch in batches.values()]).cpu().numpy().astype(np.float64)


def _best_of(model: MRNet, batch: MomentBatch) -> Tensor:
    """[B, 1] of each video's one query."""
    scores = match_scores(model(batch.video, batch.queries, batch.is_query))[:, 0, model.valid]
    ious = proposal_ious(batch.gt_windows, model.config.clips)[:, 0, model.valid]
    return ious.gather(1, scores.argmax(1, keepdim=True))


def _recall(model: MRNet, examples: Sequence[MomentExample], batch_size: int) -> float:
    """R@1 IoU 0.5, a fraction."""
    return measure(best_ious(model, examples, batch_size), "mmn").recall[1, 0.5]
