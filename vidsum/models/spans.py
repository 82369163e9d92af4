"""Spans of a video in torch: centre and width, start and end, and the generalized IoU of two."""

import torch
from torch import Tensor

_LEAST = 1e-9
"""Divisor in place of a length of 0: two empty spans at one position have an IoU of 0."""


def start_end(spans: Tensor) -> Tensor:
    """[..., 2] starts and ends of centres and widths."""
    centre, width = spans.unbind(-1)
    return torch.stack([centre - width / 2, centre + width / 2], dim=-1)


def centre_width(spans: Tensor) -> Tensor:
    """[..., 2] centres and widths of starts and ends."""
    start, end = spans.unbind(-1)
    return torch.stack([(start + end) / 2, end - start], dim=-1)


def generalized_iou_of_pairs(a: Tensor, b: Tensor) -> Tensor:
    """[...] generalized IoU (Rezatofighi et al. 2019) of spans [..., 2] of starts and ends, in (-1, 1].

    The IoU, less the uncovered fraction of the smallest span around both: it grows as spans that do not
    overlap come nearer.
    """
    low, high = torch.minimum(a, b), torch.maximum(a, b)
    overlap = (low[..., 1] - high[..., 0]).clamp(min=0)
    union = (a[..., 1] - a[..., 0]) + (b[..., 1] - b[..., 0]) - overlap
    around = high[..., 1] - low[..., 0]
    return overlap / union.clamp(min=_LEAST) - (around - union) / around.clamp(min=_LEAST)


def generalized_iou(a: Tensor, b: Tensor) -> Tensor:
    """[..., N, M] of every span in a [..., N, 2] with every one in b [..., M, 2]; starts and ends."""
    return generalized_iou_of_pairs(a[..., :, None, :], b[..., None, :, :])
