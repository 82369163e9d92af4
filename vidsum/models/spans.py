"""Spans of a video in torch: centre and width or start and end, and how well two fit."""

import torch
from torch import Tensor

_LEAST = 1e-9
"""A length to divide by where there is none: two empty spans at one place have an IoU of 0."""


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

    The IoU, less the share of what both lie in that neither covers: of two spans that do not overlap, the
    nearer ones have more.
    """
    least_end, most_end = torch.minimum(a[..., 1], b[..., 1]), torch.maximum(a[..., 1], b[..., 1])
    least_start, most_start = torch.minimum(a[..., 0], b[..., 0]), torch.maximum(a[..., 0], b[..., 0])
    both = (least_end - most_start).clamp(min=0)
    either = (a[..., 1] - a[..., 0]) + (b[..., 1] - b[..., 0]) - both
    around = most_end - least_start
    return both / either.clamp(min=_LEAST) - (around - either) / around.clamp(min=_LEAST)


def generalized_iou(a: Tensor, b: Tensor) -> Tensor:
    """[..., N, M] of every span in a [..., N, 2] with every one in b [..., M, 2]; starts and ends."""
    return generalized_iou_of_pairs(a[..., :, None, :], b[..., None, :, :])
