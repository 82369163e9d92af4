"""The losses of Moment-DETR, QD-DETR and mrnet-detr, as their published code has them.

docs/algorithms/detr.md has the equations under "Losses", and where the codes differ from their papers.
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, softplus

from vidsum.datasets.highlight_examples import MOST_SALIENT
from vidsum.models.detr import Detections
from vidsum.models.spans import centre_width, generalized_iou_of_pairs, start_end
from vidsum.training.batches import DETRBatch
from vidsum.training.detr_matching import match
from vidsum.training.settings import DETRLossSettings

_MOMENT, _NONE = 0, 1
_RANKS = int(MOST_SALIENT)


def detection_loss(found: Detections, windows: Tensor, is_window: Tensor, how: DETRLossSettings) -> Tensor:
    """Labels and spans of the moments of each decoder layer against the windows: the sum over the layers.

    Args:
        found: of a batch.
        windows: [B, n, 2] start and end.
        is_window: [B, n] which windows are no padding; of a batch without any, only the labels count.
        how: the weights.
    """
    layers = len(found.logits)
    # a layer's batch is some more samples
    logits, spans = found.logits.flatten(0, 1), found.spans.flatten(0, 1)
    windows, is_window = windows.repeat(layers, 1, 1), is_window.repeat(layers, 1)
    pairs = match(logits, spans, windows, is_window, how.match)
    labels = torch.full(logits.shape[:2], _NONE, device=logits.device)
    labels[pairs.sample, pairs.moment] = _MOMENT
    weights = torch.where(labels == _NONE, how.no_moment, 1.0)
    label = (weights * cross_entropy(logits.transpose(1, 2), labels, reduction="none")).mean()

    own, right = spans[pairs.sample, pairs.moment], windows[pairs.sample, pairs.window]
    n_pairs = max(1, len(own))
    distance = (own - centre_width(right)).abs().mean(1).sum() / n_pairs
    apart = (1 - generalized_iou_of_pairs(start_end(own), right)).sum() / n_pairs
    # each layer has as many moments and pairs: the sum of its means is so many times the mean of all
    return layers * (how.match.label * label + how.match.span * distance + how.match.giou * apart)


def clips_inside(batch: DETRBatch) -> Tensor:
    """[B, T] bool: clips whose middle is in a window, or to which annotators gave something."""
    is_clip = batch.inputs.is_clip
    n_clips = is_clip.sum(1)[:, None]
    middles = (torch.arange(is_clip.shape[1], device=is_clip.device) + 0.5) / n_clips
    starts, ends = batch.windows[:, None].unbind(-1)
    in_window = ((starts <= middles[..., None]) & (middles[..., None] < ends)).any(-1)
    return is_clip & (in_window | (batch.saliency > 0))


def margin_loss(scores: Tensor, given: Tensor, is_inside: Tensor, is_clip: Tensor, margin: float) -> Tensor:
    """Hinge loss of two pairs of clips, drawn by PyTorch's generator; the mean over samples of their sum.

    One of the best clips inside the windows must be above one of the worst inside, if that is worse; any clip
    inside above any outside, if there are both.

    Args:
        scores: [B, T] the model's.
        given: [B, T] the annotators'.
        is_inside: [B, T] clips inside the windows.
        is_clip: [B, T] clips that are no padding.
        margin: by how much above.
    """
    best = given.masked_fill(~is_inside, -torch.inf).amax(1, keepdim=True)
    worst = given.masked_fill(~is_inside, torch.inf).amin(1, keepdim=True)
    differ = is_inside & (best > worst)
    hard = _hinge(scores, differ & (given == best), differ & (given == worst), margin)
    easy = _hinge(scores, is_inside, is_clip & ~is_inside, margin)
    return (hard + easy).mean()


def _hinge(scores: Tensor, above: Tensor, below: Tensor, margin: float) -> Tensor:
    """[B] of one clip drawn from each of two sets [B, T]; 0 where a set is empty."""
    gap = _one_of(scores, above) - _one_of(scores, below)
    return (margin - gap).clamp(min=0) * (above.any(1) & below.any(1))


def _one_of(scores: Tensor, chosen: Tensor) -> Tensor:
    """[B] the score of one clip drawn from a set."""
    lots = torch.rand(chosen.shape, device=chosen.device).masked_fill(~chosen, -1.0)
    return scores.gather(1, lots.argmax(1, keepdim=True))[:, 0]


def rank_loss(scores: Tensor, given: Tensor, is_clip: Tensor, tau: float) -> Tensor:
    """QD-DETR's rank-contrastive loss: clips of r and more stand out from all, for each r from 1 to 11.

    Args:
        scores: [B, T] of the clips of a sample, those beside a false query among them.
        given: [B, T] the annotators'; 0 beside a false query.
        is_clip: [B, T] clips that are no padding.
        tau: temperature.

    Returns:
        The mean over samples; a sample has no part in an r that none of its clips has. The sum over r is
        divided by 12, as published.
    """
    log_shares = (scores.masked_fill(~is_clip, -torch.inf) / tau).log_softmax(1)
    ranks = torch.arange(1, _RANKS, device=given.device)
    is_right = (given[:, None] >= ranks[:, None]) & is_clip[:, None]  # [B, R, T]
    of_right = log_shares[:, None].expand_as(is_right).masked_fill(~is_right, 0.0).sum(2)
    means = of_right / is_right.sum(2).clamp(min=1)
    return -(means.sum(1) / _RANKS).mean()


def false_pair_loss(scores: Tensor, is_clip: Tensor) -> Tensor:
    """QD-DETR's loss of negative pairs: -log(1 - sigmoid(s)), summed over clips, the mean over samples.

    Args:
        scores: [B, T] beside a query that is false.
        is_clip: [B, T] clips that count.
    """
    return (softplus(scores) * is_clip).sum(1).mean()
