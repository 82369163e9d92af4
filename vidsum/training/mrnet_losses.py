"""The losses of MRNet, Eq. 10 to 12: how good each proposal is, and which query belongs to which moment."""

import torch
from torch import Tensor

from vidsum.training.settings import LossSettings


def window_iou(a: Tensor, b: Tensor) -> Tensor:
    """IoU of windows [..., 2]; leading dimensions broadcast. 0 for those that do not overlap.

    `vidsum.intervals.iou` in float32 on the device: a batch has millions of pairs in every step.
    """
    common = (torch.minimum(a[..., 1], b[..., 1]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    hull = torch.maximum(a[..., 1], b[..., 1]) - torch.minimum(a[..., 0], b[..., 0])
    return common / hull.clamp(min=1e-9)


def proposal_ious(gt_windows: Tensor, n_clips: int) -> Tensor:
    """[B, M, T, T] IoU of proposal (i, j), the segment [i, j + 1) / T, with the best window of each query.

    `gt_windows` are [B, M, W, 2] as fractions of the video; `n_clips` is T.
    """
    edges = torch.arange(n_clips + 1, device=gt_windows.device, dtype=gt_windows.dtype) / n_clips
    segments = torch.stack(torch.meshgrid(edges[:-1], edges[1:], indexing="ij"), dim=-1)
    ious = [window_iou(segments, each[:, :, None, None]) for each in gt_windows.unbind(2)]
    return torch.stack(ious).amax(0)


def iou_loss(
    logits: Tensor, ious: Tensor, valid: Tensor, is_query: Tensor, low: float, high: float
) -> Tensor:
    """Eq. 10: binary cross-entropy of each score with the IoU scaled from [low, high] to [0, 1], the mean.

    Args:
        logits: [B, M, T, T] scores before the sigmoid.
        ious: [B, M, T, T]
        valid: [T, T] which proposals there are.
        is_query: [B, M] which queries are not padding.
        low, high: IoU of target 0, and of target 1.
    """
    targets = ((ious - low) / (high - low)).clamp(0, 1)
    chosen = is_query[:, :, None, None] & valid
    return torch.nn.functional.binary_cross_entropy_with_logits(logits.float()[chosen], targets[chosen])


def contrastive_loss(
    proposals: Tensor, queries: Tensor, ious: Tensor, gt_windows: Tensor, is_query: Tensor, how: LossSettings
) -> Tensor:
    """Eq. 11 with the samples of MMN: a query and its moment are a positive pair, in both directions.

    The negatives of a moment are all queries of the batch but those of the same video whose windows overlap
    its own; the negatives of a query are all proposals of the batch but those of the same video that overlap
    its window. A no-target query (no proposal meets a window of it) has no moment of its own, and is a
    negative for the moments of others.

    Args:
        proposals: [B, P, D] of length 1; those that exist.
        queries: [B, M, D] of length 1.
        ious: [B, M, P] of proposals and queries of a video.
        gt_windows: [B, M, W, 2]
        is_query: [B, M] which queries are not padding.
        how: temperature, margin, and what is positive and negative.

    Returns:
        The sum of the two directions, each the mean over the queries' own moments; 0 where there are none.
    """
    owner, _ = is_query.nonzero(as_tuple=True)  # [N] video of each query
    texts = queries.float()[is_query]
    ious = ious[is_query]
    best = ious.topk(how.positives, dim=1).indices  # [N, K]
    own = proposals.float()[owner[:, None], best]  # [N, K, D]
    positive = ((own * texts[:, None]).sum(-1) - how.margin) / how.temperature  # [N, K]

    itself = torch.eye(len(texts), dtype=torch.bool, device=texts.device)
    cosines = torch.einsum("nkd,md->nkm", own, texts) / how.temperature
    others = ~itself & ~_overlapping(gt_windows[is_query], owner, how.negative_iou)
    query_of_moment = _log_fraction(positive, cosines, others[:, None])

    cosines = torch.einsum("nd,bpd->nbp", texts, proposals.float()) / how.temperature
    same_video = owner[:, None] == torch.arange(len(proposals), device=owner.device)
    others = ~same_video[..., None] | (ious < how.negative_iou)[:, None]
    moment_of_query = _log_fraction(positive, cosines.flatten(1)[:, None], others.flatten(1)[:, None])
    is_somewhere = (ious.amax(1) > 0).float()[:, None]
    total = -((query_of_moment + moment_of_query) * is_somewhere).sum()
    return total / (is_somewhere.sum() * how.positives).clamp(min=1)


def _overlapping(windows: Tensor, owner: Tensor, negative_iou: float) -> Tensor:
    """[N, N] whether two queries are of the same video and their windows overlap."""
    ious = window_iou(windows[:, None, :, None], windows[None, :, None, :]).amax((2, 3))
    return (owner[:, None] == owner) & (ious >= negative_iou)


def _log_fraction(positive: Tensor, negatives: Tensor, is_negative: Tensor) -> Tensor:
    """[N, K] log of the softmax of a positive [N, K] beside its negatives [N, K or 1, S]."""
    rest = negatives.masked_fill(~is_negative, -torch.inf).logsumexp(-1)
    return positive - torch.logaddexp(positive, rest)
