"""MRNet's recipe: Eq. 10 to 12, validated by R@1 IoU 0.5, one query at a time."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim import AdamW

from vidsum.device import move
from vidsum.lab.datasets.moment_examples import MomentExample
from vidsum.lab.evaluation.moment_evaluation import measure
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.moment_trainer import MomentRecipe, batches, shuffle, train_moments
from vidsum.lab.training.settings import LossSettings, MRNetSettings
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.types import Progress, TimeArray

Group = tuple[MomentExample, Sequence[int]]  # a video, and which of its queries go through the model together


class MomentBatch(NamedTuple):
    """Several videos with their queries, on a device."""

    video: Tensor  # [B, T, Dv]
    queries: Tensor  # [B, M, Dq], padded with zeros
    is_query: Tensor  # [B, M] bool
    gt_windows: Tensor  # [B, M, W, 2] as fractions of the video, padded with empty ones


def group_queries(examples: Sequence[MomentExample], size: int | None) -> list[Group]:
    """Return queries of each video in groups of at most `size` (None: all), in an order drawn by PyTorch.

    Annotations are often in order of time: a model that sees this order fails when each query comes alone.
    """
    groups: list[Group] = []
    for example in examples:
        order = torch.randperm(len(example.queries)).tolist()
        step = size or len(order)
        groups += [(example, order[start : start + step]) for start in range(0, len(order), step)]
    return shuffle(groups)


def split_queries(examples: Sequence[MomentExample]) -> list[Group]:
    """Return each query alone, in order, as the paper tests, whichever way it trains."""
    return [(example, (query,)) for example in examples for query in range(len(example.queries))]


def collate_groups(groups: Sequence[Group], device: torch.device) -> MomentBatch:
    """Groups padded to the most queries and windows among them."""
    n_queries = max(len(chosen) for _, chosen in groups)
    windows = [
        example.windows.reshape(len(example.queries), -1, 2)[list(chosen)] for example, chosen in groups
    ]
    gt_windows = np.zeros((len(groups), n_queries, max(rows.shape[1] for rows in windows), 2), np.float32)
    queries = np.zeros((len(groups), n_queries, groups[0][0].queries.shape[1]), np.float32)
    is_query = np.zeros((len(groups), n_queries), np.bool_)
    for row, (example, chosen) in enumerate(groups):
        queries[row, : len(chosen)] = example.queries[list(chosen)]
        gt_windows[row, : len(chosen), : windows[row].shape[1]] = windows[row]
        is_query[row, : len(chosen)] = True
    arrays = (np.stack([example.video for example, _ in groups]), queries, is_query, gt_windows)
    return MomentBatch(*(move(array, device) for array in arrays))


def train_mrnet(
    data: MomentData[MomentExample],
    settings: MRNetSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train MRNet: see `vidsum.lab.training.loop.fit`.

    The number of clips, and the sizes of a clip and a query, come from the data.
    """
    first = data.examples(1)[0]
    (clips, dim_video), dim_query = first.video.shape, first.queries.shape[1]
    config = replace(settings.model, clips=clips, dim_video=dim_video, dim_query=dim_query)
    recipe = MomentRecipe(
        name="mrnet",
        config=config,
        build=partial(MRNet, config),
        order=partial(group_queries, size=settings.queries_per_video),
        collate=collate_groups,
        loss=partial(mrnet_loss, settings=settings.loss),
        score=_recall,
        monitor="R@1 IoU 0.5",
        optimizer=partial(AdamW, betas=(0.9, 0.99)),  # as in the public code
    )
    return train_moments(data, recipe, settings, out, overwrite=overwrite, progress=progress)


def mrnet_loss(model: MRNet, batch: MomentBatch, settings: LossSettings) -> Tensor:
    """Eq. 12 on a batch: IoU loss, contrastive loss, and the sparsity loss, once."""
    scores = model(batch.video, batch.queries, batch.is_query)
    valid, is_query = model.valid, batch.is_query
    with torch.autocast(batch.video.device.type, enabled=False):  # cosines over .1 need their digits
        ious = proposal_ious(batch.gt_windows, model.config.clips)
        loss = iou_loss(scores.iou, ious, valid, is_query, settings.iou_low, settings.iou_high)
        of_valid = ious.flatten(2).index_select(2, model.map.cells)
        contrast = contrastive_loss(
            scores.proposals, scores.queries, of_valid, batch.gt_windows, is_query, settings
        )
        total: Tensor = loss + settings.lambda_c * contrast + settings.lambda_s * model.sparsity_loss()
    return total


def best_ious(model: MRNet, examples: Sequence[MomentExample], batch_size: int = 12) -> TimeArray:
    """Return [Q, 1] IoU of each query's best proposal with its window, each alone, in evaluation mode."""
    device = next(model.parameters()).device
    best = []
    for make in batches(split_queries(examples), batch_size, collate_groups, device).values():
        batch = make()
        scores = match_scores(model(batch.video, batch.queries, batch.is_query))[:, 0, model.valid]
        ious = proposal_ious(batch.gt_windows, model.config.clips)[:, 0, model.valid]
        best.append(ious.gather(1, scores.argmax(1, keepdim=True)))
    return torch.cat(best).cpu().numpy().astype(np.float64)


def _recall(model: MRNet, examples: Sequence[MomentExample], batch_size: int) -> float:
    return measure(best_ious(model, examples, batch_size), "mmn").recall[1, 0.5]


def window_iou(a: Tensor, b: Tensor) -> Tensor:
    """Return IoU of windows [..., 2] by broadcasting: `vidsum.types.iou` in float32 on the device."""
    common = (torch.minimum(a[..., 1], b[..., 1]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    hull = torch.maximum(a[..., 1], b[..., 1]) - torch.minimum(a[..., 0], b[..., 0])
    return common / hull.clamp(min=1e-9)


def proposal_ious(gt_windows: Tensor, n_clips: int) -> Tensor:
    """Return [B, M, T, T] IoU of proposal (i, j), segment [i, j + 1) / T, with a query's best window.

    Of windows [B, M, W, 2] as fractions of the video.
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
    losses = binary_cross_entropy_with_logits(logits.float(), targets, reduction="none")
    chosen = is_query[:, :, None, None] & valid  # to pick these by an index would wait for the device
    return losses.masked_fill(~chosen, 0.0).sum() / chosen.expand_as(losses).sum()


def contrastive_loss(
    proposals: Tensor,
    queries: Tensor,
    ious: Tensor,
    gt_windows: Tensor,
    is_query: Tensor,
    settings: LossSettings,
) -> Tensor:
    """Eq. 11 with the samples of MMN: a query and its moment are a positive pair, in both directions.

    Negatives of a moment are all queries of the batch; negatives of a query are all proposals. Queries and
    proposals of the same video that overlap are no negatives. A query that no proposal meets has no moment,
    and is a negative for others. Of proposals [B, P, D] and queries [B, M, D] of length 1, their IoU
    [B, M, P], windows [B, M, W, 2], and which queries [B, M] are not padding: the sum of the mean of each
    direction; 0 where there are no moments.
    """
    n_videos, n_queries = is_query.shape
    owner = torch.arange(n_videos, device=queries.device).repeat_interleave(n_queries)  # [N] of each query
    # padding stays, and counts nowhere: to leave it out would wait for the device
    texts, ious, windows = queries.float().flatten(0, 1), ious.flatten(0, 1), gt_windows.flatten(0, 1)
    is_text = is_query.flatten()
    best = ious.topk(settings.positives, dim=1).indices  # [N, K]
    positives = proposals.float()[owner[:, None], best]  # [N, K, D]
    positive = ((positives * texts[:, None]).sum(-1) - settings.margin) / settings.temperature  # [N, K]

    itself = torch.eye(len(texts), dtype=torch.bool, device=texts.device)
    cosines = torch.einsum("nkd,md->nkm", positives, texts) / settings.temperature
    overlaps = window_iou(windows[:, None, :, None], windows[None, :, None, :]).amax((2, 3))
    others = is_text & ~itself & ((owner[:, None] != owner) | (overlaps < settings.negative_iou))
    query_of_moment = _log_fraction(positive, cosines, others[:, None])

    cosines = torch.einsum("nd,bpd->nbp", texts, proposals.float()) / settings.temperature
    same_video = owner[:, None] == torch.arange(len(proposals), device=owner.device)
    others = ~same_video[..., None] | (ious < settings.negative_iou)[:, None]
    moment_of_query = _log_fraction(positive, cosines.flatten(1)[:, None], others.flatten(1)[:, None])
    is_somewhere = (is_text & (ious.amax(1) > 0)).float()[:, None]
    total = -((query_of_moment + moment_of_query) * is_somewhere).sum()
    return total / (is_somewhere.sum() * settings.positives).clamp(min=1)


def _log_fraction(positive: Tensor, negatives: Tensor, is_negative: Tensor) -> Tensor:
    """Return [N, K] log of the softmax of a positive [N, K] among its negatives [N, K or 1, S]."""
    rest = negatives.masked_fill(~is_negative, -torch.inf).logsumexp(-1)
    return positive - torch.logaddexp(positive, rest)
