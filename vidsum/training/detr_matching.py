"""Which of a model's moments answers for which right window: the cheapest one-to-one assignment (DETR)."""

from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from vidsum.models.spans import centre_width, generalized_iou, start_end
from vidsum.training.settings import MatchWeights


class Matched(NamedTuple):
    """K pairs of a moment and a window; each moment and each window of a sample at most once."""

    sample: Tensor
    """[K]"""
    moment: Tensor
    """[K]"""
    window: Tensor
    """[K]"""


@torch.no_grad()
def match(
    logits: Tensor, spans: Tensor, windows: Tensor, is_window: Tensor, weights: MatchWeights
) -> Matched:
    """The assignment of least cost: span * L1 - giou * gIoU - label * P(moment), for each sample.

    As many pairs as there are moments or windows, whichever are fewer; a sample without a window has none.

    Args:
        logits: [B, N, 2] of moment and none.
        spans: [B, N, 2] centre and width.
        windows: [B, n, 2] start and end.
        is_window: [B, n] which windows are no padding.
        weights: of the three parts.
    """
    distance = torch.cdist(spans, centre_width(windows), p=1)
    overlap = generalized_iou(start_end(spans), windows)
    cost = weights.span * distance - weights.giou * overlap
    cost -= weights.label * logits.softmax(-1)[..., :1]
    costs = cost.nan_to_num().cpu().numpy()  # of a model that diverged: its loss tells, not its assignment
    triples = []
    for sample, there in enumerate(is_window.cpu().numpy()):
        moments, chosen = linear_sum_assignment(costs[sample][:, there])
        windows_of = np.flatnonzero(there)[chosen]
        triples.append(np.stack([np.full_like(moments, sample), moments, windows_of]))
    sample, moment, window = torch.from_numpy(np.concatenate(triples, axis=1)).to(spans.device)
    return Matched(sample, moment, window)
