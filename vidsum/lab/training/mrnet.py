"""MRNet's recipe: Eq. 10 to 12, validated by R@1 IoU 0.5, one query at a time."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vidsum.lab.datasets.examples import MomentExample
from vidsum.lab.evaluation.moment_metrics import measure
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.moments import (
    MomentBatch,
    MomentRecipe,
    fit_config,
    train_moments,
    training_batches,
    validation_batches,
)
from vidsum.lab.training.settings import LossSettings, MRNetSettings
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.types import Progress, TimeArray


def train_mrnet(
    data: MomentData[MomentExample],
    settings: MRNetSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train MRNet, or go on with the run in a folder: see `vidsum.lab.training.loop.fit`.

    The number of clips, and the sizes of a clip and a query, are those of the data. Raises UsageError too
    where there are no examples, or they do not go together.
    """
    config = fit_config(data, settings)
    recipe = MomentRecipe(
        name="mrnet",
        config=config,
        build=lambda: MRNet(config),
        batches=partial(training_batches, settings=settings),
        loss=partial(mrnet_loss, settings=settings.loss),
        score=partial(_recall, batch_size=settings.batch_size),
        monitor="R@1 IoU 0.5",
        betas=(0.9, 0.99),  # as in the public code
    )
    return train_moments(data, recipe, settings, out, overwrite=overwrite, progress=progress)


def mrnet_loss(model: MRNet, batch: MomentBatch, settings: LossSettings) -> Tensor:
    """Eq. 12 on a batch: IoU loss, contrastive loss, and the sparsity loss, once."""
    scores = model(batch.video, batch.queries, batch.is_query)
    valid, is_query = model.valid, batch.is_query
    with torch.autocast(batch.video.device.type, enabled=False):  # cosines over .1 need their digits
        ious = proposal_ious(batch.gt_windows, model.config.clips)
        loss = iou_loss(scores.iou, ious, valid, is_query, settings.iou_low, settings.iou_high)
        contrast = contrastive_loss(
            scores.proposals, scores.queries, ious[:, :, valid], batch.gt_windows, is_query, settings
        )
        total: Tensor = loss + settings.lambda_c * contrast + settings.lambda_s * model.sparsity_loss()
    return total


def best_ious(model: MRNet, examples: Sequence[MomentExample], batch_size: int = 12) -> TimeArray:
    """Return [Q, 1] IoU of each query's best proposal with its window, in evaluation mode.

    Each query comes alone, as in the paper whichever way the model was trained.
    """
    batches = validation_batches(examples, model, batch_size)
    return torch.cat([_best_iou(model, batch) for batch in batches.values()]).cpu().numpy().astype(np.float64)


def _best_iou(model: MRNet, batch: MomentBatch) -> Tensor:
    """Return [B, 1] of each video's one query."""
    scores = match_scores(model(batch.video, batch.queries, batch.is_query))[:, 0, model.valid]
    ious = proposal_ious(batch.gt_windows, model.config.clips)[:, 0, model.valid]
    return ious.gather(1, scores.argmax(1, keepdim=True))


def _recall(model: MRNet, examples: Sequence[MomentExample], batch_size: int) -> float:
    """R@1 IoU 0.5, a fraction."""
    return measure(best_ious(model, examples, batch_size), "mmn").recall[1, 0.5]


def window_iou(a: Tensor, b: Tensor) -> Tensor:
    """IoU of windows [..., 2]; leading dimensions broadcast. 0 for those that do not overlap.

    `vidsum.types.iou` in float32 on the device: a batch has millions of pairs in every step.
    """
    common = (torch.minimum(a[..., 1], b[..., 1]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    hull = torch.maximum(a[..., 1], b[..., 1]) - torch.minimum(a[..., 0], b[..., 0])
    return common / hull.clamp(min=1e-9)


def proposal_ious(gt_windows: Tensor, n_clips: int) -> Tensor:
    """Return [B, M, T, T] IoU of proposal (i, j), the segment [i, j + 1) / T, with the best window of each
    query.

    `gt_windows` are [B, M, W, 2] as fractions of the video; `n_clips` is T.
    """
    edges = torch.arange(n_clips + 1, device=gt_windows.device, dtype=gt_windows.dtype) / n_clips
    segments = torch.stack(torch.meshgrid(edges[:-1], edges[1:], indexing="ij"), dim=-1)
    ious = [window_iou(segments, window[:, :, None, None]) for window in gt_windows.unbind(2)]
    return torch.stack(ious).amax(0)


def iou_loss(
    logits: Tensor, ious: Tensor, valid: Tensor, is_query: Tensor, low: float, high: float
) -> Tensor:
    """Eq. 10: binary cross-entropy of each score with the IoU scaled from [low, high] to [0, 1], the mean.

    Of logits and IoU [B, M, T, T], where proposals are valid [T, T] and queries [B, M] are not padding.
    """
    targets = ((ious - low) / (high - low)).clamp(0, 1)
    chosen = is_query[:, :, None, None] & valid
    return torch.nn.functional.binary_cross_entropy_with_logits(logits.float()[chosen], targets[chosen])


def contrastive_loss(
    proposals: Tensor,
    queries: Tensor,
    ious: Tensor,
    gt_windows: Tensor,
    is_query: Tensor,
    settings: LossSettings,
) -> Tensor:
    """Eq. 11 with the samples of MMN: a query and its moment are a positive pair, in both directions.

    The negatives of a moment are all queries of the batch but those of the same video whose windows overlap
    its own; the negatives of a query are all proposals of the batch but those of the same video that overlap
    its window. A no-target query (no proposal meets a window of it) has no moment of its own, and is a
    negative for the moments of others.

    Of proposals [B, P, D] and queries [B, M, D] of length 1, their IoU [B, M, P], ground-truth windows [B, M,
    W, 2], and which queries [B, M] are not padding. Returns the sum of the two directions, each the mean over
    the queries' own moments; 0 where there are none.
    """
    owner, _ = is_query.nonzero(as_tuple=True)  # [N] video of each query
    texts = queries.float()[is_query]
    ious = ious[is_query]
    best = ious.topk(settings.positives, dim=1).indices  # [N, K]
    positives = proposals.float()[owner[:, None], best]  # [N, K, D]
    positive = ((positives * texts[:, None]).sum(-1) - settings.margin) / settings.temperature  # [N, K]

    itself = torch.eye(len(texts), dtype=torch.bool, device=texts.device)
    cosines = torch.einsum("nkd,md->nkm", positives, texts) / settings.temperature
    others = ~itself & ~_overlap_mask(gt_windows[is_query], owner, settings.negative_iou)
    query_of_moment = _log_fraction(positive, cosines, others[:, None])

    cosines = torch.einsum("nd,bpd->nbp", texts, proposals.float()) / settings.temperature
    same_video = owner[:, None] == torch.arange(len(proposals), device=owner.device)
    others = ~same_video[..., None] | (ious < settings.negative_iou)[:, None]
    moment_of_query = _log_fraction(positive, cosines.flatten(1)[:, None], others.flatten(1)[:, None])
    is_somewhere = (ious.amax(1) > 0).float()[:, None]
    total = -((query_of_moment + moment_of_query) * is_somewhere).sum()
    return total / (is_somewhere.sum() * settings.positives).clamp(min=1)


def _overlap_mask(windows: Tensor, owner: Tensor, negative_iou: float) -> Tensor:
    """Return [N, N] whether two queries are of the same video and their windows overlap."""
    ious = window_iou(windows[:, None, :, None], windows[None, :, None, :]).amax((2, 3))
    return (owner[:, None] == owner) & (ious >= negative_iou)


def _log_fraction(positive: Tensor, negatives: Tensor, is_negative: Tensor) -> Tensor:
    """Return [N, K] log of the softmax of a positive [N, K] among its negatives [N, K or 1, S]."""
    rest = negatives.masked_fill(~is_negative, -torch.inf).logsumexp(-1)
    return positive - torch.logaddexp(positive, rest)
