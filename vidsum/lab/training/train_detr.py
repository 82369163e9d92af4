"""The DETR models' recipe: their published losses, validated by mean average precision of moments."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn.functional import cross_entropy, softplus
from torch.optim import Adam, AdamW

from vidsum.device import move
from vidsum.lab.datasets.moment_examples import MOST_SALIENT, HighlightExample, Pair
from vidsum.lab.evaluation.highlight_metrics import WindowMeasures, measure_moments
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.moment_trainer import MomentRecipe, batches, shuffle, train_moments
from vidsum.lab.training.settings import DETRLossSettings, DETRSettings, MatchWeights
from vidsum.models.attention.learned_mask import static_sparsity
from vidsum.models.detr import (
    DETR,
    Detections,
    DETRInputs,
    centre_width,
    generalized_iou,
    generalized_iou_of_pairs,
    pad_inputs,
    pad_rows,
    start_end,
)
from vidsum.models.detr_models import WITHOUT_NEGATIVES, MRNetDETR, build
from vidsum.types import Progress, stack_intervals


class DETRBatch(NamedTuple):
    """Several examples, on a device."""

    inputs: DETRInputs
    gt_windows: Tensor  # [B, n, 2] start and end as fractions of the video, padded with empty ones
    is_window: Tensor  # [B, n] bool
    saliency: Tensor  # [B, T] the annotators' scores of each clip, added up; padded with zeros
    negative: DETRInputs  # the negative pair of each example: a video and a query that does not describe it
    has_negative: Tensor
    """[B] bool; an example alone in its batch may have none, and is then its own negative."""


def collate_pairs(examples: Sequence[HighlightExample], device: torch.device) -> DETRBatch:
    """Return examples padded to the most clips, words and windows among them."""
    pairs = [Pair(example.video, example.words) for example in examples]
    negative = [
        example.negative or Pair(example.video, other.words)
        for example, other in zip(examples, [*pairs[1:], pairs[0]], strict=True)
    ]
    has_negative = [example.negative is not None or len(examples) > 1 for example in examples]
    gt_windows, is_window = pad_rows([example.windows.reshape(-1, 2) for example in examples], device)
    saliency, _ = pad_rows([example.saliency[:, None] for example in examples], device)
    return DETRBatch(
        inputs=_inputs(pairs, device),
        gt_windows=gt_windows,
        is_window=is_window,
        saliency=saliency[..., 0],
        negative=_inputs(negative, device),
        has_negative=move(np.array(has_negative), device),
    )


def _inputs(pairs: Sequence[Pair], device: torch.device) -> DETRInputs:
    return pad_inputs([pair.video for pair in pairs], [pair.words for pair in pairs], device)


def train_detr(
    data: MomentData[HighlightExample],
    name: str,
    settings: DETRSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train moment-detr, qd-detr or mrnet-detr: see `vidsum.lab.training.loop.fit`.

    Sizes of a clip and a word are the data's.
    """
    first = data.examples(1)[0]
    config = replace(settings.model, dim_video=first.video.shape[1], dim_query=first.words.shape[1])
    recipe = MomentRecipe(
        name=name,
        config=config,
        build=partial(build, name, config),
        order=shuffle,
        collate=collate_pairs,
        loss=partial(detr_loss, settings=settings.loss, with_negatives=name not in WITHOUT_NEGATIVES),
        score=_mean_precision,
        monitor="mAP",
        optimizer=Adam if settings.optimizer == "adam" else AdamW,
    )
    return train_moments(data, recipe, settings, out, overwrite=overwrite, progress=progress)


def detr_loss(model: DETR, batch: DETRBatch, settings: DETRLossSettings, *, with_negatives: bool) -> Tensor:
    """Return the published loss on a batch; with negative pairs as in QD-DETR."""
    detections = model(*batch.inputs)
    negative = model.saliency(*batch.negative) if with_negatives else None
    with torch.autocast(batch.gt_windows.device.type, enabled=False):
        detections = Detections(*(output.float() for output in detections))
        loss = detection_loss(detections, batch.gt_windows, batch.is_window, settings)
        is_clip, human = batch.inputs.is_clip, batch.saliency
        saliency = margin_loss(detections.saliency, human, clips_inside(batch), is_clip, settings.margin)
        if negative is not None:
            negative, counts = negative.float(), batch.negative.is_clip & batch.has_negative[:, None]
            every = torch.cat([detections.saliency, negative], dim=1)
            human = torch.cat([human, torch.zeros_like(negative)], dim=1)
            ranked = rank_loss(every, human, torch.cat([is_clip, counts], dim=1), settings.tau)
            saliency = saliency + (ranked + negative_pair_loss(negative, counts))
        loss = loss + settings.saliency * saliency + settings.static_sparsity * static_sparsity(model)
        return loss + settings.lambda_s * model.sparsity_loss() if isinstance(model, MRNetDETR) else loss


def measure_model(
    model: DETR, examples: Sequence[HighlightExample], batch_size: int = 32
) -> WindowMeasures | None:
    """QVHighlights' measures of the moments of a model in evaluation mode; None where no example has any."""
    device = next(model.parameters()).device
    parts = []
    with torch.inference_mode():
        for make in batches(examples, batch_size, collate_pairs, device).values():
            detections = model(*make().inputs)
            spans = start_end(detections.spans[-1]).clamp(0, 1)  # as fractions of the video
            probability = detections.logits[-1].softmax(-1)[..., 0]
            parts.append((spans.float().cpu().numpy(), probability.float().cpu().numpy()))
    moments, scores = (np.concatenate(rows).astype(np.float64) for rows in zip(*parts, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")  # R1 counts the first one
    moments = np.take_along_axis(moments, order[..., None], axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    gt_windows = stack_intervals([example.windows.tolist() for example in examples])
    return measure_moments(moments, scores, gt_windows)["full"]


def _mean_precision(model: DETR, examples: Sequence[HighlightExample], batch_size: int) -> float:
    measures = measure_model(model, examples, batch_size)
    return 0.0 if measures is None else measures.mean_precision


_MOMENT, _NONE = 0, 1
_RANKS = int(MOST_SALIENT)


class Matched(NamedTuple):
    """K pairs of a moment and a ground-truth window; each of a sample is in one pair at most."""

    sample: Tensor  # [K]
    moment: Tensor  # [K]
    window: Tensor  # [K]


@torch.no_grad()
def match(
    logits: Tensor, spans: Tensor, gt_windows: Tensor, is_window: Tensor, weights: MatchWeights
) -> Matched:
    """Return each sample's one-to-one assignment of least cost: span * L1 - giou * gIoU - label * P(moment).

    Of logits [B, N, 2] of moment and none, spans [B, N, 2] (centre and width), ground-truth windows [B, n, 2]
    and which of them [B, n] are not padding: min(N, windows) pairs.
    """
    distance = torch.cdist(spans, centre_width(gt_windows), p=1)
    overlap = generalized_iou(start_end(spans), gt_windows)
    cost = weights.span * distance - weights.giou * overlap
    cost -= weights.label * logits.softmax(-1)[..., :1]
    cost = cost.nan_to_num()  # of a model that diverged: its loss tells, not its assignment
    # the only wait for the device in a step: all costs at once, infinite for windows that are padding
    costs = cost.masked_fill(~is_window[:, None], torch.inf).cpu().numpy()
    triples = []
    for sample, of_sample in enumerate(costs):
        there = np.flatnonzero(np.isfinite(of_sample[0]))
        moments, chosen = linear_sum_assignment(of_sample[:, there])
        triples.append(np.stack([np.full_like(moments, sample), moments, there[chosen]]))
    return Matched(*move(np.concatenate(triples, axis=1), spans.device))


def detection_loss(
    detections: Detections, gt_windows: Tensor, is_window: Tensor, settings: DETRLossSettings
) -> Tensor:
    """Return the sum over decoder layers of the loss of labels and spans; windows as in `match`."""
    layers = len(detections.logits)
    # a layer's batch is some more samples
    logits, spans = detections.logits.flatten(0, 1), detections.spans.flatten(0, 1)
    gt_windows, is_window = gt_windows.repeat(layers, 1, 1), is_window.repeat(layers, 1)
    pairs = match(logits, spans, gt_windows, is_window, settings.match)
    labels = torch.full(logits.shape[:2], _NONE, device=logits.device)
    labels[pairs.sample, pairs.moment] = _MOMENT
    weights = torch.where(labels == _NONE, settings.no_moment, 1.0)
    label = (weights * cross_entropy(logits.transpose(1, 2), labels, reduction="none")).mean()

    predicted, target = spans[pairs.sample, pairs.moment], gt_windows[pairs.sample, pairs.window]
    n_pairs = max(1, len(predicted))
    distance = (predicted - centre_width(target)).abs().mean(1).sum() / n_pairs
    apart = (1 - generalized_iou_of_pairs(start_end(predicted), target)).sum() / n_pairs
    # all layers have the same number of moments and pairs: the sum of their means is that times the mean
    costs = settings.match
    return layers * (costs.label * label + costs.span * distance + costs.giou * apart)


def clips_inside(batch: DETRBatch) -> Tensor:
    """Return [B, T] bool: clips whose middle is in a window, or to which annotators gave something."""
    is_clip = batch.inputs.is_clip
    n_clips = is_clip.sum(1)[:, None]
    middles = (torch.arange(is_clip.shape[1], device=is_clip.device) + 0.5) / n_clips
    starts, ends = batch.gt_windows[:, None].unbind(-1)
    in_window = ((starts <= middles[..., None]) & (middles[..., None] < ends)).any(-1)
    return is_clip & (in_window | (batch.saliency > 0))


def margin_loss(scores: Tensor, human: Tensor, is_inside: Tensor, is_clip: Tensor, margin: float) -> Tensor:
    """Return the hinge loss of two random pairs of clips, the mean over samples of their sum.

    One of the best clips inside the windows must be above one of the worst inside; any clip inside above any
    outside. Of the model's and the annotators' scores, clips inside, and clips that are not padding, all [B,
    T].
    """
    best = human.masked_fill(~is_inside, -torch.inf).amax(1, keepdim=True)
    worst = human.masked_fill(~is_inside, torch.inf).amin(1, keepdim=True)
    differ = is_inside & (best > worst)
    hard = _hinge(scores, differ & (human == best), differ & (human == worst), margin)
    easy = _hinge(scores, is_inside, is_clip & ~is_inside, margin)
    return (hard + easy).mean()


def _hinge(scores: Tensor, above: Tensor, below: Tensor, margin: float) -> Tensor:
    """Return [B] of one clip drawn from each of two sets [B, T]; 0 where a set is empty."""
    gap = _draw_score(scores, above) - _draw_score(scores, below)
    return (margin - gap).clamp(min=0) * (above.any(1) & below.any(1))


def _draw_score(scores: Tensor, chosen: Tensor) -> Tensor:
    """Return [B] the score of one clip drawn from a set."""
    lots = torch.rand(chosen.shape, device=chosen.device).masked_fill(~chosen, -1.0)
    return scores.gather(1, lots.argmax(1, keepdim=True))[:, 0]


def rank_loss(scores: Tensor, human: Tensor, is_clip: Tensor, tau: float) -> Tensor:
    """QD-DETR's rank-contrastive loss: clips of score r and more stand out from all, for each r from 1 to 11.

    Of the model's and the annotators' scores [B, T] (0 in a negative pair), clips that are not padding, and a
    temperature: the mean over samples of the sum over r, divided by 12 as published.
    """
    log_probabilities = (scores.masked_fill(~is_clip, -torch.inf) / tau).log_softmax(1)
    ranks = torch.arange(1, _RANKS, device=human.device)
    is_positive = (human[:, None] >= ranks[:, None]) & is_clip[:, None]  # [B, R, T]
    of_positive = log_probabilities[:, None].expand_as(is_positive).masked_fill(~is_positive, 0.0).sum(2)
    means = of_positive / is_positive.sum(2).clamp(min=1)
    return -(means.sum(1) / _RANKS).mean()


def negative_pair_loss(scores: Tensor, is_clip: Tensor) -> Tensor:
    """QD-DETR's loss of negative pairs [B, T]: -log(1 - sigmoid(s)), summed over clips, mean over samples."""
    return (softplus(scores) * is_clip).sum(1).mean()
